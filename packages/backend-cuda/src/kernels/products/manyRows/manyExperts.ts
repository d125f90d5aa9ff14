import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementAt, tupleOf } from "@centella/core/backend";
import { bucketElements, fixed, input, type KernelCall, type Launch } from "../../shared/kernel.ts";
import { Scratch } from "../../shared/scratch.ts";
import { expertResult } from "../expertRows.ts";
import type { UnitResult } from "../segments.ts";
import { halfType } from "../tile.ts";
import { columnsOf } from "./columns.ts";
import { expertSlots, placeRows } from "./expertSlots.ts";
import { decodedBytes, decoding, maxColumns, multiplierOf, orderOf } from "./manyRows.ts";
import { panelBytes, panelsOf } from "./panels.ts";
import { roundRows } from "./roundRows.ts";

/**
 * Rows for each expert, on average, from which all experts are decoded. On an H200, 128 experts of 768 x 2,048 weights in q4_K take 329 us here with
 * 4 rows each, and 336 us with 32; row by row they take 122 us and 849 us.
 */
const minRowsPerExpert = 12;

/** Columns of a tile, from the widest. */
const tileWidths = [256, 128, 64];

/**
 * Launches of products with experts in units, for many rows: rows of activations are put in the order of their experts, and those of each expert
 * are multiplied together, as in `manyRowsLaunches`. Undefined for few rows, for experts of another form, and if operands must not be rounded to halves.
 */
export function manyExpertsLaunches(call: KernelCall, { activations }: ParamsOf<"moeMatmul">): readonly Launch[] | undefined {
  const [, experts, ids] = tupleOf(call.inputs as readonly TensorSpec[], 3);
  const [count, n, depth] = tupleOf(experts.shape.map(fixed), 3);
  const one = activations === "half" ? expertResult(call, experts) : undefined;
  const stack = call.unitsOf(1);
  const perTile = tileWidths.find((width) => n % width === 0);
  const scratch = new Scratch();
  const slots = bucketElements(call, ids.shape) < minRowsPerExpert * count ? undefined : expertSlots(call, scratch);
  if (one === undefined || stack === undefined || perTile === undefined || slots === undefined) return undefined;
  const result: UnitResult = { ...one, products: one.products.map((product) => ({ ...product, units: stack })) };
  const [type, panels] = [halfType(stack.format), panelsOf(stack.units * stack.format.width)];
  const parts = columnsOf([result], perTile, maxColumns(stack.format, panels), n);
  const columnBytes = parts.flatMap((part) => decodedBytes(part, panels));
  const places = {
    a: scratch.takeBytes(panelBytes(slots.most, panels)),
    ...(columnBytes.length > 0 && { b: scratch.takeBytes(Math.max(...columnBytes)) }),
    factors: scratch.takeBytes(4 * slots.most),
  };
  const lead = ids.shape;
  const rounding = {
    from: input(0),
    lead,
    depth,
    norm: undefined,
    isFirst: true,
    type,
    panels,
    order: orderOf(elementAt(parts, 0)),
    slots,
  };
  return [
    placeRows(call, slots),
    roundRows(call, rounding, { panels: places.a, factors: places.factors }),
    ...parts.flatMap((part) => [
      ...decoding(call, part, places.b),
      multiplierOf(call.gpu)(call, part, { type, panels, places, slots }, lead),
    ]),
  ];
}
