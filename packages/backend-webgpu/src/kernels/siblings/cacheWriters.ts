import type { DimValues } from "@centella/core";
import {
  elementAngle,
  type F32,
  type GpuArguments,
  headOf,
  isBelow,
  type ProjectionParts,
  type SiblingResult,
  slotOf,
  turnedPair,
  type U32,
} from "@centella/gpu-kernels";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import { bindingsOf, dtypesOf, Uniforms } from "../../wgsl/gpuKernel.ts";
import type { Binding, Field } from "../shared/kernel.ts";

type CacheWrite = ProjectionParts["write"];

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
 * where the elements of a head are not pairs of neighbouring columns.
 */
export function cacheWriters({
  write,
  written: { keys, values, queries },
  args,
}: ProjectionParts): ReadonlyMap<SiblingResult, PairWriter> | undefined {
  const { rotation, rows } = write;
  if (rows.valueWidth % 2 === 1) return undefined;
  const writers = new Map([
    [
      keys,
      pairWriter("writeKeys", { ...args.cache, ...args.angles }, (scope, column, pair) => {
        const [head, at] = headOf(scope.k, column, rows.keyWidth);
        storeInCache(scope, write, { head, at }, turnedAt(scope, write, at, pair));
      }),
    ],
    [
      values,
      pairWriter("writeValues", args.cache, (scope, column, pair) => {
        const { k } = scope;
        const [head, at] = headOf(k, column, rows.valueWidth);
        storeInCache(scope, write, { head, at: k.add(at, rows.keyWidth) }, pair);
      }),
    ],
  ]);
  if (queries !== undefined) {
    writers.set(
      queries,
      pairWriter("writeQueries", { ...args.rotated, ...args.angles }, (scope, column, pair) => {
        const { k } = scope;
        const [, at] = headOf(k, column, rotation.width);
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

/** Elements `at` and `at + 1` of a head after the rotation. */
function turnedAt({ k }: Uniforms, { rotation }: CacheWrite, at: U32, pair: Pair): Pair {
  const { width, dims } = rotation;
  const turned = turnedPair(k, pair, elementAngle(k, rotation, at, 0));
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
  const slot = slotOf(k, 0);
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
