import { type DType, layoutOf } from "@centella/core";
import type { Bool, Comparison, Emitter, F32, I32, NumberType, SharedArray, U32, Value, ValueType, Variable } from "@centella/gpu-kernels";
import { edges } from "../kernels/shared/functions.ts";
import { deviceType } from "../layout.ts";
import { loader, orderKeys, specials, toHalf } from "../wgsl.ts";

const prefixes: Readonly<Record<ValueType, string>> = { f32: "f", i32: "i", u32: "u", bool: "b" };
const typeOfPrefix = new Map(Object.entries(prefixes).map(([type, prefix]) => [prefix, type as ValueType]));

/** Comparisons by order keys, in which a NaN is the largest: those of WGSL may assume that there is none, and flush denormals. */
const comparisons = `fn isLess(a: f32, b: f32) -> bool { return keyOf(a) < keyOf(b) && !isNan(b); }
fn isLessOrEqual(a: f32, b: f32) -> bool { return keyOf(a) <= keyOf(b) && !isNan(b); }
fn isEqual(a: f32, b: f32) -> bool { return keyOf(a) == keyOf(b) && !isNan(b); }`;

/** A NaN comes through, and infinities do what IEEE 754 says. */
const functions = `fn expAll(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  return expOf(x);
}
fn logAll(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  return logOf(x);
}
fn rootAll(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  return rootOf(x);
}
fn wholeOf(x: f32) -> f32 {
  if (isNan(x) || isInfinite(x)) { return 0.0; }
  return trunc(x);
}
fn toInteger(x: f32) -> i32 {
  if (isInfinite(x)) { return select(2147483647i, i32(-2147483648), isNegativeInfinity(x)); }
  let whole = wholeOf(x);
  if (whole >= 2147483648.0) { return 2147483647i; }
  if (whole <= -2147483648.0) { return i32(-2147483648); }
  return i32(whole);
}
fn toUnsigned(x: f32) -> u32 {
  if (isInfinite(x)) { return select(4294967295u, 0u, isNegativeInfinity(x)); }
  let whole = wholeOf(x);
  if (whole >= 4294967296.0) { return 4294967295u; }
  if (whole <= 0.0) { return 0u; }
  return u32(whole);
}`;

/** Writes WGSL statements. */
export class WgslEmitter implements Emitter {
  readonly lines: string[] = [];
  /** Arguments that are written. */
  readonly written: Set<string> = new Set();
  readonly #declarations = new Set<string>();
  readonly #dtypes: Readonly<Record<string, DType>>;
  #values = 0;
  #arrays = 0;

  /** `dtypes` are those of the arguments. */
  constructor(dtypes: Readonly<Record<string, DType>> = {}) {
    this.#dtypes = dtypes;
  }

  /** Functions and shared memory that the statements need, block by block. */
  get declarations(): readonly string[] {
    return [...this.#declarations];
  }

  /** Names the value of an expression. */
  define<T extends ValueType>(type: T, expression: string): Value<T> {
    const name = `${prefixes[type]}_${this.#values++}`;
    this.lines.push(`let ${name} = ${expression};`);
    return name as Value<T>;
  }

  constant<T extends NumberType>(type: T, value: number): Value<T> {
    return this.define(type, this.#operand(type, value));
  }

  variable<T extends NumberType>(type: T, initial: Value<T> | number): Variable<T> {
    const name = `v${this.#values++}`;
    this.lines.push(`var ${name}: ${type} = ${this.#operand(type, initial)};`);
    return {
      get: () => this.define(type, name),
      set: (value) => void this.lines.push(`${name} = ${this.#operand(type, value)};`),
    };
  }

  add<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.#infix(a, "+", b);
  }

  sub<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.#infix(a, "-", b);
  }

