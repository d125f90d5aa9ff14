import { type FunctionBuilder, f32x4, i8x16, i32x4, type Local, v128 } from "../emit/index.ts";
import { madd } from "../target.ts";
import { activationBlocks } from "./activations.ts";
import type { BlockFormat } from "./format.ts";
import { halfSplat } from "./half.ts";
import { bytesToFloats, dotVector, highNibbles, lowNibbles } from "./nibbles.ts";

const bitOfByte = new Uint8Array([1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);

/** The 32 weights as two vectors of bytes from 0 to 31. */
function unpack(f: FunctionBuilder, block: Local<"i32">): readonly [Local<"v128">, Local<"v128">] {
  const q = f.let(v128.load(block, 6));
  const mask = f.let(v128.load32Splat(block, 2));
  const fifth = (half: number): ReturnType<typeof v128.and> => {
    const lanes = Array.from({ length: 16 }, (_, j) => 2 * half + (j >> 3));
    const spread = v128.and(i8x16.shuffle(mask, mask, lanes), f.pooled(bitOfByte));
    return v128.and(i8x16.eq(spread, f.pooled(bitOfByte)), f.splatBits(0x10101010));
  };
  return [f.let(v128.or(lowNibbles(f, q), fifth(0))), f.let(v128.or(highNibbles(f, q), fifth(1)))];
}

export const q5_0: BlockFormat = {
  elements: 32,
  bytes: 22,
  activation: "q8_0",
  decode(f, _target, block, sink) {
    const d = f.let(halfSplat(block));
    unpack(f, block).forEach((bytes, half) => {
      const weights = f.let(i8x16.sub(bytes, f.splatBits(0x10101010)));
      bytesToFloats(f, weights).forEach((quad, i) => void sink(16 * half + 4 * i, f32x4.mul(quad, d)));
    });
  },
  dot(f, target, { weight, activations, accumulators }) {
    const d = f.let(halfSplat(weight));
    const [low, high] = unpack(f, weight).map((bytes) => dotVector(f, target, bytes));
    activations.forEach((a, token) => {
      // Weights stay unsigned; what that adds is 16 times the sum of the activations.
      const bias = i32x4.shl(v128.load(a, activationBlocks.q8_0.minusSums), 4);
      const sum = high!.add(low!.add(bias, a, 0), a, 16);
      const scale = f32x4.mul(d, v128.load32Splat(a, activationBlocks.q8_0.d));
      f.set(accumulators[token]!, madd(target, f32x4.fromI32x4(sum), scale, accumulators[token]!));
    });
  },
};
