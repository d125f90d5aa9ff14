import { elementAt } from "@centella/core/backend";
import { isPlain } from "../../../weights/unitFormat.ts";
import { bucketElements, input, type KernelCall, type Launch } from "../../shared/kernel.ts";
import type { Scratch } from "../../shared/scratch.ts";
import type { UnitProducts } from "../fewRows.ts";
import { panelBytes } from "../manyRows/panels.ts";
import { roundRows } from "../manyRows/roundRows.ts";
import { kindsOf } from "../segments.ts";
import { multiplyUnits } from "./multiplyUnits.ts";
import { partialBytes } from "./partialSums.ts";
import { type MixedSizes, sizesOf } from "./sizes.ts";

/**
 * Fewest and most rows of activations. One is multiplied by `fewRowsLaunches`, more than these by `manyRowsLaunches`. For 2 to 4 rows, `fewRowsLaunches`
 * takes less time for a product alone, but more in models, where each of its blocks norms all rows.
 */
const minRows = 2;
const maxRows = 512;

/**
 * Most rows for weights that are not decoded, which `manyRowsLaunches` multiplies straight from memory. With 512 and 256 rows of 28,672 x 4,096 weights
 * in f16, an H100 takes 185 and 118 us there, and 231 and 142 us here.
 */
const maxPlainRows = 64;

/**
 * Launches of products with weights in units for a middling number of rows of activations: weights become halves in the registers of the
 * warpgroups that multiply them, without a pass of their own. Undefined for other numbers of rows, for devices without products of warpgroups, or if
 * one of the products is of another kind.
 */
export function mixedInputLaunches(
  call: KernelCall,
  { depth, results, from = input(0), norm }: UnitProducts,
  scratch: Scratch,
): readonly Launch[] | undefined {
  const lead = elementAt(results, 0).shape.slice(0, -1);
  const rows = bucketElements(call, lead);
  const sizes = mixedSizes(call, results);
  if (sizes === undefined) return undefined;
  const most = (of: (each: MixedSizes) => number): number => Math.max(...sizes.map(of));
  const allRows = most(({ perTile }) => perTile * Math.ceil(rows / perTile));
  const places = {
    a: scratch.takeBytes(allRows * most(({ panels }) => panelBytes(1, panels))),
    factors: scratch.takeBytes(4 * allRows),
    partials: scratch.takeBytes(most(partialBytes)),
  };
  let rounded: string | undefined;
  return sizes.flatMap((each, i) => {
    const { type, panels, perTile } = each;
    const launches = [multiplyUnits(call, each, places, lead)];
    const key = `${type} ${panels}`;
    if (key !== rounded) {
      const rounding = { from, lead, depth, norm, isFirst: i === 0, type, panels, perTile, order: "fragments" } as const;
      launches.unshift(roundRows(call, rounding, { panels: places.a, factors: places.factors }));
    }
    rounded = key;
    return launches;
  });
}

/** The sizes of the launches for each kind of results; undefined if {@link mixedInputLaunches} has none. */
export function mixedSizes(call: KernelCall, results: UnitProducts["results"]): readonly MixedSizes[] | undefined {
  const rows = bucketElements(call, elementAt(results, 0).shape.slice(0, -1));
  const isFit = rows >= minRows && rows <= maxRows && call.gpu.target === "sm_90a";
  const sizes = isFit ? kindsOf(call, results)?.map((kind) => sizesOf(call.gpu.multiprocessors, rows, kind)) : undefined;
  if (rows > maxPlainRows && sizes?.some((each) => each?.formats.every(isPlain))) return undefined;
  return sizes?.every((each) => each !== undefined) ? sizes : undefined;
}
