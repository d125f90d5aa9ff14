import { mapTuple, tupleOf } from "@centella/core/backend";
import { type BlockType, type RecodedForm, recodedForm } from "@centella/quant";
import { Block, centred, doubled, levels, signExtended } from "./blocks.ts";
import { deviceBlock } from "./deviceForm.ts";
import type { BlockBytes, Emitter, F32, U32 } from "./emitter.ts";

/** Weights of a {@link Unit}. */
export const unitWeights = 32;

/**
 * 32 neighbouring weights of a block as 8-bit codes. Weight `i` is `scale * code + offset`; each scale and each offset holds for an equal
 * share of the weights, in order.
 */
export interface Unit {
  /** Eight words of four signed bytes each, the first code in the lowest byte. */
  readonly words: readonly U32[];
  /** One scale, or one for each half of the unit. */
  readonly scales: readonly F32[];
  /** As many as scales; undefined where all are 0. */
  readonly offsets?: readonly F32[];
}

/** Reads whole words of a block as well. */
export interface BlockWords extends BlockBytes {
  /** `count` words from byte `at` on. In blocks of a multiple of 16 bytes, `at` is a multiple of 16 and `count` one of 4. */
  words(at: U32 | number, count: number): readonly U32[];
}

/** A {@link Unit} of a row. */
export interface PlacedUnit extends Unit {
  /** Number of the unit in the row. */
  readonly index: U32;
}

/** A step of a row that is read a few units at a time. */
export interface StepPlace {
  /** Number of the row's first step among those of all rows. */
  readonly first: U32;
  /** Number of the step in the row. */
  readonly step: U32;
}

/** A block that is read unit by unit. */
class UnitBlock extends Block {
  readonly #words: BlockWords["words"];

  constructor(k: Emitter, bytes: BlockWords) {
    super(k, bytes);
    this.#words = (at, count) => bytes.words(at, count);
  }

  words(at: U32 | number, count: number): readonly U32[] {
    return this.#words(at, count);
  }

  /** Four codes of `bits` bits per word, all of them shifted by `shift` bits in their bytes. */
  codes(words: readonly U32[], shift: U32 | number, bits: number): readonly U32[] {
    const { k } = this;
    const mask = (2 ** bits - 1) * 0x01010101;
    return words.map((word) => k.and(shift === 0 ? word : k.shiftRight(word, shift), mask));
  }

  /** The low nibbles of the words, then the high ones. */
  nibbles(words: readonly U32[]): readonly U32[] {
    return [...this.codes(words, 0, 4), ...this.codes(words, 4, 4)];
  }

  /** Adds higher bits to codes: word by word, `high` is shifted to bit `shift` of its bytes. */
  joined(low: readonly U32[], high: readonly U32[], shift: number): readonly U32[] {
    const { k } = this;
    return low.map((word, i) => {
      const bits = high[i];
      return bits === undefined ? word : k.or(word, k.shiftLeft(bits, shift));
    });
  }

  /** Bit `i` of a mask of 32 as the lowest bit of byte `i` of eight words. */
  spread(mask: U32): readonly U32[] {
    const { k } = this;
    return Array.from({ length: unitWeights / 4 }, (_, i) => {
      const four = k.and(i === 0 ? mask : k.shiftRight(mask, 4 * i), 15);
      // Copies of the four bits start at bits 0, 7, 14 and 21, which brings bit i to bit 8 i.
      return k.and(k.mul(four, 0x00204081), 0x01010101);
    });
  }

  /** Codes replaced by their levels, whole numbers of 8 bits with a sign. */
  leveled(codes: readonly U32[], table: readonly number[]): readonly U32[] {
    const { k } = this;
    const level = (word: U32, byte: number): U32 => {
      const code = k.and(byte === 0 ? word : k.shiftRight(word, 8 * byte), 15);
      return k.and(k.bitcast("u32", k.convert("i32", k.lookUp(table, code))), 0xff);
    };
    return codes.map((word) =>
      [0, 1, 2, 3].map((byte) => k.shiftLeft(level(word, byte), 8 * byte)).reduce((all, shifted) => k.or(all, shifted)),
    );
  }

  /** Scales with one offset for all codes. */
  centre(scales: readonly F32[], bias: number): Pick<Unit, "scales" | "offsets"> {
    return { scales, offsets: scales.map((scale) => this.k.mul(scale, -bias)) };
  }

  /** Factor of scale `value`, a whole number. */
  times(d: F32, value: U32): F32 {
    return this.k.mul(d, this.k.convert("f32", value));
  }

