import { type FunctionBuilder, f32, f32x4, i8x16, i16x8, i32, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { madd } from "../target.ts";
import { activationBlocks } from "./activations.ts";
import type { BlockFormat } from "./format.ts";
import { halfSplat } from "./half.ts";
import { bytesToFloats, dotVector } from "./nibbles.ts";

const [highBits, scalesAt, scaleAt] = [128, 192, 208];

/** Weights `16 * group …` as bytes from 0 to 63. */
function unpack(f: FunctionBuilder, block: Local<"i32">, group: number): V128 {
  const half = group >> 3;
  const quarter = (group >> 1) & 3;
  const ql = v128.load(block, 64 * half + 32 * (quarter & 1) + 16 * (group & 1));
  const low = v128.and(quarter < 2 ? ql : i16x8.shrU(ql, 4), f.splatBits(0x0f0f0f0f));
  const bits = v128.load(block, highBits + 32 * half + 16 * (group & 1));
  // Bit pair `quarter` of each byte goes to bits 4 and 5.
  const pair = v128.and(bits, f.splatBits(0x03030303 * 4 ** quarter));
  const high = quarter < 2 ? i16x8.shl(pair, 4 - 2 * quarter) : quarter === 2 ? pair : i16x8.shrU(pair, 2);
  return v128.or(low, high);
}

export const q6_K: BlockFormat = {
  elements: 256,
  bytes: 210,
  activation: "q8_K",
  decode(f, _target, block, sink) {
    const d = f.let(halfSplat(block, scaleAt));
    for (let group = 0; group < 16; group++) {
      const scale = f.let(f32x4.mul(d, f32x4.splat(f32.fromI32(i32.load8S(block, scalesAt + group)))));
      const weights = f.let(i8x16.sub(unpack(f, block, group), f.splatBits(0x20202020)));
      bytesToFloats(f, weights).forEach((quad, i) => void sink(16 * group + 4 * i, f32x4.mul(quad, scale)));
    }
  },
  dot(f, target, { weight, activations, accumulators }) {
    const sums = activations.map(() => f.let(v128.zero()));
    for (let group = 0; group < 16; group++) {
      const weights = dotVector(f, target, unpack(f, weight, group));
      const scale = f.let(i32x4.splat(i32.load8S(weight, scalesAt + group)));
      activations.forEach((a, token) => {
        f.set(sums[token]!, i32x4.add(sums[token]!, i32x4.mul(weights.add(v128.zero(), a, 16 * group), scale)));
      });
    }
    const d = f.let(halfSplat(weight, scaleAt));
    const scales = [0, 8].map((at) => f.let(v128.load8x8S(weight, scalesAt + at)));
    activations.forEach((a, token) => {
      // Weights stay unsigned; what that adds is 32 times the scaled sums of the activations.
      const [low, high] = scales.map((scale, i) => i32x4.dotI16x8(scale, v128.load(a, activationBlocks.q8_K.sums16 + 16 * i)));
      const sum = i32x4.sub(sums[token]!, i32x4.shl(i32x4.add(low!, high!), 5));
      const scale = f32x4.mul(d, v128.load32Splat(a, activationBlocks.q8_K.d));
      f.set(accumulators[token]!, madd(target, f32x4.fromI32x4(sum), scale, accumulators[token]!));
    });
  },
};
