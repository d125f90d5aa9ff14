import type { TensorSpec } from "@centella/core";
import type { FusedParams } from "@centella/core/backend";
import { cacheWriteOf, groupOf, type SiblingResult } from "@centella/gpu-kernels";
import { isStaged } from "../matmul.ts";
import { bucketElements, fixed, type KernelCall, type Launch } from "../shared/kernel.ts";
import { cacheWriters } from "./cacheWriters.ts";
import { fewRowsLaunches } from "./fewRows.ts";

/** A group of products, and the write to a cache that follows it and alone reads some of its results. */
export interface Projections {
  readonly products: {
    readonly params: FusedParams;
    /** Number of the group's inputs, the first ones of the call. The inputs of the write follow. */
    readonly inputs: number;
    readonly output: TensorSpec;
    /** Number of the group's extra outputs, the first ones of the call. The group's output and the extra outputs of the write follow. */
    readonly extraOutputs: number;
  };
  readonly write: {
    readonly params: FusedParams;
    /** For each input: the number of the extra output of the call that it is; undefined for inputs that no product computes. */
    readonly sources: readonly (number | undefined)[];
  };
}

/**
 * Launches that multiply, rotate and write to the cache at once; undefined where products and write are launches of their own. `call` has the
 * inputs of both, and the output of the write.
 */
export function projectionLaunches(call: KernelCall, { products, write }: Projections): readonly Launch[] | undefined {
  const group = groupOf(call.inputs.slice(0, products.inputs), products.params);
  if (group.kind !== "siblings" && group.kind !== "normed") return undefined;
  const { norm, siblings } = group.kind === "normed" ? group : { norm: undefined, siblings: group };
  const { a } = siblings;
  if (!isStaged(siblings, bucketElements(call, a.shape.slice(0, -1)))) return undefined;
  const results = siblings.results.map((result) => ({ ...result, y: extraOutputOf(result, products.extraOutputs) }));
  const parts = cacheWriteOf(call.inputs.slice(products.inputs), write.params);
  const resultAt = (place: number): SiblingResult | undefined => results.find(({ y }) => y.index === write.sources[place]);
  const written = { keys: resultAt(parts.keys), values: resultAt(parts.values), queries: parts.queries && resultAt(parts.queries.place) };
  const writers = cacheWriters(call, parts, written, { firstInput: products.inputs, queries: products.extraOutputs + 1 });
  if (writers === undefined) return undefined;
  const own = { ...call, output: products.output };
  return fewRowsLaunches(own, { depth: fixed(a.shape.at(-1)), results, writers, ...(norm && { norm }) });
}

function extraOutputOf({ y }: SiblingResult, last: number): { readonly kind: "extraOutput"; readonly index: number } {
  return y.kind === "output" ? { kind: "extraOutput", index: last } : y;
}
