import type { Bool, Comparison, F32, U32 } from "@centella/gpu-kernels";
import { ptxNames, type Reg, type RegType } from "./types.ts";
import { PtxWriter, suffixOf, typeOf } from "./writer.ts";

type Integer = "u32" | "i32" | "u64";
type Float = "f32" | "f64";
type Bits = "u32" | "i32" | "u64" | "bool";

/** Instructions from registers to registers. */
export class ArithmeticWriter extends PtxWriter {
  add<T extends Integer | Float>(a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    return this.#rounded("add", a, b);
  }

  sub<T extends Integer | Float>(a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    return this.#rounded("sub", a, b);
  }

  /** The low half of the product for integers. */
  mul<T extends Integer | Float>(a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    return isFloat(a) ? this.#rounded("mul", a, b) : this.binary(`mul.lo.${suffixOf(a)}`, a, b);
  }

  /** `a / b`, correctly rounded; toward zero for integers. */
  div<T extends Integer | Float>(a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    return this.#rounded("div", a, b);
  }

  /** `floor(a / b)` */
  quotient(a: U32, b: U32 | number): U32 {
    // The driver's compiler writes a division even for powers of two.
    return isPowerOfTwo(b) ? this.shiftRight(a, Math.log2(b)) : this.div(a, b);
  }

  remainder(a: U32, b: U32 | number): U32 {
    return isPowerOfTwo(b) ? this.and(a, b - 1) : this.binary("rem.u32", a, b);
  }

  multiplyHigh(a: U32, b: U32 | number): U32 {
    return this.binary("mul.hi.u32", a, b);
  }

  /** `a * b + c`, rounded once. */
  fma<T extends Float>(a: Reg<T>, b: Reg<NoInfer<T>> | number, c: Reg<NoInfer<T>> | number): Reg<T> {
    const type = typeOf(a);
    const to = this.reg(type) as Reg<T>;
    this.emit(`fma.rn.${type} ${to}, ${a}, ${this.operand(type, b)}, ${this.operand(type, c)}`);
    return to;
  }

  /** `a * b + c` in 32 bits. */
  mad(a: U32, b: U32 | number, c: U32 | number): U32 {
    const to = this.reg("u32");
    this.emit(`mad.lo.u32 ${to}, ${a}, ${this.operand("u32", b)}, ${this.operand("u32", c)}`);
    return to;
  }

  /** For f32, a NaN operand gives NaN. */
  min<T extends "u32" | "i32" | "f32">(a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    return this.binary(isFloat(a) ? "min.NaN.f32" : `min.${suffixOf(a)}`, a, b);
  }

  /** For f32, a NaN operand gives NaN. */
  max<T extends "u32" | "i32" | "f32">(a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    return this.binary(isFloat(a) ? "max.NaN.f32" : `max.${suffixOf(a)}`, a, b);
  }

  neg<T extends Float | "i32">(a: Reg<T>): Reg<T> {
    return this.unary(`neg.${suffixOf(a)}`, a);
  }

  abs<T extends Float>(a: Reg<T>): Reg<T> {
    return this.unary(`abs.${suffixOf(a)}`, a);
  }

  sqrt(a: F32): F32 {
    return this.unary("sqrt.rn.f32", a);
  }

  /** `2^a`, with a relative error under 2^-21; 0 where the result is below the normal numbers. */
  exp2(a: F32): F32 {
    return this.unary("ex2.approx.ftz.f32", a);
  }

  /** Base-2 logarithm; absolute error under 2^-22 near one, relative error under 2^-22 elsewhere. */
  log2(a: F32): F32 {
    return this.unary("lg2.approx.f32", a);
  }

  /** Nearest whole number, halves to even. */
  round<T extends Float>(a: Reg<T>): Reg<T> {
    return this.unary(`cvt.rni.${suffixOf(a)}.${suffixOf(a)}`, a);
  }

  /** Largest whole number up to `a`. */
  floor<T extends Float>(a: Reg<T>): Reg<T> {
    return this.unary(`cvt.rmi.${suffixOf(a)}.${suffixOf(a)}`, a);
  }

  /** Smallest whole number from `a`. */
  ceil<T extends Float>(a: Reg<T>): Reg<T> {
    return this.unary(`cvt.rpi.${suffixOf(a)}.${suffixOf(a)}`, a);
  }

  /** The whole part of `a`. */
  trunc<T extends Float>(a: Reg<T>): Reg<T> {
    return this.unary(`cvt.rzi.${suffixOf(a)}.${suffixOf(a)}`, a);
  }

  and<T extends Bits>(a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    return this.binary(`and.${bitsOf(a)}`, a, b);
  }

  or<T extends Bits>(a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    return this.binary(`or.${bitsOf(a)}`, a, b);
  }