  /** One value for each half of a unit; `at` is the number of the half in the block. */
  halves<T>(unit: U32, value: (at: U32) => T): readonly T[] {
    const { k } = this;
    const first = k.shiftLeft(unit, 1);
    return [value(first), value(k.add(first, 1))];
  }
}

/** Reads unit `unit` of a block. */
type UnitReader = (block: UnitBlock, unit: U32) => Unit;

/** Reads two units of a block whose codes are nibbles of the same 32 bytes: those from `32 * pair` on in their array. */
interface PairReader {
  /** Base-2 logarithm of the distance between the numbers of the two units. */
  readonly distance: 0 | 1;
  /** Reads what both units share, then returns the unit of each half: 0 for low nibbles, 1 for high ones. */
  readonly read: (block: UnitBlock, pair: U32) => (half: U32 | 0 | 1, unit: U32) => Unit;
}

/** Bits to shift by for the codes of a half. */
function shiftOf(k: Emitter, half: U32 | number, bits: number): U32 | number {
  return typeof half === "number" ? half * bits : k.mul(half, bits);
}

/** Scales and offsets of a pair of units of q4_K and q5_K, from the first 16 bytes of the block: both units' are decoded at once. */
function affine(block: UnitBlock, pair: U32): (half: U32 | number) => Required<Pick<Unit, "scales" | "offsets">> {
  const { k } = block;
  const [first, ...packed] = tupleOf(block.words(0, 4), 4);
  const [d, dmin] = [k.fromHalf(k.and(first, 0xffff)), k.fromHalf(k.shiftRight(first, 16))];
  const place = k.shiftLeft(k.and(pair, 1), 4);
  const [scales, minima] = block.sixBits(
    k.shiftLeft(pair, 1),
    mapTuple(packed, (word) => k.shiftRight(word, place)),
  );
  return (half) => {
    const of = (bytes: U32): U32 => k.and(half === 0 ? bytes : k.shiftRight(bytes, shiftOf(k, half, 8)), 63);
    return { scales: [block.times(d, of(scales))], offsets: [k.neg(block.times(dmin, of(minima)))] };
  };
}

/** The 32 bytes of each pair of units whose codes are their nibbles, from byte `at` on. */
function sharedNibbles(block: UnitBlock, pair: U32, at: number): readonly U32[] {
  return block.words(block.k.add(block.k.shiftLeft(pair, 5), at), 8);
}

/** Bit pairs of 32 bytes for every four units, from byte `at` on. */
function bitPairs(block: UnitBlock, unit: U32, at: number): readonly U32[] {
  const { k } = block;
  const from = k.add(k.shiftLeft(k.shiftRight(unit, 2), 5), at);
  return block.codes(block.words(from, 8), k.shiftLeft(k.and(unit, 3), 1), 2);
}

const ternary: UnitReader = (block, unit) => ({ words: bitPairs(block, unit, 0), ...block.centre([block.half(64)], 1) });

/** Reads blocks that quant's `recode` wrote from a codebook type. */
function recodedReader(form: RecodedForm): UnitReader {
  const { groupSize, levels: values = [] } = form.layout;
  return (block, unit) => {
    const words = block.leveled(block.nibbles(block.words(block.k.shiftLeft(unit, 4), 4)), values);
    const scale = (group: U32): F32 => block.recodedScale(form, group);
    return { words, scales: groupSize === unitWeights ? [scale(unit)] : block.halves(unit, scale) };
  };
}

