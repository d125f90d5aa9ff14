import { f32x4, i32x4, type V128, v128 } from "../emit/index.ts";
import { madd } from "../target.ts";
import { activationBlocks } from "./activations.ts";
import type { BlockFormat } from "./format.ts";
import { halfSplat } from "./half.ts";

export const q8_0: BlockFormat = {
  elements: 32,
  bytes: 34,
  activation: "q8_0Split",
  decode(f, _target, block, sink) {
    const d = f.let(halfSplat(block));
    for (let at = 0; at < 32; at += 8) {
      const q = f.let(v128.load8x8S(block, 2 + at));
      sink(at, f32x4.mul(f32x4.fromI32x4(i32x4.extendLowS(q)), d));
      sink(at + 4, f32x4.mul(f32x4.fromI32x4(i32x4.extendHighS(q)), d));
    }
  },
  // Both operands have all 8 bits, which the relaxed dot product does not promise to take: 16 bits it is.
  dot(f, target, { weight, activations, accumulators }) {
    const d = f.let(halfSplat(weight));
    const weights = [0, 8, 16, 24].map((at) => f.let(v128.load8x8S(weight, 2 + at)));
    activations.forEach((a, token) => {
      const products = weights.map((w, i) => i32x4.dotI16x8(w, v128.load8x8S(a, 8 * i)));
      const sum = products.reduce((total: V128, product) => i32x4.add(total, product));
      const scale = f32x4.mul(d, v128.load32Splat(a, activationBlocks.q8_0Split.d));
      f.set(accumulators[token]!, madd(target, f32x4.fromI32x4(sum), scale, accumulators[token]!));
    });
  },
};
