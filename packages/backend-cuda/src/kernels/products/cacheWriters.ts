import {
  elementAngle,
  type F32,
  headOf,
  isBelow,
  type ProjectionParts,
  type SiblingResult,
  slotOf,
  turned,
  type U32,
} from "@centella/gpu-kernels";
import { argumentsOf, fixed, type KernelCall, type NamedArguments, type Scope } from "../shared/kernel.ts";
import type { ResultPlace, ResultWriter } from "./resultWriter.ts";

type CacheWrite = ProjectionParts["write"];

/**
 * Writers that store rotated keys and values in a cache, and rotated queries in an output, with the bits of `rope` and `kvWrite`. Undefined
 * where a thread cannot do so with its own result and that of the neighbouring column.
 */
export function cacheWriters(
  call: KernelCall,
  { write, written: { keys, values, queries }, args }: ProjectionParts,
): ReadonlyMap<SiblingResult, ResultWriter> | undefined {
  // The epilogue of the neighbour would read memory of its own.
  if ([keys, queries].some((result) => result !== undefined && Object.keys(result.epilogue.args).length > 0)) return undefined;
  const writers = new Map<SiblingResult, ResultWriter>([
    [keys, keysWriter(write, argumentsOf(call, { ...args.cache, ...args.angles }))],
    [values, valuesWriter(write, argumentsOf(call, args.cache))],
  ]);
  if (queries !== undefined) writers.set(queries, queriesWriter(write, argumentsOf(call, { ...args.rotated, ...args.angles })));
  return writers;
}

function keysWriter(write: CacheWrite, args: NamedArguments): ResultWriter<readonly [slot: U32, ...angle: AngleValues]> {
  return {
    args,
    prepare: (scope, place) => [slotOf(scope.k, place.row), ...anglesOf(scope, write, place)],
    store(scope, { column }, [slot, ...angle], own, neighbour) {
      const [head, at] = headOf(scope.k, column, write.rows.keyWidth);
      storeInCache(scope, write, { slot, head, at }, turnedAt(scope, write, at, { own, neighbour, angle }));
    },
  };
}

function valuesWriter(write: CacheWrite, args: NamedArguments): ResultWriter<readonly [slot: U32]> {
  return {
    args,
    prepare: ({ k }, { row }) => [slotOf(k, row)],
    store(scope, { column }, [slot], own) {
      const [head, at] = headOf(scope.k, column, write.rows.valueWidth);
      storeInCache(scope, write, { slot, head, at: scope.k.add(at, write.rows.keyWidth) }, own);
    },
  };
}

function queriesWriter(write: CacheWrite, args: NamedArguments): ResultWriter<AngleValues> {
  return {
    args,
    prepare: (scope, place) => anglesOf(scope, write, place),
    store(scope, { column, index }, angle, own, neighbour) {
      const [, at] = headOf(scope.k, column, write.rotation.width);
      scope.k.store("rotated", index, turnedAt(scope, write, at, { own, neighbour, angle }));
    },
  };
}

type AngleValues = readonly [sin: F32, cos: F32];

function anglesOf({ k }: Scope, { rotation }: CacheWrite, { row, column }: ResultPlace): AngleValues {
  const { sin, cos } = elementAngle(k, rotation, k.remainder(column, rotation.width), row);
  return [sin, cos];
}

/** Element `at` of a head after the rotation. */
function turnedAt(
  { k }: Scope,
  { rotation: { width, dims } }: CacheWrite,
  at: U32,
  { own, neighbour, angle: [sin, cos] }: { readonly own: F32; readonly neighbour: () => F32; readonly angle: AngleValues },
): F32 {
  const isSecond = k.compare("eq", k.and(at, 1), 1);
  const value = turned(k, { own, other: neighbour(), isSecond }, { sin, cos });
  return width === dims ? value : k.select(k.compare("lt", at, dims), value, own);
}

/** Stores element `at` of a head's keys and values. Tokens whose slot is not in the cache are not written. */
function storeInCache(
  scope: Scope,
  { cache, rows: { slots, heads, keyWidth, valueWidth } }: CacheWrite,
  { slot, head, at }: { readonly slot: U32; readonly head: U32; readonly at: U32 },
  value: F32,
): void {
  const { k } = scope;
  k.if(isBelow(k, slot, scope.extent(slots)), () => {
    const index = k.mad(k.mad(slot, fixed(heads), head), keyWidth + valueWidth, at);
    if (cache.dtype === "f16") k.storeHalf("cache", index, k.toHalf(value));
    else k.store("cache", index, value);
  });
}
