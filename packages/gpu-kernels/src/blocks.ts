import { type BlockType, type RecodedForm, recodedForm } from "@centella/quant";
import { deviceBlock } from "./deviceForm.ts";
import type { BlockBytes, Emitter, F32, I32, U32 } from "./emitter.ts";
import { asValue, divide, type Extent } from "./extent.ts";

/** Reads parts of one block. */
export class Block {
  readonly k: Emitter;
  readonly #bytes: BlockBytes;

  constructor(k: Emitter, bytes: BlockBytes) {
    this.k = k;
    this.#bytes = bytes;
  }

  byte(at: U32 | number): U32 {
    return this.#bytes.byte(at);
  }

  /** The f16 at an even number of bytes. */
  half(at: number): F32 {
    return this.#bytes.half(at);
  }

  /** Byte `at` as a signed number. */
  signed(at: U32): I32 {
    return signExtended(this.k, this.byte(at));
  }

  /** Weight j of 32: weights 0 to 15 are the low nibbles of 16 bytes, weights 16 to 31 the high ones. */
  nibble(from: number, j: U32, i: number): U32 {
    const { k } = this;
    const byte = this.byte(k.add(k.and(j, 15), from + i));
    return k.and(k.shiftRight(byte, k.and(k.shiftRight(j, 2), 4)), 15);
  }

  bit(from: number, j: U32, i: number): U32 {
    const { k } = this;
    return k.and(k.shiftRight(this.byte(k.add(k.shiftRight(j, 3), from)), k.add(k.and(j, 7), i)), 1);
  }

  /** Nibble `index` of the bytes from byte `at` on, low nibbles first. */
  nibbleAt(at: number, index: U32): U32 {
    const { k } = this;
    return k.and(k.shiftRight(this.byte(k.add(k.shiftRight(index, 1), at)), k.shiftLeft(k.and(index, 1), 2)), 15);
  }

  /** Half of the float with 4 bits of exponent and 3 of mantissa at byte `at`. 0x7f counts as 0. No step is denormal. */
  halvedFloat(at: U32): F32 {
    const { k } = this;
    const byte = this.byte(at);
    const [exponent, mantissa] = [k.and(k.shiftRight(byte, 3), 15), k.and(byte, 7)];
    const isDenormal = k.compare("eq", exponent, 0);
    const eighths = k.convert("f32", k.select(isDenormal, mantissa, k.add(mantissa, 8)));
    const power = k.bitcast("f32", k.shiftLeft(k.add(k.select(isDenormal, k.constant("u32", 1), exponent), 116), 23));
    return k.select(k.compare("eq", byte, 0x7f), k.constant("f32", 0), k.mul(eighths, power));
  }

  /** Scale of a group of a block that quant's `recode` wrote: a nibble and a half, in steps of the block's `d`. */
  recodedScale({ layout: { d = 0, factor = 1, scales } }: RecodedForm, group: U32): F32 {
    const { k } = this;
    const at = scales?.pieces(0)[0]?.at ?? 0;
    return k.mul(k.mul(this.half(d), factor), k.add(k.convert("f32", this.nibbleAt(at, group)), 0.5));
  }

  /** Scale and minimum, 6 bits each, of a group of 32 in q4_K and q5_K, packed into 12 bytes from byte 4 on. */
  scaleAndMinimum(group: U32): readonly [scale: U32, minimum: U32] {
    const { k } = this;
    const place = k.and(group, 3);
    const [scale, minimum] = this.sixBits(group, [this.byte(k.add(place, 4)), this.byte(k.add(place, 8)), this.byte(k.add(place, 12))]);
    return [k.and(scale, 63), k.and(minimum, 63)];
  }