  xor(a: U32, b: U32 | number): U32 {
    return this.binary("xor.b32", a, b);
  }

  both(a: Bool, b: Bool): Bool {
    return this.and(a, b);
  }

  either(a: Bool, b: Bool): Bool {
    return this.or(a, b);
  }

  not(a: Bool): Bool {
    return this.unary("not.pred", a);
  }

  shiftLeft<T extends "u32" | "i32">(a: Reg<T>, bits: U32 | number): Reg<T> {
    return this.#shift("shl.b32", a, bits);
  }

  shiftRight<T extends "u32" | "i32">(a: Reg<T>, bits: U32 | number): Reg<T> {
    return this.#shift(`shr.${suffixOf(a)}`, a, bits);
  }

  /** `condition ? a : b` */
  select<T extends Integer | Float>(condition: Bool, a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    const type = typeOf(a);
    const to = this.reg(type) as Reg<T>;
    this.emit(`selp.${suffixOf(a)} ${to}, ${a}, ${this.operand(type, b)}, ${condition}`);
    return to;
  }

  /** Comparison; with a NaN every one but "ne" is false. */
  compare<T extends Integer | Float>(comparison: Comparison, a: Reg<T>, b: Reg<NoInfer<T>> | number): Bool {
    const type = typeOf(a);
    const to = this.reg("bool");
    const name = comparison === "ne" && isFloat(a) ? "neu" : comparison;
    this.emit(`setp.${name}.${suffixOf(a)} ${to}, ${a}, ${this.operand(type, b)}`);
    return to;
  }

  isNaN(a: F32): Bool {
    const to = this.reg("bool");
    this.emit(`setp.nan.f32 ${to}, ${a}, ${a}`);
    return to;
  }

  /** Value conversion: to the nearest float, ties to even; to an integer toward zero, saturating, 0 of NaN. */
  convert<T extends "u32" | "i32" | "u64" | "f32" | "f64">(to: T, a: Reg<Integer | Float>): Reg<T> {
    const from = typeOf(a);
    const register = this.reg(to);
    if (from === to) {
      this.emit(`mov.${ptxNames[to]} ${register}, ${a}`);
      return register;
    }
    const isFloatType = (type: RegType): boolean => type === "f32" || type === "f64";
    let rounding = "";
    if (isFloatType(to) && !(from === "f32" && to === "f64")) rounding = ".rn";
    else if (!isFloatType(to) && isFloatType(from)) rounding = ".rzi";
    this.emit(`cvt${rounding}.${ptxNames[to]}.${ptxNames[from]} ${register}, ${a}`);
    return register;
  }

  /** The same 32 bits as another type. */
  bitcast<T extends "u32" | "i32" | "f32">(to: T, a: Reg<"u32" | "i32" | "f32">): Reg<T> {
    const register = this.reg(to);
    this.emit(`mov.b32 ${register}, ${a}`);
    return register;
  }

  halfToFloat(a: Reg<"b16">): F32 {
    return this.result("f32", "cvt.f32.f16", a);
  }

  /** Rounds to nearest even. */
  floatToHalf(a: F32): Reg<"b16"> {
    return this.result("b16", "cvt.rn.f16.f32", a);
  }

  bfloatToFloat(a: Reg<"b16">): F32 {
    return this.bitcast("f32", this.shiftLeft(this.widen(a), 16));
  }

  /** The lower 16 bits. */
  narrow(a: U32): Reg<"b16"> {
    return this.result("b16", "cvt.u16.u32", a);
  }

  /** The 16 bits below zeros. */
  widen(a: Reg<"b16">): U32 {
    return this.result("u32", "cvt.u32.u16", a);
  }

  /** The rounding is spelled out: the driver's compiler may fuse a plain `mul` and `add`, and results would depend on it. */
  #rounded<T extends RegType>(name: string, a: Reg<T>, b: Reg<NoInfer<T>> | number): Reg<T> {
    return this.binary(`${name}${isFloat(a) ? ".rn" : ""}.${suffixOf(a)}`, a, b);
  }

  #shift<T extends "u32" | "i32">(instruction: string, a: Reg<T>, bits: U32 | number): Reg<T> {
    const to = this.reg(typeOf(a)) as Reg<T>;
    this.emit(`${instruction} ${to}, ${a}, ${this.operand("u32", bits)}`);
    return to;
  }
}

function isPowerOfTwo(value: U32 | number): value is number {
  return typeof value === "number" && value > 0 && Number.isInteger(Math.log2(value));
}

function isFloat(register: string): boolean {
  const type = typeOf(register);
  return type === "f32" || type === "f64";
}

function bitsOf(register: string): string {
  const type = typeOf(register);
  return type === "bool" ? "pred" : type === "u64" ? "b64" : "b32";
}
