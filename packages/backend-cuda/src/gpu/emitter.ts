import { type DType, layoutOf } from "@centella/core";
import type { Bool, Comparison, Emitter, F32, I32, NumberType, SharedArray, U32, Value, ValueType, Variable } from "@centella/gpu-kernels";
import { floatElem, loadFloat } from "../kernels/shared/kernel.ts";
import type { PtxBuilder } from "../ptx/builder.ts";
import { exp, log } from "../ptx/math.ts";
import type * as ptx from "../ptx/types.ts";

type RegTypeOf<T extends ValueType> = T extends "bool" ? "pred" : T extends "i32" ? "s32" : T;
type Operand = Value<NumberType> | number;

/** Writes PTX through the builder: its registers are the values. */
export class PtxEmitter implements Emitter {
  readonly #ptx: PtxBuilder;
  readonly #dtypes: Readonly<Record<string, DType>>;

  /** `dtypes` are those of the kernel's parameters. */
  constructor(builder: PtxBuilder, dtypes: Readonly<Record<string, DType>> = {}) {
    this.#ptx = builder;
    this.#dtypes = dtypes;
  }

  constant<T extends NumberType>(type: T, value: number): Value<T> {
    return this.#ptx.constant(regType(type), value) as string as Value<T>;
  }

  variable<T extends NumberType>(type: T, initial: Value<T> | number): Variable<T> {
    const variable = this.#ptx.variable(regType(type) as "u32", right(initial));
    return {
      get: () => variable.get() as string as Value<T>,
      set: (value) => variable.set(right(value)),
    };
  }

  add<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return as(this.#ptx.add(u32(a), right(b)));
  }

  sub<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return as(this.#ptx.sub(u32(a), right(b)));
  }

  mul<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return as(this.#ptx.mul(u32(a), right(b)));
  }

