import type { Bool, Comparison, F32, NumberType, U32, Value, ValueType, Variable } from "@centella/gpu-kernels";
import {
  comparisons,
  divideFixed,
  expAll,
  halfOf,
  infinite,
  isNan,
  logAll,
  maximumOf,
  minimumOf,
  multiplyHigh,
  quotient,
  rootAll,
  toInteger,
  toUnsigned,
} from "./functions.ts";

const prefixes: Readonly<Record<ValueType, string>> = { f32: "f", i32: "i", u32: "u", bool: "b" };
const typeOfPrefix = new Map(Object.entries(prefixes).map(([type, prefix]) => [prefix, type as ValueType]));

/** WGSL statements that compute values from values. */
export class WgslArithmetic {
  readonly lines: string[] = [];
  readonly #declarations = new Set<string>();
  /** What differences are taken from, by their names. */
  readonly #minuends = new Map<unknown, Value<NumberType>>();
  #names = 0;

  /** Functions and shared memory that the statements need, block by block. */
  get declarations(): readonly string[] {
    return [...this.#declarations];
  }

  /** Names the value of an expression. */
  define<T extends ValueType>(type: T, expression: string): Value<T> {
    const name = this.name(`${prefixes[type]}_`);
    this.lines.push(`let ${name} = ${expression};`);
    return name as Value<T>;
  }

  constant<T extends NumberType>(type: T, value: number): Value<T> {
    return this.define(type, this.operand(type, value));
  }

  variable<T extends NumberType>(type: T, initial: Value<T> | number): Variable<T> {
    const name = this.name("v");
    this.lines.push(`var ${name}: ${type} = ${this.operand(type, initial)};`);
    return {
      get: () => this.define(type, name),
      set: (value) => void this.lines.push(`${name} = ${this.operand(type, value)};`),
    };
  }

  add<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.infix(a, "+", b);
  }

