import {
  type FunctionBuilder,
  f32x4,
  type I32,
  i8x16,
  i16x8,
  i32,
  i32x4,
  type Local,
  type ModuleBuilder,
  type V128,
  v128,
} from "../emit/index.ts";
import { largestLane } from "../matmul/lanes.ts";
import type { Target } from "../target.ts";
import type { GroupFormat } from "./format.ts";
import { toHalves, widenHalves } from "./half.ts";

/**
 * What activations are rounded to before they are multiplied with block weights: as ggml's x86 code rounds them, in blocks of 32 with
 * a scale in f16, or in blocks of 256 with a scale in f32. `q8_Kx32`: the latter, in blocks of 32 that share a scale.
 */
export type ActivationRounding = "q8_0" | "q8_K" | "q8_Kx32";

/**
 * How the rounded values lie in memory, for the kind of dot product that reads them: as bytes; as two bytes each, what is above 0 and
 * what is below; or as 16 bits, of four values the first and third, then the others.
 */
export type Lanes = "bytes" | "split" | "wide";

export interface ActivationLayout {
  readonly rounding: ActivationRounding;
  readonly lanes: Lanes;
  /**
   * Bytes lie as the dot products take them: four values, four times. One instruction less in every other product, which pays where
   * several tokens share the weights; a single token's activations have to stay in the first-level cache while weights stream by.
   */
  readonly isRepeated: boolean;
  /** Elements of a block. */
  readonly elements: 32 | 256;
  readonly bytes: number;
  /** Where the negative parts start, if they are split. */
  readonly negative: number;
  /** f32 scale. */
  readonly d: number;
  /** Blocks of 32: the negated sum of the values as i32, and their scaled sum as f32, rounded to f16 as ggml's q8_1 has it. */
  readonly minusSum: number;
  readonly sum: number;
  /** Blocks of 256: sums of 16 and of 32 as i16, in the order 0 2, 1 3, 4 6, 5 7, …. */
  readonly sums16: number;
  readonly sums32: number;
  /** Bytes: per 16, or per 32 in blocks of 32, the negated sums of values 0, 1, 4, 5, … and 2, 3, 6, 7, … as two i16. */
  readonly biases: number;
}

/** Name of a layout, as the names of functions have it. */
export function activationName({ rounding, lanes, isRepeated }: ActivationLayout): string {
  return `${rounding}.${lanes}${isRepeated ? ".repeated" : ""}`;
}

/** A layout; 16-bit values are never repeated. */
export function activationLayout(rounding: ActivationRounding, lanes: Lanes, repeat: boolean): ActivationLayout {
  const elements = rounding === "q8_K" ? 256 : 32;
  const isRepeated = repeat && lanes !== "wide";
  const part = (isRepeated ? 4 : 1) * elements;
  const values = lanes === "bytes" ? part : lanes === "split" ? 2 * part : 2 * elements;
  const common = { rounding, lanes, isRepeated, elements, negative: part, d: values } as const;
  return elements === 32
    ? { ...common, minusSum: values + 4, sum: values + 8, sums16: 0, sums32: 0, biases: values + 12, bytes: values + 16 }
    : { ...common, minusSum: 0, sum: 0, sums16: values + 16, sums32: values + 48, biases: values + 64, bytes: values + 128 };
}

/** The kind of values that a format's dot products read. */
export function lanesFor({ largestCode }: GroupFormat, { dots }: Target): Lanes {
  if (dots === "wide") return "wide";
  if (largestCode !== undefined) return "bytes";
  return dots === "quads" ? "split" : "wide";
}

/** Bytes of `n` activations. */
export function activationBytes({ elements, bytes }: ActivationLayout, n: number): number {
  return (n / elements) * bytes;
}

const signature = { from: "i32", to: "i32", blocks: "i32" } as const;

/** Emits `round.<layout>(from, to, blocks)`, f32 to blocks (of 256 for the roundings to q8_K), for the layouts that `target` uses. */
export function emitActivations(module: ModuleBuilder, target: Target): void {
  const used: readonly Lanes[] = target.dots === "quads" ? ["bytes", "split"] : target.dots === "pairs" ? ["bytes", "wide"] : ["wide"];
  for (const lanes of used) {
    for (const repeat of lanes === "wide" ? [false] : [false, true]) {
      emitRound32(module, activationLayout("q8_0", lanes, repeat));
      emitRound256(module, activationLayout("q8_K", lanes, repeat));
      if (lanes !== "bytes") emitRound256(module, activationLayout("q8_Kx32", lanes, repeat));
    }
  }
}

function emitRound32(module: ModuleBuilder, layout: ActivationLayout): void {
  module.function(`round.${activationName(layout)}`, signature, (f, { from, to, blocks }) => {
    f.while(blocks, () => {
      const largest = largestLane(f, largestMagnitude(f, from, 32));
      const isZero = f32x4.eq(largest, v128.zero());
      const inverse = f.let(v128.andnot(f32x4.div(f.splat(127), largest), isZero));
      const [low, high] = [round16(f, from, 0, inverse), round16(f, from, 64, inverse)];
      storeValues(f, layout, to, 0, low);
      storeValues(f, layout, to, 16, high);
      const pairs = f.let(i16x8.add(i16x8.extaddPairwiseS(low), i16x8.extaddPairwiseS(high)));
      const sum = f.let(sumOfLanes(f.let(i32x4.extaddPairwiseS(pairs))));
      if (layout.lanes === "bytes") f.store32Lane(to, biasOf(f, pairs), 0, layout.biases);
      const scale = f.let(f32x4.div(largest, f.splat(127)));
      const rounded = toHalves(f, f32x4.mul(scale, f32x4.fromI32x4(i32x4.replace(f.splatBits(1), 1, sum))));
      const widened = widenHalves(f, rounded);
      f.store32Lane(to, widened, 0, layout.d);
      f.store32Lane(to, widened, 1, layout.sum);
      f.store(to, i32.sub(0, sum), layout.minusSum);
      f.advance(from, 128);
      f.advance(to, layout.bytes);
      f.advance(blocks, -1);
    });
  });
}

