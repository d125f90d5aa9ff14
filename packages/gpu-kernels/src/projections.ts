import type { TensorSpec } from "@centella/core";
import { type FusedParams, isFused, type Lowered, type Operand, type Step, type Storage } from "@centella/core/backend";
import { type CacheWrite, cacheWriteOf, isCacheWrite } from "./cacheWrite.ts";
import type { Emitter, U32 } from "./emitter.ts";
import { groupOf, type NormedSiblings } from "./fused.ts";
import type { GpuArgument, GpuArguments } from "./kernel.ts";
import type { SiblingResult, Siblings } from "./siblings.ts";

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

/** {@link Projections}, taken apart. The products' columns are turned in pairs of neighbours, and stored as elements of the cache. */
export interface ProjectionParts {
  readonly norm: NormedSiblings["norm"] | undefined;
  /** The products. Their results are extra outputs of the call. */
  readonly siblings: Siblings;
  readonly write: Pick<CacheWrite, "cache" | "rows" | "rotation">;
  /** The results that the write reads; queries where it turns them, too. */
  readonly written: { readonly keys: SiblingResult; readonly values: SiblingResult; readonly queries: SiblingResult | undefined };
  /** Arguments of the call: of stores to the cache, of angles, and of stores of turned queries. */
  readonly args: { readonly cache: GpuArguments; readonly angles: GpuArguments; readonly rotated: GpuArguments };
}

/** Products and the write to a cache that reads their results, as one step where a variant has launches for both. */
export interface ProjectedStep {
  readonly projections: Projections;
  /** Has the inputs of both, the results of the products as extra outputs, and then those of the write. */
  readonly step: Step;
  /** Each alone. */
  readonly products: Step;
  readonly write: Step;
}

/**
 * Pairs of neighbouring steps, by the index of the first: a group of products, and a write to a cache that alone reads what it takes from
 * them.
 */
export function projectedSteps({ steps }: Pick<Lowered, "steps">): ReadonlyMap<number, ProjectedStep> {
  const found = new Map<number, ProjectedStep>();
  steps.forEach((products, index) => {
    const write = steps[index + 1];
    if (write === undefined || !isFused(products.op) || !isFused(write.op) || !isCacheWrite(write.params as FusedParams)) return;
    const results = [...(products.extraOutputs ?? []), products.output];
    const numbers = new Map<Storage, number>(results.map(({ storage }, number) => [storage, number]));
    const sources = write.inputs.map((operand) => operand && numbers.get(operand.storage));
    const isOwn = (operand: Operand | undefined): boolean => operand?.storage.last === index + 1;
    if (sources.every((source) => source === undefined) || !write.inputs.every((operand, i) => sources[i] === undefined || isOwn(operand)))
      return;
    found.set(index, {
      projections: {
        products: {
          params: products.params as FusedParams,
          inputs: products.inputs.length,
          output: products.output.spec,
          extraOutputs: results.length - 1,
        },
        write: { params: write.params as FusedParams, sources },
      },
      step: {
        ...write,
        inputs: [...products.inputs, ...write.inputs],
        extraOutputs: [...results, ...(write.extraOutputs ?? [])],
      },
      products,
      write,
    });
  });
  return found;
}

/** The storages with the lives that they have if each write runs with its products: its results are stored while these still read. */
export function withProjectedLives(storages: readonly Storage[], projected: ReadonlyMap<number, ProjectedStep>): readonly Storage[] {
  const starts = new Map<number, number>();
  for (const [index, { write }] of projected)
    for (const { storage } of [...(write.extraOutputs ?? []), write.output]) if (storage.first > index) starts.set(storage.id, index);
  return storages.map((storage) => {
    const first = starts.get(storage.id);
    return first === undefined ? storage : { ...storage, first };
  });
}

/**
 * Takes a call of `inputs` apart; undefined where its first part is no group of products of one tensor, or where the write does not store
 * them element by element, turned with a neighbour.
 */
export function projectionPartsOf(
  inputs: readonly (TensorSpec | undefined)[],
  { products, write }: Projections,
): ProjectionParts | undefined {
  const group = groupOf(inputs.slice(0, products.inputs), products.params);
  if (group.kind !== "siblings" && group.kind !== "normed") return undefined;
  const { norm, siblings } = group.kind === "normed" ? group : { norm: undefined, siblings: group };
  const results = siblings.results.map((result) => ({ ...result, y: extraOutputOf(result, products.extraOutputs) }));
  const parts = cacheWriteOf(inputs.slice(products.inputs), write.params);
  const written = writtenResults(parts, (place) => results.find(({ y }) => y.index === write.sources[place]));
  if (written === undefined) return undefined;
  const { cache, rows, rotation } = parts;
  return {
    norm,
    siblings: { ...siblings, results },
    write: { cache, rows, rotation },
    written,
    args: {
      cache: { cache: { kind: "output", dtype: cache.dtype }, ...inputsAfter(products.inputs, { slots: parts.slots }) },
      angles: inputsAfter(products.inputs, parts.angles),
      rotated: { rotated: { kind: "extraOutput", index: products.extraOutputs + 1, dtype: "f32" } },
    },
  };
}

/** The head of a column, and its place in the head. */
export function headOf(k: Emitter, column: U32, width: number): readonly [head: U32, at: U32] {
  return [k.quotient(column, width), k.remainder(column, width)];
}

/** The results that a write reads. Undefined unless each is only one of keys, values and queries, and turned in pairs of neighbouring columns. */
function writtenResults(
  { cache, rotation: { ropeType, width }, keys, values, queries }: CacheWrite,
  resultAt: (place: number) => SiblingResult | undefined,
): ProjectionParts["written"] | undefined {
  if (ropeType !== "norm" || width % 2 === 1 || (cache.dtype !== "f16" && cache.dtype !== "f32")) return undefined;
  // Columns of queries are turned as those of keys are, whose heads may have another width.
  if (queries !== undefined && queries.call.output.shape[2] !== width) return undefined;
  const results = [keys, values, ...(queries === undefined ? [] : [queries.place])].map(resultAt);
  const [k, v, q] = results;
  if (k === undefined || v === undefined || results.includes(undefined) || new Set(results).size < results.length) return undefined;
  return { keys: k, values: v, queries: q };
}

/** Arguments with `count` inputs before theirs. */
function inputsAfter(count: number, args: GpuArguments): GpuArguments {
  const entries = Object.entries(args).map(([name, each]): readonly [string, GpuArgument] => [
    name,
    each.kind === "input" ? { ...each, index: count + each.index } : each,
  ]);
  return Object.fromEntries(entries);
}

function extraOutputOf({ y }: SiblingResult, last: number): { readonly kind: "extraOutput"; readonly index: number } {
  return y.kind === "output" ? { kind: "extraOutput", index: last } : y;
}
