import { type Expr, type FunctionBuilder, f32, f32x4, i16x8, i32, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { madd } from "../target.ts";
import { activationBlocks } from "./activations.ts";
import type { BlockFormat } from "./format.ts";
import { halfSplat } from "./half.ts";
import { bytesToFloats, dotVector, highNibbles, lowNibbles } from "./nibbles.ts";

/** The eight scales and minima as bytes, four in each i32. */
interface Scales {
  readonly scales: readonly [Local<"i32">, Local<"i32">];
  readonly minima: readonly [Local<"i32">, Local<"i32">];
}

function unpackScales(f: FunctionBuilder, block: Local<"i32">): Scales {
  const [first, second, third] = [4, 8, 12].map((offset) => f.let(i32.load(block, offset)));
  const upper = (word: Local<"i32">): Expr<"i32"> => i32.shl(i32.and(i32.shrU(word, 6), 0x03030303), 4);
  return {
    scales: [f.let(i32.and(first!, 0x3f3f3f3f)), f.let(i32.or(i32.and(third!, 0x0f0f0f0f), upper(first!)))],
    minima: [f.let(i32.and(second!, 0x3f3f3f3f)), f.let(i32.or(i32.and(i32.shrU(third!, 4), 0x0f0f0f0f), upper(second!)))],
  };
}

/** Byte `j` of eight. */
function byteOf([low, high]: readonly [Local<"i32">, Local<"i32">], j: number): Expr<"i32"> {
  return i32.and(i32.shrU(j < 4 ? low : high, 8 * (j & 3)), 255);
}

export const q4_K: BlockFormat = {
  elements: 256,
  bytes: 144,
  activation: "q8_K",
  decode(f, target, block, sink) {
    const d = f.let(halfSplat(block));
    const dmin = f.let(halfSplat(block, 2));
    const { scales, minima } = unpackScales(f, block);
    const splat = (bytes: Scales["scales"], j: number): V128 => f32x4.splat(f32.fromI32(byteOf(bytes, j)));
    for (let group = 0; group < 8; group++) {
      const scale = f.let(f32x4.mul(d, splat(scales, group)));
      const min = f.let(f32x4.neg(f32x4.mul(dmin, splat(minima, group))));
      for (let half = 0; half < 2; half++) {
        const q = v128.load(block, 16 + (group >> 1) * 32 + 16 * half);
        const nibbles = group % 2 === 0 ? lowNibbles(f, q) : highNibbles(f, q);
        // The product is exact, so that a fused multiply-add rounds as ggml's separate subtraction does.
        bytesToFloats(f, nibbles).forEach((quad, i) => void sink(32 * group + 16 * half + 4 * i, madd(target, quad, scale, min)));
      }
    }
  },
  dot(f, target, { weight, activations, accumulators }) {
    const { scales, minima } = unpackScales(f, weight);
    const mins = f.let(i16x8.extendLowU(i32x4.replace(i32x4.splat(minima[0]), 1, minima[1])));
    const sums = activations.map(() => f.let(v128.zero()));
    for (let pair = 0; pair < 4; pair++) {
      const bytes = [0, 16].map((half) => f.let(v128.load(weight, 16 + 32 * pair + half)));
      for (const [group, nibbles] of [
        [2 * pair, bytes.map((q) => dotVector(f, target, lowNibbles(f, q)))],
        [2 * pair + 1, bytes.map((q) => dotVector(f, target, highNibbles(f, q)))],
      ] as const) {
        const scale = f.let(i32x4.splat(byteOf(scales, group)));
        activations.forEach((a, token) => {
          const dots = nibbles.reduce((sum: V128, half, i) => half.add(sum, a, 32 * group + 16 * i), v128.zero());
          f.set(sums[token]!, i32x4.add(sums[token]!, i32x4.mul(dots, scale)));
        });
      }
    }
    const d = f.let(halfSplat(weight));
    const dmin = f.let(halfSplat(weight, 2));
    activations.forEach((a, token) => {
      const scale = f.let(v128.load32Splat(a, activationBlocks.q8_K.d));
      const acc = accumulators[token]!;
      f.set(acc, madd(target, f32x4.fromI32x4(sums[token]!), f32x4.mul(d, scale), acc));
      const bias = i32x4.neg(i32x4.dotI16x8(mins, v128.load(a, activationBlocks.q8_K.sums32)));
      f.set(acc, madd(target, f32x4.fromI32x4(bias), f32x4.mul(dmin, scale), acc));
    });
  },
};
