import { type FunctionBuilder, f32x4, i16x8, i32x4, type Local, relaxed, type V128, v128 } from "../emit/index.ts";
import { activationBlocks } from "./activations.ts";
import { loadHalves } from "./half.ts";
import type { FormatName } from "./index.ts";

/** One group of eight interleaved blocks against the activation blocks of some tokens; relaxed SIMD only. */
export interface GroupOperands {
  readonly group: Local<"i32">;
  readonly activations: readonly Local<"i32">[];
  /** Per token, the sums of rows 0 to 3 and 4 to 7. */
  readonly accumulators: readonly (readonly [Local<"v128">, Local<"v128">])[];
}

type GroupDot = (f: FunctionBuilder, operands: GroupOperands) => void;

/** The vectors of a group: rows 0 to 3 and rows 4 to 7, in every unit. */
const halves = [0, 1] as const;
type Pair = readonly [Local<"v128">, Local<"v128">];

const { q8_0, q8_K } = activationBlocks;

/** How each format adds a group's products; blocks lie as `blockFields` tells. */
export const groupDots: Readonly<Record<FormatName, GroupDot>> = {
  q4_0(f, { group, activations, accumulators }) {
    const sums = biasedSums(f, activations, 3);
    const [low, high, x] = [pair(f), pair(f), f.local("v128")];
    for (let j = 0; j < 4; j++) {
      for (const half of halves) {
        f.set(high[half], v128.load(group, 16 + 32 * j + 16 * half));
        f.set(low[half], v128.and(high[half], f.splatBits(0x0f0f0f0f)));
        f.set(high[half], v128.and(i16x8.shrU(high[half], 4), f.splatBits(0x0f0f0f0f)));
      }
      addBytes(f, x, activations, 4 * j, low, sums);
      addBytes(f, x, activations, 16 + 4 * j, high, sums);
    }
    scaleSums(f, { group, activations, accumulators }, sums, 0, q8_0.d);
  },
  q5_0(f, { group, activations, accumulators }) {
    const sums = biasedSums(f, activations, 4);
    const [low, high, fifths, x] = [pair(f), pair(f), pair(f), f.local("v128")];
    /** Bit `j` of each byte as bit 4. */
    const fifth = (half: 0 | 1, j: number): V128 => {
      const bits = j <= 4 ? i32x4.shl(fifths[half], 4 - j) : i32x4.shrU(fifths[half], j - 4);
      return v128.and(bits, f.splatBits(0x10101010));
    };
    for (const half of halves) f.set(fifths[half], v128.load(group, 16 + 16 * half));
    for (let j = 0; j < 4; j++) {
      for (const half of halves) {
        f.set(high[half], v128.load(group, 48 + 32 * j + 16 * half));
        f.set(low[half], v128.or(v128.and(high[half], f.splatBits(0x0f0f0f0f)), fifth(half, j)));
        f.set(high[half], v128.or(v128.and(i16x8.shrU(high[half], 4), f.splatBits(0x0f0f0f0f)), fifth(half, j + 4)));
      }
      addBytes(f, x, activations, 4 * j, low, sums);
      addBytes(f, x, activations, 16 + 4 * j, high, sums);
    }
    scaleSums(f, { group, activations, accumulators }, sums, 0, q8_0.d);
  },
  q8_0(f, { group, activations, accumulators }) {
    // Both operands have all 8 bits: the activations come as two unsigned parts, what is above 0 less what is below.
    const sums = activations.map(() => pair(f));
    const below = activations.map(() => pair(f));
    const [weights, x] = [pair(f), f.local("v128")];
    // Four tokens with both halves at once would need more registers than there are.
    for (const some of activations.length > 2 ? ([[0], [1]] as const) : ([halves] as const)) {
      for (let j = 0; j < 8; j++) {
        for (const half of some) f.set(weights[half], v128.load(group, 16 + 32 * j + 16 * half));
        for (const [totals, offset] of [
          [sums, activationBlocks.q8_0Split.positive],
          [below, activationBlocks.q8_0Split.negative],
        ] as const) {
          activations.forEach((a, token) => {
            f.set(x, v128.load32Splat(a, offset + 4 * j));
            for (const half of some) {
              const total = totals[token]![half];
              f.set(total, relaxed.dotI8x16I7x16Add(weights[half], x, j === 0 ? v128.zero() : total));
            }
          });
        }
      }
      sums.forEach((sum, token) => {
        for (const half of some) f.set(sum[half], i32x4.sub(sum[half], below[token]![half]));
      });
    }
    scaleSums(f, { group, activations, accumulators }, sums, 0, activationBlocks.q8_0Split.d);
  },
  q4_K(f, { group, activations, accumulators }) {
    const [sums, totals] = [activations.map(() => pair(f)), activations.map(() => pair(f))];
    const [weights, x] = [pair(f), f.local("v128")];
    const words = halves.map((half) => [0, 1, 2].map((word) => f.let(v128.load(group, 32 + 32 * word + 16 * half))));
    const upper = (word: Local<"v128">): V128 => i32x4.shl(v128.and(i32x4.shrU(word, 6), f.splatBits(0x03030303)), 4);
    const scales = words.map(([first, , third]) => [
      f.let(v128.and(first!, f.splatBits(0x3f3f3f3f))),
      f.let(v128.or(v128.and(third!, f.splatBits(0x0f0f0f0f)), upper(first!))),
    ]);
    const scale = f.local("v128");
    for (let block = 0; block < 8; block++) {
      for (let j = 0; j < 8; j++) {
        for (const half of halves) {
          const bytes = v128.load(group, 128 + 32 * (8 * (block >> 1) + j) + 16 * half);
          f.set(weights[half], v128.and(block % 2 === 0 ? bytes : i16x8.shrU(bytes, 4), f.splatBits(0x0f0f0f0f)));
        }
        addBytes(f, x, activations, 32 * block + 4 * j, weights, sums, j === 0);
      }
      for (const half of halves) {
        f.set(scale, v128.and(i32x4.shrU(scales[half]![block >> 2]!, 8 * (block & 3)), f.splatBits(255)));
        sums.forEach((sum, token) => void addScaled(f, totals[token]![half], sum[half], scale, block === 0));
      }
    }
    scaleSums(f, { group, activations, accumulators }, totals, 0, q8_K.d);
    for (const half of halves) {
      const [, second, third] = words[half]!;
      const minima = [
        f.let(v128.and(second!, f.splatBits(0x3f3f3f3f))),
        f.let(v128.or(v128.and(i32x4.shrU(third!, 4), f.splatBits(0x0f0f0f0f)), upper(second!))),
      ];
      // Bytes 0 and 2 of each word, then bytes 1 and 3: the order of the sums in `sumPairs`.
      const pairs = minima.flatMap((word) => [f.let(v128.and(word, f.splatBits(0x00ff00ff))), f.let(i16x8.shrU(word, 8))]);
      totals.forEach((total, token) => {
        const products = pairs.map((minimum, i) => i32x4.dotI16x8(minimum, v128.load32Splat(activations[token]!, q8_K.sumPairs + 4 * i)));
        f.set(total[half], i32x4.neg(products.reduce((sum, product) => i32x4.add(sum, product))));
      });
    }
    scaleSums(f, { group, activations, accumulators }, totals, 16, q8_K.d);
  },
  q6_K(f, { group, activations, accumulators }) {
    const [sums, totals] = [activations.map(() => pair(f)), activations.map(() => pair(f))];
    const [weights, scales, x, scale] = [pair(f), pair(f), f.local("v128"), f.local("v128")];
    for (let run = 0; run < 16; run++) {
      const [part, quarter, first] = [run >> 3, (run >> 1) & 3, 4 * (run & 1)];
      // Weights stay unsigned; what that adds is 32 times the sum of the activations.
      sums.forEach((sum, token) => {
        for (const half of halves) f.set(sum[half], v128.load32Splat(activations[token]!, q8_K.minus32Sums + 4 * run));
      });
      for (let j = first; j < first + 4; j++) {
        for (const half of halves) {
          const low = v128.load(group, 32 * (16 * part + 8 * (quarter & 1) + j) + 16 * half);
          const high = v128.load(group, 1024 + 32 * (8 * part + j) + 16 * half);
          const nibbles = v128.and(quarter < 2 ? low : i16x8.shrU(low, 4), f.splatBits(0x0f0f0f0f));
          const place = quarter < 2 ? i16x8.shl(high, 4 - 2 * quarter) : quarter === 2 ? high : i16x8.shrU(high, 2);
          f.set(weights[half], v128.or(nibbles, v128.and(place, f.splatBits(0x30303030))));
        }
        addBytes(f, x, activations, 128 * part + 32 * quarter + 4 * j, weights, sums);
      }
      for (const half of halves) {
        if (run % 4 === 0) f.set(scales[half], v128.load(group, 1536 + 8 * run + 16 * half));
        f.set(scale, i32x4.shrS(i32x4.shl(scales[half], 24 - 8 * (run & 3)), 24));
        sums.forEach((sum, token) => void addScaled(f, totals[token]![half], sum[half], scale, run === 0));
      }
    }
    scaleSums(f, { group, activations, accumulators }, totals, 1664, q8_K.d);
  },
};