  /**
   * {@link scaleAndMinimum} from the bytes that hold their bits, byte `group & 3` of each four, in the lowest six bits. If the words' next
   * byte is that of the next group, so is the results' next one.
   */
  sixBits(group: U32, [low, middle, high]: readonly [U32, U32, U32]): readonly [scale: U32, minimum: U32] {
    const { k } = this;
    const isFirst = k.compare("lt", group, 4);
    const top = (bytes: U32): U32 => k.and(k.shiftRight(bytes, 2), 0x3030);
    const nibbles = (bytes: U32): U32 => k.and(bytes, 0x0f0f);
    return [
      k.select(isFirst, low, k.or(nibbles(high), top(low))),
      k.select(isFirst, middle, k.or(nibbles(k.shiftRight(high, 4)), top(middle))),
    ];
  }
}

/**
 * Reads weights of a block. The data that weights `j` to `j + 3` share is read once; `j` must be a multiple of 4 if more than the first
 * weight is read. The result is a function that returns weight `j + i`. Layouts and roundings are those of `@centella/quant`.
 */
type Reader = (block: Block, j: U32) => (i: number) => F32;

/** `scale * (q - bias)` */
export function centred(k: Emitter, scale: F32, q: U32, bias: number): F32 {
  return k.mul(scale, k.convert("f32", k.sub(k.bitcast("i32", q), bias)));
}

/** `scale * q + offset` */
function scaled(k: Emitter, scale: F32, q: U32, offset: F32): F32 {
  return k.add(k.mul(scale, k.convert("f32", q)), offset);
}

/** A byte as a signed number. */
export function signExtended(k: Emitter, byte: U32): I32 {
  return k.sub(k.bitcast("i32", k.xor(byte, 0x80)), 0x80);
}

/** Levels of iq4_nl and iq4_xs by code. */
export const levels: readonly number[] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/** Twice the levels of mxfp4 by code. */
export const doubled: readonly number[] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/** Reads the bit pairs of 32 bytes for every 128 weights. */
const pairs: Reader = (block, j) => {
  const { k } = block;
  const d = block.half(64);
  const from = k.add(k.mul(k.shiftRight(j, 7), 32), k.and(j, 31));
  const shift = k.and(k.shiftRight(j, 4), 6);
  return (i) => centred(k, d, k.and(k.shiftRight(block.byte(k.add(from, i)), shift), 3), 1);
};

