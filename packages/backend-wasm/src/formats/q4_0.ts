import { f32x4, i8x16, i32x4, v128 } from "../emit/index.ts";
import { madd } from "../target.ts";
import { activationBlocks } from "./activations.ts";
import type { BlockFormat } from "./format.ts";
import { halfSplat } from "./half.ts";
import { bytesToFloats, dotVector, highNibbles, lowNibbles } from "./nibbles.ts";

export const q4_0: BlockFormat = {
  elements: 32,
  bytes: 18,
  activation: "q8_0",
  decode(f, _target, block, sink) {
    const d = f.let(halfSplat(block));
    const q = f.let(v128.load(block, 2));
    [lowNibbles(f, q), highNibbles(f, q)].forEach((nibbles, half) => {
      const weights = f.let(i8x16.sub(nibbles, f.splatBits(0x08080808)));
      bytesToFloats(f, weights).forEach((quad, i) => void sink(16 * half + 4 * i, f32x4.mul(quad, d)));
    });
  },
  dot(f, target, { weight, activations, accumulators }) {
    const d = f.let(halfSplat(weight));
    const q = f.let(v128.load(weight, 2));
    const low = dotVector(f, target, lowNibbles(f, q));
    const high = dotVector(f, target, highNibbles(f, q));
    activations.forEach((a, token) => {
      // Nibbles stay unsigned; what that adds is 8 times the sum of the activations.
      const bias = i32x4.shl(v128.load(a, activationBlocks.q8_0.minusSums), 3);
      const sum = high.add(low.add(bias, a, 0), a, 16);
      const scale = f32x4.mul(d, v128.load32Splat(a, activationBlocks.q8_0.d));
      f.set(accumulators[token]!, madd(target, f32x4.fromI32x4(sum), scale, accumulators[token]!));
    });
  },
};
