import type { DimValues } from "@centella/core";
import {
  angleAt,
  type CacheWrite,
  type F32,
  type GpuArguments,
  isBelow,
  type ProjectionParts,
  type SiblingResult,
  turnedPair,
  type U32,
} from "@centella/gpu-kernels";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import { bindingsOf, dtypesOf, Uniforms } from "../../wgsl/gpuKernel.ts";
import type { Binding, Field } from "../shared/kernel.ts";

/** Stores pairs of neighbouring columns of a product of one row elsewhere than in a tensor of their own. */
export interface PairWriter {
  readonly bindings: readonly Binding[];
  readonly uniforms: Readonly<Record<string, Field["type"]>>;
  readonly declarations: readonly string[];
  values(dims: DimValues): Record<string, number>;
  /** Statement that stores the elements of columns `column`, which is even, and `column + 1`. */
  store(column: string, first: string, second: string): string;
}

/**
 * Writers that store rotated keys and values in a cache, and rotated queries in an output, with the bits of `rope` and `kvWrite`. Undefined
 * where the elements that belong together are not pairs of neighbouring columns. Inputs of the write follow `firstInput` others.
 */
export function cacheWriters(
  { write, written: { keys, values, queries }, turnedQueries }: ProjectionParts,
  firstInput: number,
): ReadonlyMap<SiblingResult, PairWriter> | undefined {
  const { cache, rotation, rows, slots } = write;
  if (keys === undefined || values === undefined || (write.queries !== undefined && queries === undefined)) return undefined;
  const isPaired = rotation.ropeType === "norm" && rows.keyWidth % 2 === 0 && rows.valueWidth % 2 === 0;
  if (!isPaired || (cache.dtype !== "f16" && cache.dtype !== "f32")) return undefined;
  const moved = (args: GpuArguments): GpuArguments =>
    Object.fromEntries(
      Object.entries(args).map(([name, each]) => [name, each.kind === "input" ? { ...each, index: firstInput + each.index } : each]),
    );
  const angles = moved(write.angles);
  const cacheArgs = moved({ cache: { kind: "output", dtype: cache.dtype }, slots });
  const rotated: GpuArguments = { rotated: { kind: "extraOutput", index: turnedQueries, dtype: "f32" } };
  const writers = new Map([
    [
      keys,
      pairWriter("writeKeys", { ...cacheArgs, ...angles }, (scope, column, pair) => {
        const [head, at] = headOf(scope, rows.keyWidth, column);
        storeInCache(scope, write, { head, at }, turnedAt(scope, write, at, pair));
      }),
    ],
    [
      values,
      pairWriter("writeValues", cacheArgs, (scope, column, pair) => {
        const { k } = scope;
        const [head, at] = headOf(scope, rows.valueWidth, column);
        storeInCache(scope, write, { head, at: k.add(at, rows.keyWidth) }, pair);
      }),
    ],
  ]);
  if (queries !== undefined) {
    writers.set(
      queries,
      pairWriter("writeQueries", { ...rotated, ...angles }, (scope, column, pair) => {
        const { k } = scope;
        const [, at] = headOf(scope, rotation.width, column);
        turnedAt(scope, write, at, pair).forEach((value, i) => void k.store("rotated", k.add(column, i), value));
      }),
    );
  }
  return writers;
}

type Pair = readonly [F32, F32];

/** A writer by a function `<name>(column: u32, first: f32, second: f32)`. */
function pairWriter(name: string, args: GpuArguments, body: (scope: Uniforms, column: U32, pair: Pair) => void): PairWriter {
  const k = new WgslEmitter(dtypesOf(args));
  const scope = new Uniforms(k, `${name}_`);
  body(scope, k.define("u32", "column"), [k.define("f32", "first"), k.define("f32", "second")]);
  return {
    bindings: bindingsOf(args, k),
    uniforms: scope.types,
    declarations: [...k.declarations, `fn ${name}(column: u32, first: f32, second: f32) {\n${k.lines.join("\n")}\n}`],
    values: (dims) => scope.values(dims),
    store: (column, first, second) => `${name}(${column}, ${first}, ${second});`,
  };
}

/** The head of a column, and its place in the head. */
function headOf({ k }: Uniforms, width: number, column: U32): readonly [head: U32, at: U32] {
  return [k.quotient(column, width), k.remainder(column, width)];
}

/** Elements `at` and `at + 1` of a head after the rotation. */
function turnedAt({ k }: Uniforms, { rotation }: CacheWrite, at: U32, pair: Pair): Pair {
  const { width, dims } = rotation;
  const number = k.shiftRight(at, 1);
  const angle = angleAt(k, rotation, width === dims ? number : k.min(number, dims / 2 - 1), 0);
  const turned = turnedPair(k, pair, angle);
  if (width === dims) return turned;
  const isTurned = k.compare("lt", at, dims);
  return [k.select(isTurned, turned[0], pair[0]), k.select(isTurned, turned[1], pair[1])];
}

/** Stores elements `at` and `at + 1` of a head's keys and values. A token whose slot is not in the cache is not written. */
function storeInCache(
  scope: Uniforms,
  { cache, rows: { slots, heads, keyWidth, valueWidth } }: CacheWrite,
  { head, at }: { readonly head: U32; readonly at: U32 },
  [first, second]: Pair,
): void {
  const { k } = scope;
  // As unsigned, a negative slot is beyond the cache, too.
  const slot = k.bitcast("u32", k.loadInteger("slots", 0));
  k.if(isBelow(k, slot, scope.extent(slots)), () => {
    const row = k.add(k.mul(slot, scope.extent(heads)), head);
    const index = k.add(k.mul(row, keyWidth + valueWidth), at);
    if (cache.dtype === "f16") {
      k.store("cache", k.shiftRight(index, 1), k.or(k.toHalf(first), k.shiftLeft(k.toHalf(second), 16)));
    } else {
      k.store("cache", index, first);
      k.store("cache", k.add(index, 1), second);
    }
  });
}
