import { type DType, isQuantized, layoutOf } from "@centella/core";
import {
  type BlockBytes,
  type Bool,
  type Comparison,
  type Emitter,
  type F32,
  type I32,
  isNativeBlock,
  loadBlockWeights,
  type NumberType,
  type Reducer,
  type SharedArray,
  type U32,
  type Value,
  type Values,
  type ValueType,
  type Variable,
} from "@centella/gpu-kernels";
import { deviceType } from "../layout.ts";
import {
  codebook,
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

/** `fn load_<name>(i: u32) -> f32`: element i of a binding whose tensor is f32, f16, bf16 or a block type. Blocks of declarations. */
export function loader(name: string, dtype: DType): readonly string[] {
  const head = `fn load_${name}(i: u32) -> f32`;
  if (isQuantized(dtype) && isNativeBlock(dtype)) {
    const k = new WgslEmitter({ [name]: dtype });
    const [weight] = loadBlockWeights(k, dtype, name, k.define("u32", "i"), 1);
    return [...k.declarations, `${head} {\n${k.lines.join("\n")}\nreturn ${weight};\n}`];
  }
  switch (deviceType(dtype)) {
    case "f16":
      return [`${head} { return unpack2x16float(${name}[i >> 1u])[i & 1u]; }`];
    case "bf16":
      return [`${head} { let word = ${name}[i >> 1u]; return bitcast<f32>(select(word << 16u, word & 0xffff0000u, (i & 1u) == 1u)); }`];
    default:
      return [`${head} { return ${name}[i]; }`];
  }
}

/** `fn load4_<name>(i: u32) -> vec4f`: elements i to i + 3, i a multiple of 4, of such a binding. Blocks of declarations. */
function vectorLoader(name: string, dtype: DType): readonly string[] {
  const head = `fn load4_${name}(i: u32) -> vec4f`;
  if (isQuantized(dtype) && isNativeBlock(dtype)) {
    const k = new WgslEmitter({ [name]: dtype });
    const weights = loadBlockWeights(k, dtype, name, k.define("u32", "i"), 4);
    return [...k.declarations, `${head} {\n${k.lines.join("\n")}\nreturn vec4f(${weights.join(", ")});\n}`];
  }
  const elements = [0, 1, 2, 3].map((i) => `load_${name}(i + ${i}u)`);
  return [...loader(name, dtype), `${head} { return vec4f(${elements.join(", ")}); }`];
}

/** Writes WGSL statements. */
export class WgslEmitter implements Emitter {
  readonly lines: string[] = [];
  /** Arguments that are written, and of these the ones that are written by halves of words. */
  readonly written: Set<string> = new Set();
  readonly halved: Set<string> = new Set();
  readonly lanes: number;
  readonly #declarations = new Set<string>();
  readonly #dtypes: Readonly<Record<string, DType>>;
  #values = 0;
  #arrays = 0;

  /** `dtypes` are those of the arguments, `lanes` the size of the workgroup. */
  constructor(dtypes: Readonly<Record<string, DType>> = {}, lanes = 1) {
    this.#dtypes = dtypes;
    this.lanes = lanes;
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

  divRounded(a: F32, b: F32 | number): F32 {
    return this.#call("f32", `quotient(${a}, ${this.#operand("f32", b)})`, quotient);
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

  multiplyHigh(a: U32, b: U32 | number): U32 {
    return this.#call("u32", `multiplyHigh(${a}, ${this.#operand("u32", b)})`, multiplyHigh);
  }

  divideFixed([whole, high, low]: readonly [U32, U32, U32], by: F32): readonly [U32, U32] {
    const name = `pair_${this.#values++}`;
    for (const block of divideFixed) this.#declarations.add(block);
    this.lines.push(`let ${name} = divideFixed(${whole}, ${high}, ${low}, ${by});`);
    return [this.define("u32", `${name}.x`), this.define("u32", `${name}.y`)];
  }

  min<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.define(typeOf(a), `min(${a}, ${this.#operand(typeOf(a), b)})`);
  }

  max<T extends NumberType>(a: Value<T>, b: Value<NoInfer<T>> | number): Value<T> {
    return this.define(typeOf(a), `max(${a}, ${this.#operand(typeOf(a), b)})`);
  }

  maximum(a: F32, b: F32 | number): F32 {
    return this.#call("f32", `maximumOf(${a}, ${this.#operand("f32", b)})`, maximumOf);
  }

  minimum(a: F32, b: F32 | number): F32 {
    return this.#call("f32", `minimumOf(${a}, ${this.#operand("f32", b)})`, minimumOf);
  }

  neg<T extends "f32" | "i32">(a: Value<T>): Value<T> {
    return this.define(typeOf(a), `-${a}`);
  }

  /** On bits: devices that flush denormals to zero keep them. */
  abs(a: F32): F32 {
    return this.define("f32", `bitcast<f32>(bitcast<u32>(${a}) & 0x7fffffffu)`);
  }

  sqrt(a: F32): F32 {
    return this.#call("f32", `rootAll(${a})`, rootAll);
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
    return this.#call("f32", `expAll(${a})`, expAll);
  }

  log(a: F32): F32 {
    return this.#call("f32", `logAll(${a})`, logAll);
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
    return this.#call("bool", calls[comparison], comparisons);
  }

  isNaN(a: F32): Bool {
    return this.#call("bool", `isNan(${a})`, isNan);
  }

  bitcast<T extends NumberType>(type: T, a: Value<NumberType>): Value<T> {
    return this.define(type, `bitcast<${type}>(${a})`);
  }

  convert<T extends NumberType>(type: T, a: Value<NumberType>): Value<T> {
    if (type === "f32") return this.define(type, `f32(${a})`);
    return type === "i32" ? this.#call(type, `toInteger(${a})`, toInteger) : this.#call(type, `toUnsigned(${a})`, toUnsigned);
  }

  toHalf(a: F32): U32 {
    return this.#call("u32", `toHalf(${a})`, halfOf);
  }

  load(name: string, index: U32 | number): F32 {
    const at = this.#operand("u32", index);
    const dtype = this.#dtypes[name]!;
    if (deviceType(dtype) === "f32") return this.define("f32", `${name}[${at}]`);
    return this.#call("f32", `load_${name}(${at})`, loader(name, dtype));
  }

  loadVector(name: string, index: U32 | number): readonly F32[] {
    const vector = `vector_${this.#values++}`;
    for (const block of vectorLoader(name, this.#dtypes[name]!)) this.#declarations.add(block);
    this.lines.push(`let ${vector} = load4_${name}(${this.#operand("u32", index)});`);
    const element = (part: string): F32 => this.define("f32", `${vector}.${part}`);
    return [element("x"), element("y"), element("z"), element("w")];
  }

  blockAt(name: string, index: U32, bytes: number): BlockBytes {
    const base = this.mul(index, bytes);
    const place = (at: U32 | number): U32 => (at === 0 ? base : this.add(base, at));
    return {
      byte: (at) => {
        const from = place(at);
        return this.define("u32", `(${name}[${from} >> 2u] >> ((${from} & 3u) * 8u)) & 0xffu`);
      },
      half: (at) => {
        const from = place(at);
        return this.define("f32", `unpack2x16float(${name}[${from} >> 2u] >> ((${from} & 2u) * 8u)).x`);
      },
    };
  }

  lookUp(values: readonly number[], index: U32): F32 {
    const { name, text } = codebook(values);
    return this.#call("f32", `${name}(${index})`, text);
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

  storeHalf(name: string, index: U32 | number, bits: U32): void {
    this.written.add(name);
    this.halved.add(name);
    const at = this.#operand("u32", index);
    this.lines.push(`atomicAnd(&${name}[${at} / 2u], ~(0xffffu << (${at} % 2u * 16u)));`);
    this.lines.push(`atomicOr(&${name}[${at} / 2u], ${bits} << (${at} % 2u * 16u));`);
  }

  shared<T extends NumberType>(type: T, count: number): SharedArray<T> {
    const name = this.#shared(type, count);
    return {
      get: (index) => this.define(type, `${name}[${this.#operand("u32", index)}]`),
      set: (index, value) => void this.lines.push(`${name}[${this.#operand("u32", index)}] = ${value};`),
    };
  }

  /** In shared memory, by halves; the order is fixed by the number of lanes, a power of two. */
  reducer<const T extends readonly NumberType[]>(types: T): Reducer<T> {
    const cells = types.map((type) => this.#shared(type, this.lanes));
    // A tuple through `map` is an array to the types.
    const read = (at: string): Values<T> => cells.map((cell, i) => this.define(types[i]!, `${cell}[${at}]`)) as unknown as Values<T>;
    const write = (values: Values<T>): void => cells.forEach((cell, i) => void this.lines.push(`${cell}[lane] = ${values[i]};`));
    return (values, combine) => {
      write(values);
      this.lines.push("workgroupBarrier();", `for (var stride = ${this.lanes / 2}u; stride > 0u; stride >>= 1u) {`, "if (lane < stride) {");
      write(combine(read("lane"), read("lane + stride")));
      this.lines.push("}", "workgroupBarrier();", "}");
      // Waits before and after: the cells can be used again.
      return cells.map((cell, i) => this.define(types[i]!, `workgroupUniformLoad(&${cell}[0])`)) as unknown as Values<T>;
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

  #shared(type: NumberType, count: number): string {
    const name = `shared${this.#arrays++}`;
    this.#declarations.add(`var<workgroup> ${name}: array<${type}, ${count}>;`);
    return name;
  }

  /** Evaluates an expression that calls functions, whose declarations these are. */
  #call<T extends ValueType>(type: T, expression: string, declarations: readonly string[]): Value<T> {
    for (const block of declarations) this.#declarations.add(block);
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
    for (const block of [...isNan, ...infinite]) this.#declarations.add(block);
    if (Number.isNaN(value)) return "nan()";
    return value > 0 ? "bitcast<f32>(infinityBits)" : "bitcast<f32>(infinityBits | 0x80000000u)";
  }
}

function typeOf<T extends ValueType>(value: Value<T>): T {
  return typeOfPrefix.get(value[0]!) as T;
}
