import { mapTuple, tupleOf } from "@centella/core/backend";
import { blockLayout } from "@centella/quant";
import type { F32, U32 } from "../emitter.ts";
import { asValue, type Extent, plus, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, type GpuScope, type GpuStep, input, output } from "../kernel.ts";
import { isSmaller, withSignOf } from "../shared/math.ts";
import { dimAt } from "../shared/rows.ts";

type Call = Parameters<GpuKernelOf<"kvWrite">["steps"]>[0];

const { blockElements, blockBytes } = blockLayout("q8_0");

/** A token's row of one head in the cache, in units of `perUnit` elements. */
interface Place {
  /** Element `d` of key and value. */
  valueAt(d: U32): F32;
  /** The unit of the row, and its number in the cache. */
  readonly unit: U32;
  readonly at: U32;
}

/** Where heads are odd in size and share words, halves are written one by one, otherwise whole words. */
export const kvWrite: GpuKernelOf<"kvWrite"> = {
  unsupported: ([, k, v]) => {
    const isFixed = typeof k.shape[2] === "number" && typeof v.shape[2] === "number";
    return isFixed ? undefined : "no kernel for a symbolic head size";
  },
  steps: (call) => {
    const [cache] = call.inputs;
    const isOdd = (cache.shape[2] as number) % 2 === 1;
    switch (cache.dtype) {
      case "q8_0":
        return [perUnit(call, blockElements, writeBlock)];
      case "f16":
        if (isOdd) return [perUnit(call, 1, ({ k }, { valueAt, unit, at }) => k.storeHalf("cache", at, k.toHalf(valueAt(unit))))];
        return [
          perUnit(call, 2, ({ k }, { valueAt, unit, at }) => {
            const d = k.mul(unit, 2);
            k.store("cache", at, k.or(k.toHalf(valueAt(d)), k.shiftLeft(k.toHalf(valueAt(k.add(d, 1))), 16)));
          }),
        ];
      default:
        return [perUnit(call, 1, ({ k }, { valueAt, unit, at }) => k.store("cache", at, valueAt(unit)))];
    }
  },
};

/** A lane per unit of a token's rows in the cache. */
function perUnit(call: Call, elements: number, write: (scope: GpuScope, place: Place) => void): GpuStep {
  const [cache, keys, values] = call.inputs;
  const [keyWidth, valueWidth] = [keys.shape[2] as number, values.shape[2] as number];
  const units = (keyWidth + valueWidth) / elements;
  const [tokens, headCount] = tupleOf(keys.shape, 3);
  return {
    kind: "each",
    name: `${cache.dtype}${elements === 1 ? "" : `_${elements}`}`,
    args: { cache: output(call), k: input(call, 1), v: input(call, 2), slots: input(call, 3) },
    shape: [tokens, headCount, units],
    body: (scope, index) => {
      const { k } = scope;
      const [heads, perRow, dK, dV] = [scope.extent(headCount), scope.whole(units), scope.whole(keyWidth), scope.whole(valueWidth)];
      const [token, head, unit] = mapTuple(unflatten(k, index, [1, heads, perRow]), (each) => asValue(k, each));
      const row = timesPlus(k, token, heads, head);
      // Unsigned: a negative slot is beyond the cache, too. Such tokens are not written.
      const slot = k.bitcast("u32", k.loadInteger("slots", token));
      const valueAt = (d: U32): F32 => {
        const value = k.variable("f32", 0);
        const load = (name: "k" | "v", width: Extent, at: Extent): void => value.set(k.load(name, plus(k, times(k, row, width), at)));
        k.if(
          k.compare("lt", d, dK),
          () => load("k", dK, d),
          () => load("v", dV, k.sub(d, dK)),
        );
        return value.get();
      };
      k.if(k.compare("lt", slot, scope.extent(dimAt(cache, 0))), () => {
        const at = asValue(k, timesPlus(k, timesPlus(k, slot, heads, head), perRow, unit));
        write(scope, { valueAt, unit, at });
      });
    },
  };
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
  const quant = (j: U32): U32 => {
    const x = k.mul(valueAt(k.add(first, j)), factor);
    const whole = k.trunc(x);
    // Halves round away from zero.
    const away = k.add(whole, withSignOf(k, k.constant("f32", 1), x));
    const q = k.select(isSmaller(k, k.sub(x, whole), 0.5), whole, away);
    return k.and(k.bitcast("u32", k.convert("i32", q)), 0xff);
  };
  k.for(0, blockElements / 2, 1, (pair) => {
    const j = k.mul(pair, 2);
    k.storeHalf("cache", k.add(k.add(to, pair), 1), k.or(quant(j), k.shiftLeft(quant(k.add(j, 1)), 8)));
  });
}