const readers: Readonly<Partial<Record<BlockType, Reader>>> = {
  q1_0: (block, j) => {
    const { k } = block;
    const d = block.half(0);
    return (i) => centred(k, d, k.shiftLeft(block.bit(2, j, i), 1), 1);
  },
  q2_0: (block, j) => {
    const { k } = block;
    const d = block.half(0);
    const byte = block.byte(k.add(k.shiftRight(j, 2), 2));
    return (i) => centred(k, d, k.and(k.shiftRight(byte, k.shiftLeft(k.add(k.and(j, 3), i), 1)), 3), 1);
  },
  q4_0: (block, j) => {
    const d = block.half(0);
    return (i) => centred(block.k, d, block.nibble(2, j, i), 8);
  },
  q4_1: (block, j) => {
    const [d, m] = [block.half(0), block.half(2)];
    return (i) => scaled(block.k, d, block.nibble(4, j, i), m);
  },
  q5_0: (block, j) => {
    const { k } = block;
    const d = block.half(0);
    return (i) => centred(k, d, k.or(block.nibble(6, j, i), k.shiftLeft(block.bit(2, j, i), 4)), 16);
  },
  q5_1: (block, j) => {
    const { k } = block;
    const [d, m] = [block.half(0), block.half(2)];
    return (i) => scaled(k, d, k.or(block.nibble(8, j, i), k.shiftLeft(block.bit(4, j, i), 4)), m);
  },
  q8_0: (block, j) => {
    const { k } = block;
    const d = block.half(0);
    return (i) => k.mul(d, k.convert("f32", block.signed(k.add(j, 2 + i))));
  },
  q8_1: (block, j) => {
    const { k } = block;
    const d = block.half(0);
    return (i) => k.mul(d, k.convert("f32", block.signed(k.add(j, 4 + i))));
  },
  q8_K: (block, j) => {
    const { k } = block;
    const d = k.bitcast(
      "f32",
      [1, 2, 3].reduce((word, i) => k.or(word, k.shiftLeft(block.byte(i), 8 * i)), block.byte(0)),
    );
    return (i) => k.mul(d, k.convert("f32", block.signed(k.add(j, 4 + i))));
  },
  tq1_0: pairs,
  tq2_0: pairs,
  nvfp4: (block, j) => {
    const { k } = block;
    const group = k.shiftRight(j, 4);
    const scale = block.halvedFloat(group);
    const from = k.add(k.shiftLeft(group, 3), k.add(k.and(j, 7), 4));
    const shift = k.and(k.shiftRight(j, 1), 4);
    return (i) => k.mul(scale, k.lookUp(doubled, k.and(k.shiftRight(block.byte(k.add(from, i)), shift), 15)));
  },
  iq4_nl: (block, j) => {
    const { k } = block;
    const d = block.half(0);
    return (i) => k.mul(d, k.lookUp(levels, block.nibble(2, j, i)));
  },
  mxfp4: (block, j) => {
    const { k } = block;
    // 2^(e - 128) in two factors, since it may be denormal.
    const e = block.byte(0);
    const half = k.shiftRight(e, 1);
    const power = (exponent: U32): F32 => k.bitcast("f32", k.shiftLeft(k.add(exponent, 63), 23));
    const [first, second] = [power(half), power(k.sub(e, half))];
    return (i) => k.mul(k.mul(k.lookUp(doubled, block.nibble(1, j, i)), first), second);
  },
  q2_K: (block, j) => {
    const { k } = block;
    const group = k.shiftRight(j, 4);
    const scales = block.byte(group);
    const scale = k.mul(block.half(80), k.convert("f32", k.and(scales, 15)));
    const minimum = k.mul(block.half(82), k.convert("f32", k.shiftRight(scales, 4)));
    const from = k.add(k.add(k.mul(k.shiftRight(j, 7), 32), k.and(j, 31)), 16);
    const shift = k.and(group, 6);
    return (i) => scaled(k, scale, k.and(k.shiftRight(block.byte(k.add(from, i)), shift), 3), k.neg(minimum));
  },
  q3_K: (block, j) => {
    const { k } = block;
    const group = k.shiftRight(j, 4);
    const low = k.and(k.shiftRight(block.byte(k.add(k.and(group, 7), 96)), k.and(k.shiftRight(group, 1), 4)), 15);
    const high = k.and(k.shiftRight(block.byte(k.add(k.and(group, 3), 104)), k.and(k.shiftRight(group, 1), 6)), 3);
    const scale = centred(k, block.half(108), k.or(low, k.shiftLeft(high, 4)), 32);
    const [from, mask] = [k.add(k.add(k.mul(k.shiftRight(j, 7), 32), k.and(j, 31)), 32), k.and(j, 31)];
    const [shift, bit] = [k.and(group, 6), k.shiftRight(group, 1)];
    return (i) => {
      const q = k.and(k.shiftRight(block.byte(k.add(from, i)), shift), 3);
      const third = k.and(k.shiftRight(block.byte(k.add(mask, i)), bit), 1);
      return centred(k, scale, k.or(q, k.shiftLeft(third, 2)), 4);
    };
  },
  q4_K: (block, j) => {
    const { k } = block;
    const group = k.shiftRight(j, 5);
    const [scale, minimum] = block.scaleAndMinimum(group);
    const d = k.mul(block.half(0), k.convert("f32", scale));
    const m = k.neg(k.mul(block.half(2), k.convert("f32", minimum)));
    const from = k.add(k.add(k.mul(k.shiftRight(group, 1), 32), k.and(j, 31)), 16);
    const shift = k.shiftLeft(k.and(group, 1), 2);
    return (i) => scaled(k, d, k.and(k.shiftRight(block.byte(k.add(from, i)), shift), 15), m);
  },
  q5_K: (block, j) => {
    const { k } = block;
    const group = k.shiftRight(j, 5);
    const [scale, minimum] = block.scaleAndMinimum(group);
    const d = k.mul(block.half(0), k.convert("f32", scale));
    const m = k.neg(k.mul(block.half(2), k.convert("f32", minimum)));
    const place = k.and(j, 31);
    const from = k.add(k.add(k.mul(k.shiftRight(group, 1), 32), place), 48);
    const shift = k.shiftLeft(k.and(group, 1), 2);
    return (i) => {
      const fifth = k.and(k.shiftRight(block.byte(k.add(place, 16 + i)), group), 1);
      const low = k.and(k.shiftRight(block.byte(k.add(from, i)), shift), 15);
      return scaled(k, d, k.or(low, k.shiftLeft(fifth, 4)), m);
    };
  },
  q6_K: (block, j) => {
    const { k } = block;
    const [part, quarter, place] = [k.shiftRight(j, 7), k.and(k.shiftRight(j, 5), 3), k.and(j, 31)];
    const scale = k.mul(block.half(208), k.convert("f32", block.signed(k.add(k.shiftRight(j, 4), 192))));
    const from = k.add(k.add(k.mul(part, 64), k.shiftLeft(k.and(quarter, 1), 5)), place);
    const lowShift = k.and(k.shiftLeft(quarter, 1), 4);
    const highFrom = k.add(k.add(k.mul(part, 32), place), 128);
    const highShift = k.shiftLeft(quarter, 1);
    return (i) => {
      const low = k.and(k.shiftRight(block.byte(k.add(from, i)), lowShift), 15);
      const high = k.and(k.shiftRight(block.byte(k.add(highFrom, i)), highShift), 3);
      return centred(k, scale, k.or(low, k.shiftLeft(high, 4)), 32);
    };
  },
  iq4_xs: (block, j) => {
    const { k } = block;
    const group = k.shiftRight(j, 5);
    const low = k.and(k.shiftRight(block.byte(k.add(k.shiftRight(group, 1), 4)), k.shiftLeft(k.and(group, 1), 2)), 15);
    const high = k.and(k.shiftRight(block.byte(k.add(k.shiftRight(group, 2), 2)), k.shiftLeft(k.and(group, 3), 1)), 3);
    const scale = centred(k, block.half(0), k.or(low, k.shiftLeft(high, 4)), 32);
    const place = k.and(j, 31);
    const from = k.add(k.shiftLeft(group, 4), 8);
    const shift = k.and(k.shiftRight(place, 2), 4);
    return (i) => {
      const byte = block.byte(k.add(k.add(k.and(place, 15), from), i));
      return k.mul(scale, k.lookUp(levels, k.and(k.shiftRight(byte, shift), 15)));
    };
  },
};

