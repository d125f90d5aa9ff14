import type { ParamsOf } from "@centella/core";
import type { Emitter, F32, I32, U32 } from "../emitter.ts";
import { asValue, plus, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuArguments, type GpuKernelOf, type GpuStep, input, output } from "../kernel.ts";
import { sinCosOf } from "../shared/math.ts";
import { dimAt } from "../shared/rows.ts";

/** Words of a pair's frequency, in turns per position: the whole part, then 64 bits of fraction, high word first. */
const wordsPerPair = 3;

/**
 * A lane per pair, and one per element that is only copied. Angles are fractions of a turn in fixed point: position times frequency is
 * then exact modulo one turn, where f32 radians would be off by 1e-2 at position 100,000.
 */
export const rope: GpuKernelOf<"rope"> = {
  unsupported: ([x]) => (typeof x.shape[2] === "number" ? undefined : "no kernel for a symbolic head size"),
  steps: (call, params) => {
    const [x, , factors] = call.inputs;
    const width = x.shape[2] as number;
    const dims = params.dims === 0 ? width : params.dims;
    const pairs = dims / 2;
    const args: GpuArguments = {
      ...{ x: input(call, 0), positions: input(call, 1), frequencies: { kind: "table", dtype: "u32", words: frequencies(dims, params) } },
      ...(factors !== undefined && { factors: input(call, 2) }),
      y: output(call),
    };
    const rotate: GpuStep = {
      kind: "each",
      name: factors === undefined ? params.ropeType : `${params.ropeType}_factors`,
      args,
      shape: [...x.shape.slice(0, 2), pairs + width - dims],
      body: (scope, index) => {
        const { k } = scope;
        const [heads, d, half] = [scope.extent(dimAt(x, 1)), scope.whole(width), scope.whole(pairs)];
        const [token, head, unit] = unflatten(k, index, [1, heads, scope.whole(pairs + width - dims)]);
        const row = times(k, timesPlus(k, token, heads, head), d);
        const pair = asValue(k, unit);
        const rotated = (): void => {
          const isInterleaved = params.ropeType === "norm";
          const first = plus(k, row, isInterleaved ? k.mul(pair, 2) : pair);
          const second = plus(k, first, isInterleaved ? 1 : half);
          const { sin, cos } = rotation(k, frequencyOf(k, pair, factors !== undefined), k.loadInteger("positions", asValue(k, token)));
          const [a, b] = [k.load("x", first), k.load("x", second)];
          k.store("y", first, k.fma(a, cos, k.neg(k.mul(b, sin))));
          k.store("y", second, k.fma(a, sin, k.mul(b, cos)));
        };
        const copied = (): void => {
          const at = plus(k, row, k.add(pair, half));
          k.store("y", at, k.load("x", at));
        };
        if (width === dims) rotated();
        else k.if(k.compare("lt", pair, half), rotated, copied);
      },
    };
    return [rotate];
  },
};

function frequencies(dims: number, { base, scale }: ParamsOf<"rope">): Uint32Array {
  const words = new Uint32Array(wordsPerPair * (dims / 2));
  for (let i = 0; i < dims / 2; i++) {
    const frequency = (scale * base ** ((-2 * i) / dims)) / (2 * Math.PI);
    const high = (frequency % 1) * 2 ** 32;
    words.set([Math.floor(frequency), Math.floor(high), Math.floor((high % 1) * 2 ** 32)], wordsPerPair * i);
  }
  return words;
}

/** Fraction of a turn per position of a pair, in two words. */
function frequencyOf(k: Emitter, pair: U32, hasFactors: boolean): readonly [high: U32, low: U32] {
  const at = k.mul(pair, wordsPerPair);
  const word = (i: number): U32 => k.loadBits("frequencies", k.add(at, i));
  return hasFactors ? k.divideFixed([word(0), word(1), word(2)], k.load("factors", pair)) : [word(1), word(2)];
}

/** Sine and cosine of the angle at a position. */
function rotation(k: Emitter, [high, low]: readonly [U32, U32], position: I32): { readonly sin: F32; readonly cos: F32 } {
  const isBackwards = k.compare("lt", position, 0);
  const signed = k.bitcast("u32", position);
  const distance = k.select(isBackwards, negated(k, signed), signed);
  // In units of 2^-32 turns; whole turns overflow.
  const forwards = k.add(k.mul(distance, high), k.multiplyHigh(distance, low));
  const turns = k.select(isBackwards, negated(k, forwards), forwards);
  const q = k.shiftRight(k.add(turns, 0x20000000), 30);
  const rest = k.bitcast("i32", k.sub(turns, k.shiftLeft(q, 30)));
  return sinCosOf(k, { r: k.mul(k.convert("f32", rest), (2 * Math.PI) / 2 ** 32), q });
}

function negated(k: Emitter, x: U32): U32 {
  return k.sub(k.constant("u32", 0), x);
}
