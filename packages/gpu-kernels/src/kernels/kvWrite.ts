import type { Dim, TensorSpec } from "@centella/core";
import { mapTuple } from "@centella/core/backend";
import { blockLayout } from "@centella/quant";
import type { Emitter, F32, U32 } from "../emitter.ts";
import { asValue, type Extent, plus, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, type GpuScope, type GpuStep, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";
import { roundHalfAway, signedByte } from "../shared/encoders.ts";

const { blockElements, blockBytes } = blockLayout("q8_0");

/** How tokens are stored in a cache: the row of a head is written in units, by a lane each. */
export interface CacheRows {
  /** Name of the layout. */
  readonly name: string;
  readonly slots: Dim;
  readonly heads: Dim;
  readonly keyWidth: number;
  readonly valueWidth: number;
  /** Units of a row. */
  readonly units: number;
  readonly write: (scope: GpuScope, place: Place) => void;
}

/** A token's row of one head in the cache. */
interface Place {
  /** Element `d` of key and value. */
  valueAt(d: U32): F32;
  /** The unit of the row, and its number in the cache. */
  readonly unit: U32;
  readonly at: U32;
}

export const kvWrite: GpuKernelOf<"kvWrite"> = {
  unsupported: ([, k, v]) => {
    const isFixed = typeof k.shape[2] === "number" && typeof v.shape[2] === "number";
    return isFixed ? undefined : "no kernel for a symbolic head size";
  },
  steps: (call) => {
    const [cache, keys, values] = call.inputs;
    const rows = cacheRowsOf(cache, keys, values);
    const write: GpuStep = {
      kind: "each",
      name: rows.name,
      args: { cache: output(call), k: input(call, 1), v: input(call, 2), slots: input(call, 3) },
      shape: [dimAt(keys, 0), rows.heads, rows.units],
      body: (scope, index) => {
        const { k } = scope;
        const extents = [1, scope.extent(rows.heads), scope.whole(rows.units)] as const;
        const [token, head, unit] = mapTuple(unflatten(k, index, extents), (each) => asValue(k, each));
        const keyAt = (row: Extent, d: U32): F32 => k.load("k", plus(k, times(k, row, scope.whole(rows.keyWidth)), d));
        writeUnit(scope, rows, { token, head, unit }, keyAt);
      },
    };
    return [write];
  },
};

export function cacheRowsOf(cache: TensorSpec, keys: TensorSpec, values: TensorSpec): CacheRows {
  const [keyWidth, valueWidth] = [keys.shape[2] as number, values.shape[2] as number];
  const { elements, write } = unitOf(cache);
  return {
    name: `${cache.dtype}${elements === 1 ? "" : `_${elements}`}`,
    slots: dimAt(cache, 0),
    heads: dimAt(keys, 1),
    keyWidth,
    valueWidth,
    units: (keyWidth + valueWidth) / elements,
    write,
  };
}

/** Where heads are odd in size and share words, halves are written one by one, otherwise whole words. */
function unitOf({ dtype, shape }: TensorSpec): Pick<CacheRows, "write"> & { readonly elements: number } {
  const isOdd = (shape[2] as number) % 2 === 1;
  if (dtype === "q8_0") return { elements: blockElements, write: writeBlock };
  if (dtype !== "f16") return { elements: 1, write: ({ k }, { valueAt, unit, at }) => k.store("cache", at, valueAt(unit)) };
  if (isOdd) return { elements: 1, write: ({ k }, { valueAt, unit, at }) => k.storeHalf("cache", at, k.toHalf(valueAt(unit))) };
  return {
    elements: 2,
    write: ({ k }, { valueAt, unit, at }) => {
      const d = k.mul(unit, 2);
      k.store("cache", at, k.or(k.toHalf(valueAt(d)), k.shiftLeft(k.toHalf(valueAt(k.add(d, 1))), 16)));
    },
  };
}

/** The slot of a token, which is written if that is below the number of slots. Unsigned, so that a negative slot is not. */
export function slotOf(k: Emitter, token: U32 | number): U32 {
  return k.bitcast("u32", k.loadInteger("slots", token));
}

/** Writes a unit of a token's row of one head. `keyAt` gives an element of the keys, by the number of its row and its place in it. */
export function writeUnit(
  scope: GpuScope,
  rows: CacheRows,
  { token, head, unit }: { readonly token: U32; readonly head: U32; readonly unit: U32 },
  keyAt: (row: Extent, d: U32) => F32,
): void {
  const { k } = scope;
  const heads = scope.extent(rows.heads);
  const [perRow, dK, dV] = [rows.units, rows.keyWidth, rows.valueWidth].map((value) => scope.whole(value)) as [Extent, Extent, Extent];
  const row = timesPlus(k, token, heads, head);
  const slot = slotOf(k, token);
  const valueAt = (d: U32): F32 => {
    const value = k.variable("f32", 0);
    k.if(
      k.compare("lt", d, dK),
      () => value.set(keyAt(row, d)),
      () => value.set(k.load("v", plus(k, times(k, row, dV), k.sub(d, dK)))),
    );
    return value.get();
  };
  k.if(k.compare("lt", slot, scope.extent(rows.slots)), () => {
    const at = asValue(k, timesPlus(k, timesPlus(k, slot, heads, head), perRow, unit));
    rows.write(scope, { valueAt, unit, at });
  });
}

/** A block of q8_0: the scale in f16, then 32 quants, rounded as `quantizeRow` of `@centella/quant` does by default. */
function writeBlock({ k }: GpuScope, { valueAt, unit, at }: Place): void {
  const first = k.mul(unit, blockElements);
  const largest = k.variable("f32", 0);
  k.for(0, blockElements, 1, (j) => largest.set(k.max(largest.get(), k.abs(valueAt(k.add(first, j))))));
  const d = k.divRounded(largest.get(), 127);
  const factor = k.select(k.compare("eq", k.bitcast("u32", d), 0), k.constant("f32", 0), k.divRounded(k.constant("f32", 1), d));
  const to = k.mul(at, blockBytes / 2);
  k.storeHalf("cache", to, k.toHalf(d));
  const quant = (j: U32): U32 => signedByte(k, roundHalfAway(k, k.mulRounded(valueAt(k.add(first, j)), factor)));
  k.for(0, blockElements / 2, 1, (pair) => {
    const j = k.mul(pair, 2);
    k.storeHalf("cache", k.add(k.add(to, pair), 1), k.or(quant(j), k.shiftLeft(quant(k.add(j, 1)), 8)));
  });
}