function pair(f: FunctionBuilder): Pair {
  return [f.local("v128"), f.local("v128")];
}

/** Sums that start at `-(sum of the activations) << shift`, which makes up for weights that are not negative. */
function biasedSums(f: FunctionBuilder, activations: readonly Local<"i32">[], shift: number): readonly Pair[] {
  return activations.map((a) => {
    const bias = f.let(i32x4.shl(v128.load32Splat(a, q8_0.minusSum), shift));
    return [bias, f.let(bias)];
  });
}

/** Adds to each row the products of its four weights (0 to 127) with four activations of each token. */
function addBytes(
  f: FunctionBuilder,
  x: Local<"v128">,
  activations: readonly Local<"i32">[],
  offset: number,
  weights: Pair,
  sums: readonly Pair[],
  isFirst = false,
): void {
  activations.forEach((a, token) => {
    f.set(x, v128.load32Splat(a, offset));
    for (const half of halves) {
      const sum = sums[token]![half];
      f.set(sum, relaxed.dotI8x16I7x16Add(x, weights[half], isFirst ? v128.zero() : sum));
    }
  });
}

function addScaled(f: FunctionBuilder, total: Local<"v128">, sum: V128, scale: V128, isFirst: boolean): void {
  const product = i32x4.mul(sum, scale);
  f.set(total, isFirst ? product : i32x4.add(total, product));
}

/** Adds integer sums times the rows' scales (eight halves at `scalesAt`) times the tokens' scales to the accumulators. */
function scaleSums(
  f: FunctionBuilder,
  { group, activations, accumulators }: GroupOperands,
  sums: readonly Pair[],
  scalesAt: number,
  activationScale: number,
): void {
  for (const half of halves) {
    const d = loadHalves(f, group, scalesAt + 8 * half);
    activations.forEach((a, token) => {
      const scale = f32x4.mul(d, v128.load32Splat(a, activationScale));
      const accumulator = accumulators[token]![half];
      f.set(accumulator, relaxed.madd(f32x4.fromI32x4(sums[token]![half]), scale, accumulator));
    });
  }
}