const readers: Readonly<Partial<Record<BlockType, UnitReader>>> = {
  q1_0: (block, unit) => {
    const { k } = block;
    const [mask] = tupleOf(block.words(k.add(k.shiftLeft(unit, 2), 2), 1), 1);
    const d = block.half(0);
    return { words: block.spread(mask), scales: [k.mul(d, 2)], offsets: [k.neg(d)] };
  },
  q2_0: (block, unit) => {
    const { k } = block;
    // The pairs of a byte become the lowest bits of the bytes of a word.
    const spread = (byte: U32): U32 => {
      const nibbles = k.and(k.or(byte, k.shiftLeft(byte, 12)), 0x000f000f);
      return k.and(k.or(nibbles, k.shiftLeft(nibbles, 6)), 0x03030303);
    };
    const packed = block.words(k.add(k.shiftLeft(unit, 3), 2), 2);
    const words = packed.flatMap((word) =>
      [0, 8, 16, 24].map((shift) => spread(k.and(shift === 0 ? word : k.shiftRight(word, shift), 0xff))),
    );
    return { words, ...block.centre([block.half(0)], 1) };
  },
  q4_0: (block) => ({ words: block.nibbles(block.words(2, 4)), ...block.centre([block.half(0)], 8) }),
  q4_1: (block) => ({ words: block.nibbles(block.words(4, 4)), scales: [block.half(0)], offsets: [block.half(2)] }),
  q5_0: (block) => {
    const [mask, ...low] = tupleOf(block.words(2, 5), 5);
    return { words: block.joined(block.nibbles(low), block.spread(mask), 4), ...block.centre([block.half(0)], 16) };
  },
  q5_1: (block) => {
    const [mask, ...low] = tupleOf(block.words(4, 5), 5);
    return { words: block.joined(block.nibbles(low), block.spread(mask), 4), scales: [block.half(0)], offsets: [block.half(2)] };
  },
  q8_0: (block) => ({ words: block.words(2, 8), scales: [block.half(0)] }),
  q8_1: (block) => ({ words: block.words(4, 8), scales: [block.half(0)] }),
  q8_K: (block, unit) => {
    const { k } = block;
    const [d] = tupleOf(block.words(0, 1), 1);
    return { words: block.words(k.add(k.shiftLeft(unit, 5), 4), 8), scales: [k.bitcast("f32", d)] };
  },
  tq1_0: ternary,
  tq2_0: ternary,
  nvfp4: (block, unit) => {
    const [first, second, third, fourth] = tupleOf(block.words(block.k.add(block.k.shiftLeft(unit, 4), 4), 4), 4);
    const codes = [...block.nibbles([first, second]), ...block.nibbles([third, fourth])];
    return { words: block.leveled(codes, doubled), scales: block.halves(unit, (at) => block.halvedFloat(at)) };
  },
  iq4_nl: (block) => ({ words: block.leveled(block.nibbles(block.words(2, 4)), levels), scales: [block.half(0)] }),
  mxfp4: (block) => {
    const { k } = block;
    // 2^(e - 128) in two factors, of which only the product may be denormal.
    const e = block.byte(0);
    const half = k.shiftRight(e, 1);
    const power = (exponent: U32): F32 => k.bitcast("f32", k.shiftLeft(k.add(exponent, 63), 23));
    const scale = k.mul(power(half), power(k.sub(e, half)));
    return { words: block.leveled(block.nibbles(block.words(1, 4)), doubled), scales: [scale] };
  },
  q2_K: (block, unit) => {
    const { k } = block;
    const [d, dmin] = [block.half(80), block.half(82)];
    const bytes = block.halves(unit, (at) => block.byte(at));
    return {
      words: bitPairs(block, unit, 16),
      scales: bytes.map((byte) => block.times(d, k.and(byte, 15))),
      offsets: bytes.map((byte) => k.neg(block.times(dmin, k.shiftRight(byte, 4)))),
    };
  },
  q3_K: (block, unit) => {
    const { k } = block;
    const d = block.half(108);
    const scales = block.halves(unit, (at) => {
      const low = k.and(k.shiftRight(block.byte(k.add(k.and(at, 7), 96)), k.shiftLeft(k.shiftRight(at, 3), 2)), 15);
      const high = k.and(k.shiftRight(block.byte(k.add(k.and(at, 3), 104)), k.shiftLeft(k.shiftRight(at, 2), 1)), 3);
      return centred(k, d, k.or(low, k.shiftLeft(high, 4)), 32);
    });
    const third = block.codes(block.words(0, 8), unit, 1);
    return { words: block.joined(bitPairs(block, unit, 32), third, 2), ...block.centre(scales, 4) };
  },
  iq4_xs: (block, unit) => {
    const { k } = block;
    const low = k.and(k.shiftRight(block.byte(k.add(k.shiftRight(unit, 1), 4)), k.shiftLeft(k.and(unit, 1), 2)), 15);
    const high = k.and(k.shiftRight(block.byte(k.add(k.shiftRight(unit, 2), 2)), k.shiftLeft(k.and(unit, 3), 1)), 3);
    const scale = centred(k, block.half(0), k.or(low, k.shiftLeft(high, 4)), 32);
    const codes = block.nibbles(block.words(k.add(k.shiftLeft(unit, 4), 8), 4));
    return { words: block.leveled(codes, levels), scales: [scale] };
  },
};