  /**
   * `a - (a - x)` rounds x. WGSL permits compilers to make x of it, and NVIDIA's does; not if the difference passes through bits, some of which
   * it does not know.
   */
  sub<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    const isAgain = typeOf(a) === "f32" && this.#minuends.get(b) === a;
    const known = isAgain ? this.#opaque(b as string as F32) : b;
    const difference = this.infix(a, "-", known as typeof b);
    this.#minuends.set(difference, a);
    return difference;
  }

  mul<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.infix(a, "*", b);
  }

  /** Sums of products may be contracted, but not where the product passes through bits of which compilers do not know some: see {@link sub}. */
  mulRounded(a: F32, b: F32 | number): F32 {
    return this.#opaque(this.mul(a, b));
  }

  /** The same value, of which compilers know nothing. No dispatch has 2^31 groups. */
  #opaque(value: F32): F32 {
    return this.define("f32", `bitcast<f32>(bitcast<u32>(${value}) | (p.groups >> 31u))`);
  }

  div(a: F32, b: F32 | number): F32 {
    return this.infix(a, "/", b);
  }

  divRounded(a: F32, b: F32 | number): F32 {
    return this.call("f32", `quotient(${a}, ${this.operand("f32", b)})`, quotient);
  }

  fma(a: F32, b: F32 | number, c: F32 | number): F32 {
    return this.define("f32", `fma(${a}, ${this.operand("f32", b)}, ${this.operand("f32", c)})`);
  }

  quotient(a: U32, b: U32 | number): U32 {
    return this.infix(a, "/", b);
  }

  remainder(a: U32, b: U32 | number): U32 {
    return this.infix(a, "%", b);
  }

  multiplyHigh(a: U32, b: U32 | number): U32 {
    return this.call("u32", `multiplyHigh(${a}, ${this.operand("u32", b)})`, multiplyHigh);
  }

  divideFixed([whole, high, low]: readonly [U32, U32, U32], by: F32): readonly [U32, U32] {
    const name = this.name("pair_");
    this.addDeclarations(divideFixed);
    this.lines.push(`let ${name} = divideFixed(${whole}, ${high}, ${low}, ${by});`);
    return [this.define("u32", `${name}.x`), this.define("u32", `${name}.y`)];
  }

  min<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.define(typeOf(a), `min(${a}, ${this.operand(typeOf(a), b)})`);
  }

  max<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.define(typeOf(a), `max(${a}, ${this.operand(typeOf(a), b)})`);
  }

  maximum(a: F32, b: F32 | number): F32 {
    return this.call("f32", `maximumOf(${a}, ${this.operand("f32", b)})`, maximumOf);
  }

  minimum(a: F32, b: F32 | number): F32 {
    return this.call("f32", `minimumOf(${a}, ${this.operand("f32", b)})`, minimumOf);
  }

  neg<T extends "f32" | "i32">(a: Value<T>): Value<T> {
    return this.define(typeOf(a), `-${a}`);
  }

  /** On bits: devices that flush denormals to zero keep them. */
  abs(a: F32): F32 {
    return this.define("f32", `bitcast<f32>(bitcast<u32>(${a}) & 0x7fffffffu)`);
  }

  sqrt(a: F32): F32 {
    return this.call("f32", `rootAll(${a})`, rootAll);
  }

  ceil(a: F32): F32 {
    return this.define("f32", `ceil(${a})`);
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
    return this.call("f32", `expAll(${a})`, expAll);
  }

  log(a: F32): F32 {
    return this.call("f32", `logAll(${a})`, logAll);
  }

  and(a: U32, b: U32 | number): U32 {
    return this.infix(a, "&", b);
  }

  or(a: U32, b: U32 | number): U32 {
    return this.infix(a, "|", b);
  }

  xor(a: U32, b: U32 | number): U32 {
    return this.infix(a, "^", b);
  }

  shiftLeft(a: U32, bits: U32 | number): U32 {
    return this.infix(a, "<<", bits);
  }

  shiftRight(a: U32, bits: U32 | number): U32 {
    return this.infix(a, ">>", bits);
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
    return this.define(typeOf(a), `select(${this.operand(typeOf(a), b)}, ${a}, ${condition})`);
  }

  compare<T extends NumberType>(comparison: Comparison, a: Value<T>, b: Value<NoInfer<T>> | number): Bool {
    const other = this.operand(typeOf(a), b);
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
    return this.call("bool", calls[comparison], comparisons);
  }

  isNaN(a: F32): Bool {
    return this.call("bool", `isNan(${a})`, isNan);
  }

  bitcast<T extends NumberType>(type: T, a: Value<NumberType>): Value<T> {
    return this.define(type, `bitcast<${type}>(${a})`);
  }

  convert<T extends NumberType>(type: T, a: Value<NumberType>): Value<T> {
    if (type === "f32") return this.define(type, `f32(${a})`);
    return type === "i32" ? this.call(type, `toInteger(${a})`, toInteger) : this.call(type, `toUnsigned(${a})`, toUnsigned);
  }

  toHalf(a: F32): U32 {
    return this.call("u32", `toHalf(${a})`, halfOf);
  }

  fromHalf(bits: U32): F32 {
    return this.define("f32", `unpack2x16float(${bits}).x`);
  }

  /** Returns an unused name. */
  protected name(prefix: string): string {
    return `${prefix}${this.#names++}`;
  }

  protected addDeclarations(blocks: readonly string[]): void {
    for (const block of blocks) this.#declarations.add(block);
  }

  /** Evaluates an expression that calls functions. `declarations` declare them. */
  protected call<T extends ValueType>(type: T, expression: string, declarations: readonly string[]): Value<T> {
    this.addDeclarations(declarations);
    return this.define(type, expression);
  }

  protected infix<T extends NumberType>(a: Value<T>, operator: string, b: Value<T> | number): Value<T> {
    return this.define(typeOf(a), `${a} ${operator} ${this.operand(typeOf(a), b)}`);
  }

  protected operand(type: NumberType, value: Value<NumberType> | number): string {
    if (typeof value === "string") return value;
    if (type === "i32") return value < 0 ? `i32(${value})` : `${value}i`;
    if (type === "u32") return `${value}u`;
    if (Number.isFinite(value)) return `${Object.is(value, -0) ? "-0" : value}f`;
    this.addDeclarations([...isNan, ...infinite]);
    if (Number.isNaN(value)) return "nan()";
    return value > 0 ? "bitcast<f32>(infinityBits)" : "bitcast<f32>(infinityBits | 0x80000000u)";
  }
}

/** The type of a value, by its name. */
export function typeOf<T extends ValueType>(value: Value<T>): T {
  return typeOfPrefix.get(value[0]!) as T;
}
