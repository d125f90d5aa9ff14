import type { F32, I32, U32 } from "@centella/gpu-kernels";
import { floatToHalf } from "@centella/quant";
import { ArithmeticWriter } from "./arithmetic.ts";
import type { Reg } from "./types.ts";

/** A logical function of three bits. */
export type Logic3 = (a: number, b: number, c: number) => number;

/** Instructions on words that hold several small numbers. */
export class PackedWriter extends ArithmeticWriter {
  /** Applies `logic` to each bit of three words, in one instruction. */
  logic3(logic: Logic3, a: U32, b: U32 | number, c: U32 | number): U32 {
    const to = this.reg("u32");
    // The truth table is the function's value at these three bytes, which list all combinations of three bits.
    const table = logic(0xf0, 0xcc, 0xaa) & 0xff;
    this.emit(`lop3.b32 ${to}, ${a}, ${this.operand("u32", b)}, ${this.operand("u32", c)}, ${table}`);
    return to;
  }

  /** `(a & mask) | bits` */
  maskOr(a: U32, mask: U32 | number, bits: U32 | number): U32 {
    return this.logic3((x, y, z) => (x & y) | z, a, mask, bits);
  }

  /** Picks four of the eight bytes of `low` (0 to 3) and `high` (4 to 7). Nibble i of `selector`, 0 to 7, is the source of byte i. */
  pickBytes(low: U32, high: U32 | number, selector: U32 | number): U32 {
    const to = this.reg("u32");
    this.emit(`prmt.b32 ${to}, ${low}, ${this.operand("u32", high)}, ${this.operand("u32", selector)}`);
    return to;
  }

  /** `sum` plus the products of the four signed bytes of `a` with those of `b`. */
  dotBytes(a: U32, b: U32, sum: I32 | number): I32 {
    const to = this.reg("i32");
    this.emit(`dp4a.s32.s32 ${to}, ${a}, ${b}, ${this.operand("i32", sum)}`);
    return to;
  }

  /** The word whose lower half is `low` and whose upper half is `high`, rounded to f16 or bf16, ties to even. */
  roundPair(type: "f16" | "bf16", low: F32, high: F32): U32 {
    const to = this.reg("u32");
    this.emit(`cvt.rn.${type}x2.f32 ${to}, ${high}, ${low}`);
    return to;
  }

  /** Sums of two pairs of f16, each rounded to f16. */
  addPairs(a: U32, b: U32): U32 {
    return this.#pairs("add", a, b);
  }

  /** Products of two pairs of f16, each rounded to f16. */
  multiplyPairs(a: U32, b: U32): U32 {
    return this.#pairs("mul", a, b);
  }

  /** `a * b + c` of pairs of f16, each rounded once to f16. */
  fmaPairs(a: U32, b: U32, c: U32): U32 {
    return this.#pairs("fma", a, b, c);
  }

  #pairs(name: "add" | "mul" | "fma", ...operands: readonly U32[]): U32 {
    const to = this.reg("u32");
    this.emit(`${name}.rn.f16x2 ${[to, ...operands].join(", ")}`);
    return to;
  }

  /** The lower and the upper half of a word. */
  halvesOf(word: U32): readonly [low: Reg<"b16">, high: Reg<"b16">] {
    const [low, high] = [this.reg("b16"), this.reg("b16")];
    this.emit(`mov.b32 {${low},${high}}, ${word}`);
    return [low, high];
  }

  /** The two f16 of a word. */
  halfPair(word: U32): readonly [low: F32, high: F32] {
    const [low, high] = this.halvesOf(word);
    return [this.halfToFloat(low), this.halfToFloat(high)];
  }

  /** Byte `index` of a word, less `offset`, as f32: the byte becomes the last bits of a number near 2^23. */
  byteToFloat(word: U32, index: number, offset = 0): F32 {
    const bits = this.pickBytes(word, 0x4b000000, 0x7650 + index);
    return this.add(this.bitcast("f32", bits), -(2 ** 23) - offset);
  }

  /** Byte `index` of a word, less `offset`, as two equal f16: the byte becomes the last bits of numbers near 1,024. Exact up to 2,048. */
  byteToPair(word: U32, index: number, offset = 0): U32 {
    return this.#bytesAsPair(word, 0x5050 + 0x101 * index, offset);
  }

  /** Bytes `first` and `first + 1` of a word, less `offset`, as two f16. See {@link byteToPair}. */
  bytesToPair(word: U32, first: number, offset = 0): U32 {
    return this.#bytesAsPair(word, 0x5150 + 0x101 * first, offset);
  }

  #bytesAsPair(word: U32, selector: number, offset: number): U32 {
    return this.addPairs(this.pickBytes(word, 0x64006400, selector), this.constantPair(-1024 - offset));
  }

  /** One of a word's halves, the lower (0) or the upper one (1), in both. Arithmetic on pairs reads it where it is, without an instruction for that. */
  splatHalf(word: U32, which: 0 | 1): U32 {
    const half = this.halvesOf(word)[which];
    const to = this.reg("u32");
    this.emit(`mov.b32 ${to}, {${half},${half}}`);
    return to;
  }

  /** Two equal f16. */
  constantPair(value: number): U32 {
    const half = floatToHalf(value);
    return this.constant("u32", ((half << 16) | half) >>> 0);
  }
}
