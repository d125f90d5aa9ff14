import {
  type Expr,
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
import type { GroupFormat } from "../formats/format.ts";
import { toHalves, widenHalves } from "../formats/half.ts";
import { inPairs, zip } from "../kernels/shared/zip.ts";
import { largestLane } from "../matmul/lanes.ts";
import type { Target } from "../target.ts";

/**
 * How activations are rounded before they are multiplied with block weights, as in ggml's x86 code: blocks of 32 with
 * an f16 scale, or blocks of 256 with an f32 scale. `q8_Kx32` is the latter in blocks of 32 that share a scale.
 */
export type ActivationRounding = "q8_0" | "q8_K" | "q8_Kx32";

/**
 * Layout of the rounded values for the dot products that read them. "bytes": signed bytes. "split": two bytes each, the
 * positive and the negative part. "wide": 16 bits, with the first and third of four values before the other two.
 */
export type Lanes = "bytes" | "split" | "wide";

/**
 * A block of one token, in 32-bit words; offsets are in bytes. Blocks of tokens that share weights are interleaved by
 * words (`wordAt`), so that one pointer reaches all of them.
 */
export interface ActivationLayout {
  readonly rounding: ActivationRounding;
  readonly lanes: Lanes;
  /** Elements of a block. */
  readonly elements: 32 | 256;
  readonly bytes: number;
  /** Offset of the negative parts, if values are split. */
  readonly negative: number;
  /** f32 scale. */
  readonly d: number;
  /**
   * For blocks of 32: the negated sum of the values as i32, and their scaled sum as f32, rounded to f16 like that of
   * ggml's q8_1.
   */
  readonly minusSum: number;
  readonly sum: number;
  /** For blocks of 256: sums of 16 and of 32 values as i16, in the order 0 2, 1 3, 4 6, 5 7, …. */
  readonly sums16: number;
  readonly sums32: number;
  /**
   * For bytes: per 16 values, or per 32 in blocks of 32, the negated sums of values 0, 1, 4, 5, … and 2, 3, 6, 7, … as
   * two i16.
   */
  readonly biases: number;
}

/** Offset of the word at `offset` of a token's block among the interleaved blocks of `tokens` tokens. */
export function wordAt(offset: number, token: number, tokens: number): number {
  return offset * tokens + 4 * token;
}

/** Bytes of `n` activations for each of `tokens` tokens. */
export function tileBytes({ elements, bytes }: ActivationLayout, n: number, tokens: number): number {
  return wordAt((n / elements) * bytes, 0, tokens);
}

/** Name of a layout in names of functions. */
export function activationName({ rounding, lanes }: ActivationLayout): string {
  return `${rounding}.${lanes}`;
}

export function activationLayout(rounding: ActivationRounding, lanes: Lanes): ActivationLayout {
  const elements = rounding === "q8_K" ? 256 : 32;
  const values = lanes === "bytes" ? elements : 2 * elements;
  const common = { rounding, lanes, elements, negative: elements, d: values } as const;
  return elements === 32
    ? { ...common, minusSum: values + 4, sum: values + 8, sums16: 0, sums32: 0, biases: values + 12, bytes: values + 16 }
    : { ...common, minusSum: 0, sum: 0, sums16: values + 4, sums32: values + 36, biases: values + 52, bytes: values + 116 };
}

/**
 * The values that a format's dot products read. If several tokens share signed weights, 16 bits each; for a single
 * token, two byte products take fewer instructions.
 */
export function lanesFor({ largestCode }: Pick<GroupFormat, "largestCode">, { dots }: Target, tokens: number): Lanes {
  if (dots === "wide") return "wide";
  if (largestCode !== undefined) return "bytes";
  return dots !== "pairs" || tokens === 1 ? "split" : "wide";
}

/**
 * Emits `round.<layout>(from, to, blocks)`, which packs rows of f32 to blocks (of 256 for q8_K roundings), and
 * `roundTiles.<layout>(from, to, blocks, tokens, tiles)`, which packs `tiles * tokens` rows with the blocks of a tile
 * interleaved.
 */
export function emitActivations(module: ModuleBuilder, target: Target): void {
  for (const [tokens, emit] of [
    [1, emitRound],
    [2, emitRoundTiles],
  ] as const) {
    const used = new Set([127, undefined].map((largestCode) => lanesFor({ largestCode }, target, tokens)));
    for (const lanes of used) {
      emit(module, activationLayout("q8_0", lanes), round32);
      emit(module, activationLayout("q8_K", lanes), round256);
      if (lanes !== "bytes") emit(module, activationLayout("q8_Kx32", lanes), round256);
    }
  }
}

/** Writes words of a block. */
interface BlockWriter {
  /** Stores the four words of a vector. */
  words(offset: number, vector: Local<"v128">): void;
  /** Stores one word of a vector. */
  lane(offset: number, vector: Local<"v128">, lane: number): void;
  word(offset: number, value: Expr<"i32">): void;
}

type Round = (f: FunctionBuilder, layout: ActivationLayout, from: Local<"i32">, writer: BlockWriter) => void;

/** Elements that are rounded together, and their bytes. */
function roundedBlock({ rounding, elements, bytes }: ActivationLayout): { readonly elements: number; readonly bytes: number } {
  const rounded = rounding === "q8_0" ? 32 : 256;
  return { elements: rounded, bytes: (rounded / elements) * bytes };
}

function emitRound(module: ModuleBuilder, layout: ActivationLayout, round: Round): void {
  const { elements, bytes } = roundedBlock(layout);
  module.function(`round.${activationName(layout)}`, { from: "i32", to: "i32", blocks: "i32" }, (f, { from, to, blocks }) => {
    f.while(blocks, () => {
      round(f, layout, from, {
        words: (offset, vector) => f.store(to, vector, offset),
        lane: (offset, vector, lane) => f.store32Lane(to, vector, lane, offset),
        word: (offset, value) => f.store(to, value, offset),
      });
      f.advance(from, 4 * elements);
      f.advance(to, bytes);
      f.advance(blocks, -1);
    });
  });
}

function emitRoundTiles(module: ModuleBuilder, layout: ActivationLayout, round: Round): void {
  const { elements, bytes } = roundedBlock(layout);
  const signature = { from: "i32", to: "i32", blocks: "i32", tokens: "i32", tiles: "i32" } as const;
  module.function(`roundTiles.${activationName(layout)}`, signature, (f, { from, to, blocks, tokens, tiles }) => {
    const [at, left, token] = f.locals("i32", 3);
    const step = f.let(i32.shl(tokens, 2));
    const blockBytes = f.let(i32.mul(tokens, bytes));
    const place = (offset: number): I32 => i32.add(at, i32.mul(step, offset / 4));
    const lane = (offset: number, vector: Local<"v128">, index: number): void => f.store32Lane(place(offset), vector, index);
    f.while(tiles, () => {
      f.set(token, i32.const(0));
      f.while(i32.ltU(token, tokens), () => {
        f.set(at, i32.add(to, i32.shl(token, 2)));
        f.set(left, blocks);
        f.while(left, () => {
          round(f, layout, from, {
            words: (offset, vector) => [0, 1, 2, 3].forEach((index) => void lane(offset + 4 * index, vector, index)),
            lane,
            word: (offset, value) => f.store(place(offset), value),
          });
          f.advance(from, 4 * elements);
          f.advance(at, blockBytes);
          f.advance(left, -1);
        });
        f.advance(token, 1);
      });
      f.advance(to, i32.mul(blocks, blockBytes));
      f.advance(tiles, -1);
    });
  });
}

function round32(f: FunctionBuilder, layout: ActivationLayout, from: Local<"i32">, writer: BlockWriter): void {
  const largest = largestLane(f, largestMagnitude(f, from, 32));
  const inverse = f.let(v128.andnot(f32x4.div(f.splat(127), largest), f32x4.eq(largest, v128.zero())));
  const [low, high] = [round16(f, from, 0, inverse), round16(f, from, 64, inverse)];
  storeValues(f, layout, writer, 0, 0, low);
  storeValues(f, layout, writer, 0, 16, high);
  const pairs = f.let(i16x8.add(i16x8.extaddPairwiseS(low), i16x8.extaddPairwiseS(high)));
  const sum = f.let(sumOfLanes(f.let(i32x4.extaddPairwiseS(pairs))));
  if (layout.lanes === "bytes") writer.lane(layout.biases, biasOf(f, pairs), 0);
  const scale = f.let(f32x4.div(largest, f.splat(127)));
  const rounded = toHalves(f, f32x4.mul(scale, f32x4.fromI32x4(i32x4.replace(f.splatBits(1), 1, sum))));
  const widened = widenHalves(f, rounded);
  writer.lane(layout.d, widened, 0);
  writer.lane(layout.sum, widened, 1);
  writer.word(layout.minusSum, i32.sub(0, sum));
}

function round256(f: FunctionBuilder, layout: ActivationLayout, from: Local<"i32">, writer: BlockWriter): void {
  const { bytes, sums16, sums32, d } = layout;
  const largest = largestLane(f, largestMagnitude(f, from, 256));
  const [at, mask] = f.locals("i32", 2);
  const sums: Expr<"i32">[] = [];
  // The first value of the largest magnitude gives the scale its sign. NaN equals nothing, so stop at the end.
  f.set(at, from);
  f.loop((again) => {
    f.set(mask, i32x4.bitmask(f32x4.eq(f32x4.abs(v128.load(at)), largest)));
    f.advance(at, 16);
    f.brIf(again, i32.and(i32.eqz(mask), i32.ltU(i32.sub(at, from), 1024)));
  });
  const m = f.let(v128.load32Splat(i32.add(i32.sub(at, 16), i32.shl(i32.and(i32.ctz(i32.or(mask, 8)), 3), 2))));
  const isZero = f.let(f32x4.eq(largest, v128.zero()));
  const inverse = f.let(v128.andnot(f32x4.div(f.splat(-127), m), isZero));
  for (let run = 0; run < 16; run++) {
    const q = round16(f, from, 64 * run, inverse);
    const block = layout.elements === 32 ? bytes * (run >> 1) : 0;
    storeValues(f, layout, writer, block, 16 * (layout.elements === 32 ? run & 1 : run), q);
    if (layout.elements === 32) continue;
    const pairs = f.let(i16x8.extaddPairwiseS(q));
    if (layout.lanes === "bytes") writer.lane(layout.biases + 4 * run, biasOf(f, pairs), 0);
    sums.push(f.let(sumOfLanes(f.let(i32x4.extaddPairwiseS(pairs)))));
  }
  if (sums.length > 0) {
    storeSums(writer, sums16, sums);
    storeSums(
      writer,
      sums32,
      inPairs(sums).map(([a, b]) => f.let(i32.add(a, b))),
    );
  }
  const scale = f.let(v128.andnot(f32x4.div(f.splat(1), inverse), isZero));
  for (let block = 0; block < 256 / layout.elements; block++) writer.lane(d + block * bytes, scale, 0);
}

/** Stores sums as i16 in the order 0 2, 1 3, 4 6, 5 7, …. */
function storeSums(writer: BlockWriter, at: number, sums: readonly Expr<"i32">[]): void {
  const words = inPairs(inPairs(sums)).flatMap(([first, second]) => zip(first, second));
  for (const [word, [low, high]] of words.entries()) {
    writer.word(at + 4 * word, i32.or(i32.and(low, 0xffff), i32.shl(high, 16)));
  }
}

/** Stores 16 values from element `at` of the block at offset `block`. */
function storeValues(
  f: FunctionBuilder,
  { lanes, negative }: ActivationLayout,
  writer: BlockWriter,
  block: number,
  at: number,
  q: Local<"v128">,
): void {
  const storeWords = (words: Local<"v128">, offset: number): void => writer.words(block + offset, words);
  if (lanes === "bytes") storeWords(q, at);
  else if (lanes === "split") {
    storeWords(f.let(i8x16.maxS(q, v128.zero())), at);
    storeWords(f.let(i8x16.maxS(i8x16.sub(v128.zero(), q), v128.zero())), negative + at);
  } else {
    const order = [0, 2, 1, 3, 4, 6, 5, 7].flatMap((lane) => [2 * lane, 2 * lane + 1]);
    [i16x8.extendLowS(q), i16x8.extendHighS(q)].forEach((values, half) => {
      const x = f.let(values);
      storeWords(f.let(i8x16.shuffle(x, x, order)), 2 * at + 16 * half);
    });
  }
}

function largestMagnitude(f: FunctionBuilder, from: Local<"i32">, count: number): Local<"v128"> {
  const largest = f.let(f32x4.abs(v128.load(from)));
  for (let at = 4; at < count; at += 4) f.set(largest, f32x4.pmax(largest, f32x4.abs(v128.load(from, 4 * at))));
  return largest;
}

/** `round(x * inverse)` of 16 values, ties to even, saturated to i8. Saturation implements ggml's minimum of 127. */
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

/** Negated sums of the even and the odd lanes of eight i16, in the first two lanes. */
function biasOf(f: FunctionBuilder, pairs: Local<"v128">): Local<"v128"> {
  const halves = f.let(i16x8.add(pairs, f32x4.shuffle(pairs, pairs, [2, 3, 0, 1])));
  return f.let(i16x8.sub(v128.zero(), i16x8.add(halves, f32x4.shuffle(halves, halves, [1, 0, 3, 2]))));
}