const pairReaders: Readonly<Partial<Record<BlockType, PairReader>>> = {
  q4_K: {
    distance: 0,
    read: (block, pair) => {
      const [scales, nibbles] = [affine(block, pair), sharedNibbles(block, pair, 16)];
      return (half) => ({ words: block.codes(nibbles, shiftOf(block.k, half, 4), 4), ...scales(half) });
    },
  },
  q5_K: {
    distance: 0,
    read: (block, pair) => {
      const [scales, nibbles, fifths] = [affine(block, pair), sharedNibbles(block, pair, 48), block.words(16, 8)];
      return (half, unit) => {
        const low = block.codes(nibbles, shiftOf(block.k, half, 4), 4);
        return { words: block.joined(low, block.codes(fifths, unit, 1), 4), ...scales(half) };
      };
    },
  },
  q6_K: {
    distance: 1,
    read: (block, pair) => {
      const { k } = block;
      const d = block.half(208);
      const part = k.shiftRight(pair, 1);
      const lowest = sharedNibbles(block, pair, 0);
      const highest = block.words(k.add(k.shiftLeft(part, 5), 128), 8);
      // A word has the scales of two neighbouring units, of which one is in this pair.
      const [first, second, third, fourth] = tupleOf(block.words(192, 4), 4);
      const isUpper = k.compare("ne", part, 0);
      const scaleWords = [k.select(isUpper, third, first), k.select(isUpper, fourth, second)] as const;
      return (half, unit) => {
        const low = block.codes(lowest, shiftOf(k, half, 4), 4);
        const high = block.codes(highest, k.shiftLeft(k.and(unit, 3), 1), 2);
        const word = typeof half === "number" ? scaleWords[half] : k.select(k.compare("ne", half, 0), scaleWords[1], scaleWords[0]);
        const own = k.shiftRight(word, k.shiftLeft(k.and(unit, 1), 4));
        const scales = [own, k.shiftRight(own, 8)].map((byte) => k.mul(d, k.convert("f32", signExtended(k, k.and(byte, 0xff)))));
        return { words: block.joined(low, high, 4), ...block.centre(scales, 32) };
      };
    },
  },
};

type BlockAt = (index: U32, bytes: number) => BlockWords;

/** Unit `index` of an argument of a block type; `blockAt` gives the argument's blocks. */
export function loadUnit(k: Emitter, type: BlockType, blockAt: BlockAt, index: U32): Unit {
  const units = deviceBlock(type).blockElements / unitWeights;
  const [block, unit] = placeOf(k, type, blockAt, index, units);
  const pairs = pairReaders[type];
  if (pairs === undefined) return readerOf(type)(block, unit);
  const { distance, read } = pairs;
  const half = k.and(k.shiftRight(unit, distance), 1);
  const pair = distance === 0 ? k.shiftRight(unit, 1) : k.or(k.shiftLeft(k.shiftRight(unit, 2), 1), k.and(unit, 1));
  return read(block, pair)(half, unit);
}

/** Units that {@link loadUnits} reads at once. */
export function unitsAtOnce(type: BlockType): 1 | 2 {
  return pairReaders[type] === undefined ? 1 : 2;
}

/**
 * The units that a lane reads in step `step` of a row: {@link unitsAtOnce} of them, which share bytes. `first` is the number of the row's
 * first step among those of all rows.
 */
export function loadUnits(k: Emitter, type: BlockType, blockAt: BlockAt, { first, step }: StepPlace): readonly PlacedUnit[] {
  const pairs = pairReaders[type];
  const at = k.add(first, step);
  if (pairs === undefined) return [{ index: step, ...loadUnit(k, type, blockAt, at) }];
  const { distance, read } = pairs;
  const perBlock = deviceBlock(type).blockElements / unitWeights / 2;
  const [block, pair] = placeOf(k, type, blockAt, at, perBlock);
  const lowest = distance === 0 ? k.shiftLeft(pair, 1) : k.add(pair, k.and(pair, 2));
  const before = k.mul(k.quotient(step, perBlock), 2 * perBlock);
  const unitOf = read(block, pair);
  return ([0, 1] as const).map((half) => {
    const unit = half === 0 ? lowest : k.add(lowest, half << distance);
    return { index: k.add(before, unit), ...unitOf(half, unit) };
  });
}

function readerOf(type: BlockType): UnitReader {
  const form = recodedForm(type);
  const reader = readers[type] ?? (form && recodedReader(form));
  if (reader === undefined) throw new TypeError(`${type}: expected a type that kernels read; this is a bug, please report it`);
  return reader;
}

/** The block of part `index` of an argument whose blocks have `perBlock` parts, and the number of the part there. */
function placeOf(k: Emitter, type: BlockType, blockAt: BlockAt, index: U32, perBlock: number): readonly [UnitBlock, U32] {
  const number = perBlock === 1 ? index : k.quotient(index, perBlock);
  const part = perBlock === 1 ? k.constant("u32", 0) : k.remainder(index, perBlock);
  return [new UnitBlock(k, blockAt(number, deviceBlock(type).blockBytes)), part];
}
