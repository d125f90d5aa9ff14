import type { DimValues, ParamsOf, TensorSpec } from "@centella/core";
import { elementAt, elementCount, type InputsOf } from "@centella/core/backend";
import { type RoundedType, roundingOf } from "@centella/gpu-kernels";
import { type Capabilities, subgroupLanes } from "../../device/capabilities.ts";
import { storeText } from "../../wgsl/epilogue.ts";
import { input, rebind } from "../../wgsl/module.ts";
import { columnsByTile, rowsAtOnce } from "../shared/columnProducts.ts";
import type { Binding, Dispatch, KernelCall } from "../shared/kernel.ts";
import { roundingDispatch, rowParts, rowResult } from "../shared/products.ts";
import { isUnitRounding, readsUnits, roundUnitsDispatch, unitBytes } from "../shared/roundedUnits.ts";
import { fewestTiled, rowsOneByOne } from "../shared/rowProducts.ts";
import { count, maximum } from "../shared/shape.ts";
import { hasTileProduct, type TileParts, tileDispatch } from "../shared/tileProducts.ts";
import { hasRowProduct } from "../shared/weights.ts";
import { type ExpertRows, mostExperts, mostTiles, rowsByExpert, rowsByToken, type SlotMemory, sortRows } from "./expertRows.ts";

/**
 * Rows for each expert, on average, from which rows are sorted by expert. By the times of products with one matrix, up to 16 rows that are
 * multiplied together take as long as 5.6 rows one by one.
 */
const fewestSorted = 6;

/** Rows for each expert, on average, from which floats pass through workgroup memory in tiles of 64 rows. */
const fewestInTiles = 32;

/** Rows of a lane of these tiles, and of the tiles. */
const perLane = 4;
const tileRows = 16 * perLane;

type ExpertCall = KernelCall<InputsOf<"moeMatmul", TensorSpec>>;

/**
 * The dispatches of products with experts; undefined if lanes cannot read several weights at once. Few rows are multiplied one by one. More are
 * sorted by expert, and those of each expert are multiplied together.
 */
export function expertProducts(
  { inputs: [x, weight, ids] }: ExpertCall,
  params: ParamsOf<"moeMatmul">,
  capabilities: Capabilities,
): readonly Dispatch[] | undefined {
  const { dtype } = weight;
  const [experts, columns, depth, chosen] = [...weight.shape, ids.shape[1]];
  if (typeof experts !== "number" || typeof columns !== "number" || typeof depth !== "number" || typeof chosen !== "number")
    return undefined;
  if (!hasRowProduct(dtype, depth)) return undefined;
  const rounding = roundingOf(weight, params);
  const isPacked = readsUnits(dtype, rounding, capabilities);
  const elements = elementCount(x.shape.map(maximum));
  const left = rounding === undefined ? input("a", 0) : scratch("a", isPacked ? unitBytes(elements) : 4 * elements, 0);
  const rows: ExpertRows = { ids, experts, sharers: x.shape.length === 3 ? 1 : chosen };
  const rowsIn = (dims: DimValues): number => count(ids.shape, dims);
  const parts: TileParts = { left, isPacked, dtype, depth, columns, store: storeText(undefined), rowsIn };
  return [
    ...(rounding === undefined ? [] : [roundedRows(x, rounding, parts, subgroupLanes(capabilities))]),
    ...multiplied(parts, rows, capabilities),
  ];
}

function scratch(name: string, bytes: number, slot: number): Binding {
  return { name, resource: { kind: "scratch", bytes, slot }, access: "read", element: "u32" };
}

/** Rounds the rows of `x`, to units or to floats. */
function roundedRows(x: TensorSpec, rounding: RoundedType, { left, isPacked }: TileParts, subgroup: number): Dispatch {
  if (!isPacked || !isUnitRounding(rounding)) return rebind(roundingDispatch(x, rounding, false), { y: left.resource });
  return roundUnitsDispatch(x, rounding, input("x", 0), { ...left, name: "y" }, subgroup);
}

/** Which of the forms a run with `m` rows takes, by the number of rows of its tiles: 1 where rows are multiplied one by one. */
function tileRowsIn({ isPacked, dtype, depth }: TileParts, experts: number): (m: number) => number {
  const sorted = experts > mostExperts ? Number.POSITIVE_INFINITY : Math.max(fewestTiled, fewestSorted * experts);
  const tiled = isPacked || !hasTileProduct(dtype, depth) ? Number.POSITIVE_INFINITY : Math.max(sorted, fewestInTiles * experts);
  return (m) => (m < sorted ? 1 : m < tiled ? rowsAtOnce : tileRows);
}

function multiplied(parts: TileParts, rows: ExpertRows, capabilities: Capabilities): readonly Dispatch[] {
  const { shape } = rows.ids;
  const rowsInTiles = tileRowsIn(parts, rows.experts);
  const most = elementCount(shape.map(maximum));
  const least = shape.every((dim) => typeof dim === "number") ? most : 0;
  const sizes = [1, rowsAtOnce, tileRows].filter((size) => rowsInTiles(least) <= size && size <= rowsInTiles(most));
  const memory = slotMemory(most, rows.experts, sizes);
  const sorted: TileParts = { ...parts, order: rowsByExpert(rows, memory) };
  return [
    ...(sizes.some((size) => size > 1) ? [sortRows(rows, memory, rowsInTiles, capabilities)] : []),
    ...sizes.map((size) => {
      const takes = (m: number): boolean => rowsInTiles(m) === size;
      if (size === 1) return rowsOneByOne(rowResult(parts), { ...rowParts(parts), order: rowsByToken(rows) }, takes, capabilities);
      return size === tileRows ? tileDispatch(sorted, perLane, takes) : columnsByTile(sorted, rows.experts, capabilities, takes);
    }),
  ];
}

/** Scratch memory of the slots of up to `most` rows in tiles of these sizes. */
function slotMemory(most: number, experts: number, sizes: readonly number[]): SlotMemory {
  const tiles = sizes.map((size) => mostTiles(most, experts, size));
  const slots = tiles.map((each, i) => each * elementAt(sizes, i));
  return { slots: scratch("slots", 4 * Math.max(...slots), 1), tiles: scratch("tileExperts", 4 * Math.max(...tiles), 2) };
}