  div(a: F32, b: F32 | number): F32 {
    return as(this.#ptx.div(u32(a), right(b)));
  }

  fma(a: F32, b: F32 | number, c: F32 | number): F32 {
    return as(this.#ptx.fma(f32(a), floatRight(b), floatRight(c)));
  }

  quotient(a: U32, b: U32 | number): U32 {
    return as(this.#ptx.div(u32(a), right(b)));
  }

  remainder(a: U32, b: U32 | number): U32 {
    return as(this.#ptx.remainder(u32(a), right(b)));
  }

  min<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return as(this.#ptx.min(u32(a), right(b)));
  }

  max<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return as(this.#ptx.max(u32(a), right(b)));
  }

  neg<T extends "f32" | "i32">(a: Value<T>): Value<T> {
    return as(this.#ptx.neg(f32(a)));
  }

  abs(a: F32): F32 {
    return as(this.#ptx.abs(f32(a)));
  }

  sqrt(a: F32): F32 {
    return as(this.#ptx.sqrt(f32(a)));
  }

  floor(a: F32): F32 {
    return as(this.#ptx.floor(f32(a)));
  }

  round(a: F32): F32 {
    return as(this.#ptx.round(f32(a)));
  }

  trunc(a: F32): F32 {
    return as(this.#ptx.trunc(f32(a)));
  }

  exp(a: F32): F32 {
    return as(exp(this.#ptx, f32(a)));
  }

  log(a: F32): F32 {
    return as(log(this.#ptx, f32(a)));
  }

  and(a: U32, b: U32 | number): U32 {
    return as(this.#ptx.and(u32(a), right(b)));
  }

  or(a: U32, b: U32 | number): U32 {
    return as(this.#ptx.or(u32(a), right(b)));
  }

  xor(a: U32, b: U32 | number): U32 {
    return as(this.#ptx.xor(u32(a), right(b)));
  }

  shiftLeft(a: U32, bits: U32 | number): U32 {
    return as(this.#ptx.shiftLeft(u32(a), right(bits)));
  }

  shiftRight(a: U32, bits: U32 | number): U32 {
    return as(this.#ptx.shiftRight(u32(a), right(bits)));
  }

  both(a: Bool, b: Bool): Bool {
    return as(this.#ptx.and(pred(a), pred(b)));
  }

  either(a: Bool, b: Bool): Bool {
    return as(this.#ptx.or(pred(a), pred(b)));
  }

  not(a: Bool): Bool {
    return as(this.#ptx.not(pred(a)));
  }

  select<T extends NumberType>(condition: Bool, a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return as(this.#ptx.select(pred(condition), u32(a), right(b)));
  }

  compare<T extends NumberType>(comparison: Comparison, a: Value<T>, b: Value<NoInfer<T>> | number): Bool {
    return as(this.#ptx.compare(comparison, u32(a), right(b)));
  }

  isNaN(a: F32): Bool {
    return as(this.#ptx.isNaN(f32(a)));
  }

  bitcast<T extends NumberType>(type: T, a: Value<NumberType>): Value<T> {
    return as(this.#ptx.bitcast(regType(type), u32(a)));
  }

  convert<T extends NumberType>(type: T, a: Value<NumberType>): Value<T> {
    return as(type === "f32" ? this.#ptx.convert("f32", u32(a)) : this.#ptx.truncate(type === "i32" ? "s32" : "u32", f32(a)));
  }

  toHalf(a: F32): U32 {
    return as(this.#ptx.widen(this.#ptx.floatToHalf(f32(a))));
  }

  load(name: string, index: U32 | number): F32 {
    const dtype = this.#dtypes[name]!;
    return as(loadFloat(this.#ptx, dtype, this.#ptx.pointer(name, floatElem(dtype)), right(index)));
  }

  loadInteger(name: string, index: U32 | number): I32 {
    return as(this.#ptx.load("s32", this.#ptx.at("s32", this.#ptx.pointer(name, "s32"), right(index))));
  }

  loadBits(name: string, index: U32 | number): U32 {
    const at = right(index);
    switch (layoutOf(this.#dtypes[name]!).bytes) {
      case 1:
        return as(this.#ptx.loadByte(this.#ptx.pointer(name, "u32"), at));
      case 2:
        return as(this.#ptx.widen(this.#ptx.load("b16", this.#ptx.at("b16", this.#ptx.pointer(name, "b16"), at))));
      default:
        return as(this.#ptx.load("u32", this.#ptx.at("u32", this.#ptx.pointer(name, "u32"), at)));
    }
  }

  store(name: string, index: U32 | number, value: Value<NumberType>): void {
    const to = this.#ptx.at("u32", this.#ptx.pointer(name, "u32"), right(index));
    this.#ptx.store("u32", to, this.#ptx.bitcast("u32", u32(value)));
  }

  shared<T extends NumberType>(type: T, count: number): SharedArray<T> {
    const elem = regType(type) as "u32";
    const base = this.#ptx.shared(elem, count);
    const place = (index: U32 | number): ptx.Shared<"u32"> => this.#ptx.sharedAt(elem, base, right(index));
    return {
      get: (index) => as(this.#ptx.load(elem, place(index))),
      set: (index, value) => this.#ptx.store(elem, place(index), u32(value)),
    };
  }

  sync(): void {
    this.#ptx.sync();
  }

  lane(): U32 {
    return as(this.#ptx.thread());
  }

  if(condition: Bool, then: () => void, otherwise?: () => void): void {
    this.#ptx.if(pred(condition), then, otherwise);
  }

  for(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void {
    this.#ptx.for(right(from), right(to), right(step), (i) => body(as(i)));
  }

  while(test: () => Bool, body: () => void): void {
    this.#ptx.while(() => pred(test()), body);
  }

  forUniform(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void {
    this.#ptx.forUniform(right(from), right(to), right(step), (i) => body(as(i)));
  }
}

function regType<T extends NumberType>(type: T): RegTypeOf<T> {
  return (type === "i32" ? "s32" : type) as RegTypeOf<T>;
}

// The builder reads a register's type off its name, so one of its signatures stands for all.
function u32(value: Value): ptx.U32 {
  return value as string as ptx.U32;
}

function f32(value: Value): ptx.F32 {
  return value as string as ptx.F32;
}

function pred(value: Bool): ptx.Pred {
  return value as string as ptx.Pred;
}

function right(value: Operand): ptx.U32 | number {
  return value as string | number as ptx.U32 | number;
}

function floatRight(value: F32 | number): ptx.F32 | number {
  return value as string | number as ptx.F32 | number;
}

function as<T extends ValueType>(register: string): Value<T> {
  return register as Value<T>;
}
