import { type Projections, projectionPartsOf } from "@centella/gpu-kernels";
import { bucketElements, fixed, type KernelCall, type Launch } from "../shared/kernel.ts";
import { isStaged } from "../shared/normedRows.ts";
import { cacheWriters } from "./cacheWriters.ts";
import { fewRowsLaunches } from "./fewRows.ts";
import { mixedSizes } from "./mixedInput/mixedInput.ts";

/**
 * Launches that multiply, rotate and write to the cache at once; undefined where products and write are launches of their own. `call` has the
 * inputs of both, and the output of the write.
 */
export function projectionLaunches(call: KernelCall, projections: Projections): readonly Launch[] | undefined {
  const parts = projectionPartsOf(call.inputs, projections);
  if (parts === undefined) return undefined;
  const { norm, siblings } = parts;
  const { a, results } = siblings;
  const { products } = projections;
  if (!isStaged(siblings, bucketElements(call, a.shape.slice(0, -1)))) return undefined;
  // Several rows are normed and multiplied faster by launches of their own.
  if (mixedSizes({ ...call, output: products.output }, results) !== undefined) return undefined;
  const writers = cacheWriters(call, parts);
  if (writers === undefined) return undefined;
  const own = { ...call, output: products.output };
  return fewRowsLaunches(own, { depth: fixed(a.shape.at(-1)), results, writers, ...(norm && { norm }) });
}
