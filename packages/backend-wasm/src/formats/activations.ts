import { type FunctionBuilder, f32x4, i8x16, i16x8, i32, i32x4, type Local, type ModuleBuilder, type V128, v128 } from "../emit/index.ts";
import { largestLane } from "../matmul/lanes.ts";
import { memoryMap } from "../memoryMap.ts";
import { toHalves } from "./half.ts";

/**
 * How activations lie in scratch memory once they are rounded to 8 bits, made for the dot products and not for files.
 *
 * q8_0, 32 values in 64 bytes: `q` 32 × i8 | `minusSums` 4 × i32: the negated sums of the four bytes that a lane of a dot product
 * covers, over both halves | `d` f32 | `minusSum` i32: the negated sum of all.
 *
 * q8_0Split, 128 bytes: the same, then `positive` and `negative`, 32 × u8 each: `max(q, 0)` and `max(-q, 0)`.
 *
 * q8_K, 256 values in 400 bytes: `q` 256 × i8 | `sums16` 16 × i16: sums per 16 | `sums32` 8 × i16: sums per 32 | `sumPairs` 8 × i16:
 * the latter in the order 0 2, 1 3, 4 6, 5 7 | `minus32Sums` 16 × i32: -32 times `sums16` | `d` f32.
 */
export const activationBlocks = {
  q8_0: { elements: 32, bytes: 64, minusSums: 32, d: 48, minusSum: 52 },
  q8_0Split: { elements: 32, bytes: 128, minusSums: 32, d: 48, minusSum: 52, positive: 64, negative: 96 },
  q8_K: { elements: 256, bytes: 400, sums16: 256, sums32: 288, sumPairs: 304, minus32Sums: 320, d: 384 },
} as const;

export type ActivationFormat = keyof typeof activationBlocks;

/** Bytes of `n` activations. */
export function activationBytes(format: ActivationFormat, n: number): number {
  const { elements, bytes } = activationBlocks[format];
  return (n / elements) * bytes;
}

const signature = { from: "i32", to: "i32", blocks: "i32" } as const;

/** Emits `quantize.q8_0`, `quantize.q8_0Split`, `quantize.q8_K` (f32 to blocks, rounded as ggml's x86 code does) and `dequantize.…` (back to f32). */
export function emitActivations(module: ModuleBuilder): void {
  for (const format of ["q8_0", "q8_0Split"] as const) emitQuantize32(module, format);
  module.function("quantize.q8_K", signature, (f, { from, to, blocks }) => {
    const { bytes, sums16, sums32, sumPairs, minus32Sums, d } = activationBlocks.q8_K;
    const at = f.local("i32");
    const mask = f.local("i32");
    const sum = f.local("i32");
    f.while(blocks, () => {
      const largest = largestLane(f, largestMagnitude(f, from, 256));
      f.if(
        v128.anyTrue(largest),
        () => {
          // The first value of the largest magnitude gives the sign of the scale. A NaN compares to nothing: stop at the end.
          f.set(at, from);
          f.loop((again) => {
            f.set(mask, i32x4.bitmask(f32x4.eq(f32x4.abs(v128.load(at)), largest)));
            f.advance(at, 16);
            f.brIf(again, i32.and(i32.eqz(mask), i32.ltU(i32.sub(at, from), 1024)));
          });
          const m = v128.load32Splat(i32.add(i32.sub(at, 16), i32.shl(i32.and(i32.ctz(i32.or(mask, 8)), 3), 2)));
          const inverse = f.let(f32x4.div(f.splat(-127), m));
          for (let group = 0; group < 16; group++) {
            const q = quantize16(f, from, 64 * group, inverse);
            f.store(to, q, 16 * group);
            const lanes = f.let(sumsOf4(q));
            f.set(sum, sumOfLanes(lanes));
            f.store16(to, sum, sums16 + 2 * group);
            f.store(to, i32.mul(sum, -32), minus32Sums + 4 * group);
            if (group % 2 === 0) continue;
            const index = group >> 1;
            f.advance(sum, i32.load16S(to, sums16 + 2 * group - 2));
            f.store16(to, sum, sums32 + 2 * index);
            f.store16(to, sum, sumPairs + 2 * ((index & 4) | ((index & 1) << 1) | ((index >> 1) & 1)));
          }
          f.store32Lane(to, f.let(f32x4.div(f.splat(1), inverse)), 0, d);
        },
        () => f.memoryFill(to, 0, bytes),
      );
      f.advance(from, 1024);
      f.advance(to, bytes);
      f.advance(blocks, -1);
    });
  });
  for (const [format, { elements, bytes, d }] of Object.entries(activationBlocks)) {
    module.function(`dequantize.${format}`, signature, (f, { from, to, blocks }) => {
      const scale = f.local("v128");
      f.while(blocks, () => {
        f.set(scale, v128.load32Splat(from, d));
        for (let at = 0; at < elements; at += 8) {
          const q = f.let(v128.load8x8S(from, at));
          f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendLowS(q)), scale), 4 * at);
          f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendHighS(q)), scale), 4 * at + 16);
        }
        f.advance(from, bytes);
        f.advance(to, 4 * elements);
        f.advance(blocks, -1);
      });
    });
  }
}