  mul<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.#infix(a, "*", b);
  }

  div(a: F32, b: F32 | number): F32 {
    return this.#infix(a, "/", b);
  }

  fma(a: F32, b: F32 | number, c: F32 | number): F32 {
    return this.define("f32", `fma(${a}, ${this.#operand("f32", b)}, ${this.#operand("f32", c)})`);
  }

  quotient(a: U32, b: U32 | number): U32 {
    return this.#infix(a, "/", b);
  }

  remainder(a: U32, b: U32 | number): U32 {
    return this.#infix(a, "%", b);
  }

  min<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.define(typeOf(a), `min(${a}, ${this.#operand(typeOf(a), b)})`);
  }

  max<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.define(typeOf(a), `max(${a}, ${this.#operand(typeOf(a), b)})`);
  }

  neg<T extends "f32" | "i32">(a: Value<T>): Value<T> {
    return this.define(typeOf(a), `-${a}`);
  }

  /** On bits: devices that flush denormals to zero keep them. */
  abs(a: F32): F32 {
    return this.define("f32", `bitcast<f32>(bitcast<u32>(${a}) & 0x7fffffffu)`);
  }

  sqrt(a: F32): F32 {
    return this.#call("f32", `rootAll(${a})`, specials, edges, functions);
  }

  floor(a: F32): F32 {
    return this.define("f32", `floor(${a})`);
  }

  round(a: F32): F32 {
    return this.define("f32", `round(${a})`);
  }

  trunc(a: F32): F32 {
    return this.define("f32", `trunc(${a})`);
  }

  exp(a: F32): F32 {
    return this.#call("f32", `expAll(${a})`, specials, edges, functions);
  }

  log(a: F32): F32 {
    return this.#call("f32", `logAll(${a})`, specials, edges, functions);
  }

  and(a: U32, b: U32 | number): U32 {
    return this.#infix(a, "&", b);
  }

  or(a: U32, b: U32 | number): U32 {
    return this.#infix(a, "|", b);
  }

  xor(a: U32, b: U32 | number): U32 {
    return this.#infix(a, "^", b);
  }

  shiftLeft(a: U32, bits: U32 | number): U32 {
    return this.#infix(a, "<<", bits);
  }

  shiftRight(a: U32, bits: U32 | number): U32 {
    return this.#infix(a, ">>", bits);
  }

  both(a: Bool, b: Bool): Bool {
    return this.define("bool", `${a} && ${b}`);
  }

  either(a: Bool, b: Bool): Bool {
    return this.define("bool", `${a} || ${b}`);
  }

  not(a: Bool): Bool {
    return this.define("bool", `!${a}`);
  }

  select<T extends NumberType>(condition: Bool, a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.define(typeOf(a), `select(${this.#operand(typeOf(a), b)}, ${a}, ${condition})`);
  }

  compare<T extends NumberType>(comparison: Comparison, a: Value<T>, b: Value<NoInfer<T>> | number): Bool {
    const other = this.#operand(typeOf(a), b);
    if (typeOf(a) !== "f32") {
      const signs = { eq: "==", ne: "!=", lt: "<", le: "<=", gt: ">", ge: ">=" } as const;
      return this.define("bool", `${a} ${signs[comparison]} ${other}`);
    }
    const calls = {
      eq: `isEqual(${a}, ${other})`,
      ne: `!isEqual(${a}, ${other})`,
      lt: `isLess(${a}, ${other})`,
      le: `isLessOrEqual(${a}, ${other})`,
      gt: `isLess(${other}, ${a})`,
      ge: `isLessOrEqual(${other}, ${a})`,
    } as const;
    return this.#call("bool", calls[comparison], specials, orderKeys, comparisons);
  }

  isNaN(a: F32): Bool {
    return this.#call("bool", `isNan(${a})`, specials);
  }

  bitcast<T extends NumberType>(type: T, a: Value<NumberType>): Value<T> {
    return this.define(type, `bitcast<${type}>(${a})`);
  }

  convert<T extends NumberType>(type: T, a: Value<NumberType>): Value<T> {
    if (type === "f32") return this.define(type, `f32(${a})`);
    return this.#call(type, `${type === "i32" ? "toInteger" : "toUnsigned"}(${a})`, specials, edges, functions);
  }

  toHalf(a: F32): U32 {
    return this.#call("u32", `toHalf(${a})`, toHalf);
  }

  load(name: string, index: U32 | number): F32 {
    return this.#call("f32", `load_${name}(${this.#operand("u32", index)})`, loader(name, this.#dtypes[name]!));
  }

  loadInteger(name: string, index: U32 | number): I32 {
    return this.define("i32", `${name}[${this.#operand("u32", index)}]`);
  }

  loadBits(name: string, index: U32 | number): U32 {
    const at = this.#operand("u32", index);
    const width = 8 * layoutOf(this.#dtypes[name]!).bytes;
    if (width === 32) return this.define("u32", `bitcast<u32>(${name}[${at}])`);
    const [shift, within] = width === 16 ? ["1u", "1u"] : ["2u", "3u"];
    return this.define("u32", `(${name}[${at} >> ${shift}] >> ((${at} & ${within}) * ${width}u)) & ${2 ** width - 1}u`);
  }

  store(name: string, index: U32 | number, value: Value<NumberType>): void {
    this.written.add(name);
    const dtype = deviceType(this.#dtypes[name]!);
    const type = dtype === "f32" || dtype === "i32" ? dtype : "u32";
    const stored = type === typeOf(value) ? value : `bitcast<${type}>(${value})`;
    this.lines.push(`${name}[${this.#operand("u32", index)}] = ${stored};`);
  }

  shared<T extends NumberType>(type: T, count: number): SharedArray<T> {
    const name = `shared${this.#arrays++}`;
    this.#declarations.add(`var<workgroup> ${name}: array<${type}, ${count}>;`);
    return {
      get: (index) => this.define(type, `${name}[${this.#operand("u32", index)}]`),
      set: (index, value) => void this.lines.push(`${name}[${this.#operand("u32", index)}] = ${value};`),
    };
  }

  sync(): void {
    this.lines.push("workgroupBarrier();");
  }

  lane(): U32 {
    return this.define("u32", "lane");
  }

  if(condition: Bool, then: () => void, otherwise?: () => void): void {
    this.lines.push(`if (${condition}) {`);
    then();
    if (otherwise !== undefined) {
      this.lines.push("} else {");
      otherwise();
    }
    this.lines.push("}");
  }

  for(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void {
    const name = `u_${this.#values++}` as U32;
    const [start, end, by] = [from, to, step].map((bound) => this.#operand("u32", bound));
    this.lines.push(`for (var at_${name} = ${start}; at_${name} < ${end}; at_${name} += ${by}) {`, `let ${name} = at_${name};`);
    body(name);
    this.lines.push("}");
  }

  forUniform(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void {
    this.for(from, to, step, body);
  }

  while(test: () => Bool, body: () => void): void {
    this.lines.push("loop {");
    this.lines.push(`if (!${test()}) { break; }`);
    body();
    this.lines.push("}");
  }

  /** Evaluates an expression that calls functions of the blocks. */
  #call<T extends ValueType>(type: T, expression: string, ...blocks: readonly string[]): Value<T> {
    for (const block of blocks) this.#declarations.add(block);
    return this.define(type, expression);
  }

  #infix<T extends NumberType>(a: Value<T>, operator: string, b: Value<T> | number): Value<T> {
    return this.define(typeOf(a), `${a} ${operator} ${this.#operand(typeOf(a), b)}`);
  }

  #operand(type: NumberType, value: Value<NumberType> | number): string {
    if (typeof value === "string") return value;
    if (type === "i32") return value < 0 ? `i32(${value})` : `${value}i`;
    if (type === "u32") return `${value}u`;
    if (Number.isFinite(value)) return `${Object.is(value, -0) ? "-0" : value}f`;
    this.#declarations.add(specials);
    if (Number.isNaN(value)) return "nan()";
    this.#declarations.add(edges);
    return value > 0 ? "bitcast<f32>(infinityBits)" : "bitcast<f32>(infinityBits | 0x80000000u)";
  }
}

function typeOf<T extends ValueType>(value: Value<T>): T {
  return typeOfPrefix.get(value[0]!) as T;
}