function emitRound256(module: ModuleBuilder, layout: ActivationLayout): void {
  module.function(`round.${activationName(layout)}`, signature, (f, { from, to, blocks }) => {
    const { bytes, sums16, sums32, d } = layout;
    const blocksPer256 = 256 / layout.elements;
    const [at, mask, sum] = [f.local("i32"), f.local("i32"), f.local("i32")];
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
          for (let run = 0; run < 16; run++) {
            const q = round16(f, from, 64 * run, inverse);
            if (layout.elements === 32) {
              storeValues(f, layout, f.let(i32.add(to, bytes * (run >> 1))), 16 * (run & 1), q);
              continue;
            }
            storeValues(f, layout, to, 16 * run, q);
            const pairs = f.let(i16x8.extaddPairwiseS(q));
            if (layout.lanes === "bytes") f.store32Lane(to, biasOf(f, pairs), 0, layout.biases + 4 * run);
            f.set(sum, sumOfLanes(f.let(i32x4.extaddPairwiseS(pairs))));
            f.store16(to, sum, sums16 + 2 * inPairs(run));
            if (run % 2 === 0) continue;
            f.advance(sum, i32.load16S(to, sums16 + 2 * inPairs(run - 1)));
            f.store16(to, sum, sums32 + 2 * inPairs(run >> 1));
          }
          const scale = f.let(f32x4.div(f.splat(1), inverse));
          for (let block = 0; block < blocksPer256; block++) f.store32Lane(to, scale, 0, d + block * bytes);
        },
        () => f.memoryFill(to, 0, bytes * blocksPer256),
      );
      f.advance(from, 1024);
      f.advance(to, bytes * blocksPer256);
      f.advance(blocks, -1);
    });
  });
}

/** Where number `index` stands in the order 0 2, 1 3, 4 6, 5 7, …. */
function inPairs(index: number): number {
  return (index & ~3) | ((index & 1) << 1) | ((index >> 1) & 1);
}

/** Stores 16 values from element `at` of a block on. */
function storeValues(f: FunctionBuilder, { lanes, isRepeated, negative }: ActivationLayout, to: I32, at: number, q: Local<"v128">): void {
  const storeBytes = (bytes: Local<"v128">, offset: number): void => {
    if (!isRepeated) f.store(to, bytes, offset + at);
    for (let lane = 0; lane < 4 && isRepeated; lane++)
      f.store(to, f32x4.shuffle(bytes, bytes, [lane, lane, lane, lane]), offset + 4 * at + 16 * lane);
  };
  if (lanes === "bytes") storeBytes(q, 0);
  else if (lanes === "split") {
    storeBytes(f.let(i8x16.maxS(q, v128.zero())), 0);
    storeBytes(f.let(i8x16.maxS(i8x16.sub(v128.zero(), q), v128.zero())), negative);
  } else {
    const order = [0, 2, 1, 3, 4, 6, 5, 7].flatMap((lane) => [2 * lane, 2 * lane + 1]);
    [i16x8.extendLowS(q), i16x8.extendHighS(q)].forEach((values, half) => {
      const x = f.let(values);
      f.store(to, i8x16.shuffle(x, x, order), 2 * at + 16 * half);
    });
  }
}

function largestMagnitude(f: FunctionBuilder, from: Local<"i32">, count: number): Local<"v128"> {
  const largest = f.let(f32x4.abs(v128.load(from)));
  for (let at = 4; at < count; at += 4) f.set(largest, f32x4.pmax(largest, f32x4.abs(v128.load(from, 4 * at))));
  return largest;
}

/** `round(x * inverse)` of 16 values, ties to even, saturated to i8; ggml's minimum of 127 is the saturation. */
function round16(f: FunctionBuilder, from: Local<"i32">, offset: number, inverse: V128): Local<"v128"> {
  const quad = (index: number): V128 => {
    const scaled = f32x4.mul(v128.load(from, offset + 16 * index), inverse);
    return i32x4.sub(f32x4.add(scaled, f.splat(12582912)), f.splatBits(0x4b400000));
  };
  return f.let(i8x16.narrowI16x8S(i16x8.narrowI32x4S(quad(0), quad(1)), i16x8.narrowI32x4S(quad(2), quad(3))));
}

function sumOfLanes(lanes: V128): ReturnType<typeof i32.add> {
  return [1, 2, 3].reduce((total, lane) => i32.add(total, i32x4.extract(lanes, lane)), i32x4.extract(lanes, 0));
}

/** The negated sums of even and of odd lanes of eight i16, in the first two lanes. */
function biasOf(f: FunctionBuilder, pairs: Local<"v128">): Local<"v128"> {
  const halves = f.let(i16x8.add(pairs, f32x4.shuffle(pairs, pairs, [2, 3, 0, 1])));
  return f.let(i16x8.sub(v128.zero(), i16x8.add(halves, f32x4.shuffle(halves, halves, [1, 0, 3, 2]))));
}