function emitQuantize32(module: ModuleBuilder, format: "q8_0" | "q8_0Split"): void {
  module.function(`quantize.${format}`, signature, (f, { from, to, blocks }) => {
    const { bytes, minusSums, d, minusSum } = activationBlocks[format];
    f.while(blocks, () => {
      const largest = largestLane(f, largestMagnitude(f, from, 32));
      const scale = f.let(f32x4.div(largest, f.splat(127)));
      const half = toHalves(f, scale);
      f.store32Lane(to, v128.load32Zero(i32.shl(v16(half), 2), memoryMap.halfTable), 0, d);
      const isZero = f32x4.eq(largest, v128.zero());
      const inverse = f.let(v128.andnot(f32x4.div(f.splat(127), largest), isZero));
      const quads = [quantize16(f, from, 0, inverse), quantize16(f, from, 64, inverse)];
      quads.forEach((quad, i) => void f.store(to, quad, 16 * i));
      const sums = f.let(i32x4.neg(i32x4.add(sumsOf4(quads[0]!), sumsOf4(quads[1]!))));
      f.store(to, sums, minusSums);
      f.store(to, sumOfLanes(sums), minusSum);
      if (format === "q8_0Split") {
        const { positive, negative } = activationBlocks.q8_0Split;
        quads.forEach((quad, i) => {
          f.store(to, i8x16.maxS(quad, v128.zero()), positive + 16 * i);
          f.store(to, i8x16.maxS(i8x16.sub(v128.zero(), quad), v128.zero()), negative + 16 * i);
        });
      }
      f.advance(from, 128);
      f.advance(to, bytes);
      f.advance(blocks, -1);
    });
  });
}

/** The low 16 bits of lane 0. */
function v16(half: V128): ReturnType<typeof i32.and> {
  return i32.and(i32x4.extract(half, 0), 0xffff);
}

function largestMagnitude(f: FunctionBuilder, from: Local<"i32">, count: number): Local<"v128"> {
  const largest = f.let(f32x4.abs(v128.load(from)));
  for (let at = 4; at < count; at += 4) f.set(largest, f32x4.pmax(largest, f32x4.abs(v128.load(from, 4 * at))));
  return largest;
}

/** `round(x * inverse)` of 16 values, ties to even, saturated to i8; ggml's minimum of 127 is the saturation. */
function quantize16(f: FunctionBuilder, from: Local<"i32">, offset: number, inverse: V128): Local<"v128"> {
  const quad = (index: number): V128 => {
    const scaled = f32x4.mul(v128.load(from, offset + 16 * index), inverse);
    return i32x4.sub(f32x4.add(scaled, f.splat(12582912)), f.splatBits(0x4b400000));
  };
  return f.let(i8x16.narrowI16x8S(i16x8.narrowI32x4S(quad(0), quad(1)), i16x8.narrowI32x4S(quad(2), quad(3))));
}

function sumOfLanes(lanes: V128): ReturnType<typeof i32.add> {
  return [1, 2, 3].reduce((total, lane) => i32.add(total, i32x4.extract(lanes, lane)), i32x4.extract(lanes, 0));
}

/** Sums of four consecutive bytes. */
function sumsOf4(bytes: V128): V128 {
  return i32x4.extaddPairwiseS(i16x8.extaddPairwiseS(bytes));
}
