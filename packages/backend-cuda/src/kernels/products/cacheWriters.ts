import {
  type Angle,
  angleAt,
  type CacheWrite,
  type F32,
  type GpuArgument,
  isBelow,
  type ProjectionParts,
  type SiblingResult,
  turned,
  type U32,
} from "@centella/gpu-kernels";
import { argumentsOf, fixed, type KernelCall, type NamedArguments, type Scope } from "../shared/kernel.ts";
import type { ResultPlace, ResultWriter } from "./resultWriter.ts";

/** Numbers in a call of products and a write: the first input of the write, and the extra output that takes the rotated queries. */
interface WritePlaces {
  readonly firstInput: number;
  readonly queries: number;
}

/**
 * Writers that store rotated keys and values in a cache, and rotated queries in an output, with the bits of `rope` and `kvWrite`. Undefined
 * where a thread cannot do so with its own result and that of the neighbouring column.
 */
export function cacheWriters(
  call: KernelCall,
  write: CacheWrite,
  { keys, values, queries }: ProjectionParts["written"],
  { firstInput, queries: queriesOutput }: WritePlaces,
): ReadonlyMap<SiblingResult, ResultWriter> | undefined {
  const { cache, rotation } = write;
  if (keys === undefined || values === undefined || (write.queries !== undefined && queries === undefined)) return undefined;
  if (rotation.ropeType !== "norm" || rotation.width % 2 === 1 || (cache.dtype !== "f16" && cache.dtype !== "f32")) return undefined;
  // The epilogue of the neighbour would read memory of its own.
  if ([keys, queries].some((result) => result !== undefined && Object.keys(result.epilogue.args).length > 0)) return undefined;
  const moved = (given: Readonly<Record<string, GpuArgument>>): NamedArguments =>
    argumentsOf(
      call,
      Object.fromEntries(
        Object.entries(given).map(([name, each]) => [name, each.kind === "input" ? { ...each, index: firstInput + each.index } : each]),
      ),
    );
  const angles = moved(write.angles);
  const cacheArgs = moved({ cache: { kind: "output", dtype: cache.dtype }, slots: write.slots });
  const rotated = moved({ rotated: { kind: "extraOutput", index: queriesOutput, dtype: "f32" } });
  const writers = new Map<SiblingResult, ResultWriter>([
    [keys, keysWriter(write, { ...cacheArgs, ...angles })],
    [values, valuesWriter(write, cacheArgs)],
  ]);
  if (queries !== undefined) writers.set(queries, queriesWriter(write, { ...rotated, ...angles }));
  return writers;
}

function keysWriter(write: CacheWrite, args: NamedArguments): ResultWriter<readonly [slot: U32, ...angle: AngleValues]> {
  return {
    args,
    prepare: (scope, place) => [slotOf(scope, place), ...anglesOf(scope, write, place)],
    store(scope, { column }, [slot, ...angle], own, neighbour) {
      const [head, at] = headOf(scope, write.rows.keyWidth, column);
      storeInCache(scope, write, { slot, head, at }, turnedAt(scope, write, at, { own, neighbour, angle }));
    },
  };
}

function valuesWriter(write: CacheWrite, args: NamedArguments): ResultWriter<readonly [slot: U32]> {
  return {
    args,
    prepare: (scope, place) => [slotOf(scope, place)],
    store(scope, { column }, [slot], own) {
      const [head, at] = headOf(scope, write.rows.valueWidth, column);
      storeInCache(scope, write, { slot, head, at: scope.k.add(at, write.rows.keyWidth) }, own);
    },
  };
}

function queriesWriter(write: CacheWrite, args: NamedArguments): ResultWriter<AngleValues> {
  return {
    args,
    prepare: (scope, place) => anglesOf(scope, write, place),
    store(scope, { column, index }, angle, own, neighbour) {
      const [, at] = headOf(scope, write.rotation.width, column);
      scope.k.store("rotated", index, turnedAt(scope, write, at, { own, neighbour, angle }));
    },
  };
}

type AngleValues = readonly [sin: F32, cos: F32];

/** The angle by which an element is turned; of elements that are not, that of any pair. */
function anglesOf(scope: Scope, { rotation }: CacheWrite, { row, column }: ResultPlace): AngleValues {
  const { k } = scope;
  const { width, dims } = rotation;
  const pair = k.shiftRight(k.remainder(column, width), 1);
  const { sin, cos }: Angle = angleAt(k, rotation, width === dims ? pair : k.min(pair, dims / 2 - 1), row);
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

/** As unsigned, a negative slot is beyond the cache, too. */
function slotOf({ k }: Scope, { row }: ResultPlace): U32 {
  return k.bitcast("u32", k.loadInteger("slots", row));
}

/** The head of a column, and its place in the head. */
function headOf({ k }: Scope, width: number, column: U32): readonly [head: U32, at: U32] {
  return [k.quotient(column, width), k.remainder(column, width)];
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