/** Reads blocks that quant's `recode` wrote from a codebook type. */
function recodedReader(form: RecodedForm): Reader {
  const { groupSize, levels: values = [] } = form.layout;
  return (block, j) => {
    const { k } = block;
    const scale = block.recodedScale(form, k.shiftRight(j, Math.log2(groupSize)));
    const from = k.add(k.shiftLeft(k.shiftRight(j, 5), 4), k.and(j, 15));
    const shift = k.and(k.shiftRight(j, 2), 4);
    return (i) => k.mul(scale, k.lookUp(values, k.and(k.shiftRight(block.byte(k.add(from, i)), shift), 15)));
  };
}

/** `count` weights from `index` on of an argument of a block type, 1 or 4; for 4 the index must be a multiple of 4. */
export function loadBlockWeights(k: Emitter, type: BlockType, name: string, index: Extent, count: 1 | 4): readonly F32[] {
  const { blockElements, blockBytes } = deviceBlock(type);
  const [number, j] = divide(k, index, blockElements);
  const block = new Block(k, k.blockAt(name, asValue(k, number), blockBytes));
  const weight = readerOf(type)(block, asValue(k, j));
  return Array.from({ length: count }, (_, i) => weight(i));
}

function readerOf(type: BlockType): Reader {
  const form = recodedForm(type);
  const reader = readers[type] ?? (form && recodedReader(form));
  if (reader === undefined) throw new TypeError(`${type}: expected a type that kernels read; this is a bug, please report it`);
  return reader;
}
