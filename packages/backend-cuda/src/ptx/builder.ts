import { type Feature, f32Literal, f64Literal, missingFor, ptxVersion, type Target } from "./text.ts";
import {
  declarations,
  type Elem,
  elemBytes,
  type F32,
  type Global,
  type Operand,
  type Pred,
  prefixes,
  type Reg,
  type RegType,
  regTypes,
  type Shared,
  type U32,
} from "./types.ts";

type Integer = "u32" | "s32" | "u64";
type Float = "f32" | "f64";
type Bits = "u32" | "s32" | "u64" | "pred";
export type Comparison = "eq" | "ne" | "lt" | "le" | "gt" | "ge";

const typeOfPrefix = new Map<string, RegType>(regTypes.map((type) => [prefixes[type], type]));

/** The type of a register, which its name tells. */
export function typeOf(register: string): RegType {
  const type = typeOfPrefix.get(register[1]!);
  if (register[0] !== "%" || type === undefined) throw new TypeError(`ptx: expected a register, got ${register}`);
  return type;
}

/**
 * A register that is written more than once. It is no {@link Reg}: reading it copies, so a value that was read before an
 * assignment never changes with it.
 */
export class Var<T extends RegType> {
  readonly #builder: PtxBuilder;
  readonly #register: Reg<T>;
  constructor(builder: PtxBuilder, register: Reg<T>) {
    this.#builder = builder;
    this.#register = register;
  }
  get(): Reg<T> {
    return this.#builder.copy(this.#register);
  }
  set(value: Reg<T> | number): void {
    this.#builder.assign(this.#register, value);
  }
  /** Adds `a * b`, rounded once: an fma in place. */
  accumulate(this: Var<"f32">, a: F32, b: F32): void {
    this.#builder.emit(`fma.rn.f32 ${this.#register}, ${a}, ${b}, ${this.#register}`);
  }
}

/** Collects one kernel's text. Registers are numbered in order of emission: the same calls give the same bytes. */
export class PtxBuilder {
  readonly entry: string;
  readonly blockThreads: number;
  readonly target: Target;
  readonly #params: readonly string[];
  readonly #lines: string[] = [];
  readonly #tables: string[] = [];
  readonly #counts = new Map<RegType, number>();
  #labels = 0;
  #divergent = 0;
  #sharedBytes = 0;

  /** `params` are names of 64-bit addresses of global memory, the only kind of parameter. */
  constructor(entry: string, params: readonly string[], blockThreads: number, target: Target = "sm_80") {
    this.entry = entry;
    this.#params = params;
    this.blockThreads = blockThreads;
    this.target = target;
  }

  /** Appends one instruction. */
  emit(instruction: string): void {
    this.#lines.push(`  ${instruction};`);
  }

  /** @throws {Error} if the kernel's target lacks `feature` */
  require(feature: Feature): void {
    const reason = missingFor(feature, this.target);
    if (reason !== undefined) throw new Error(`ptx ${this.entry}: ${reason}`);
  }

  // ---- registers and literals

  reg<T extends RegType>(type: T): Reg<T> {
    const number = this.#counts.get(type) ?? 0;
    this.#counts.set(type, number + 1);
    return `%${prefixes[type]}${number}` as Reg<T>;
  }

  /** `value` written as an operand of type `type`. */
  operand(type: RegType, value: Operand): string {
    if (typeof value === "string") return value;
    if (type === "f32") return f32Literal(value);
    if (type === "f64") return f64Literal(value);
    if (!Number.isSafeInteger(value)) throw new TypeError(`ptx ${this.entry}: expected a whole number for ${type}, got ${value}`);
    return String(value);
  }

  /** A register that holds `value`. */
  constant<T extends RegType>(type: T, value: number): Reg<T> {
    const to = this.reg(type);
    this.assign(to, value);
    return to;
  }

  variable<T extends RegType>(type: T, initial: Reg<T> | number): Var<T> {
    const register = this.reg(type);
    this.assign(register, initial);
    return new Var(this, register);
  }

  copy<T extends RegType>(from: Reg<T>): Reg<T> {
    const to = this.reg(typeOf(from)) as Reg<T>;
    this.assign(to, from);
    return to;
  }

  /** For {@link Var} and loops alone: everything else treats registers as written once. */
  assign<T extends RegType>(to: Reg<T>, value: Reg<T> | number): void {
    const type = typeOf(to);
    this.emit(`mov.${type} ${to}, ${this.operand(type, value)}`);
  }

  // ---- where the thread is

  thread(): U32 {
    return this.#special("%tid.x");
  }

  block(): U32 {
    return this.#special("%ctaid.x");
  }

  #special(name: string): U32 {
    const to = this.reg("u32");
    this.emit(`mov.u32 ${to}, ${name}`);
    return to;
  }

  // ---- arithmetic

  add<T extends Integer | Float>(a: Reg<T>, b: Reg<T> | number): Reg<T> {
    return this.#rounded("add", a, b);
  }

  sub<T extends Integer | Float>(a: Reg<T>, b: Reg<T> | number): Reg<T> {
    return this.#rounded("sub", a, b);
  }

  /** The low half of the product for integers. */
  mul<T extends Integer | Float>(a: Reg<T>, b: Reg<T> | number): Reg<T> {
    return this.#isFloat(a) ? this.#rounded("mul", a, b) : this.#binary(`mul.lo.${typeOf(a)}`, a, b);
  }

  /** `a / b`, correctly rounded; toward zero for integers. */
  div<T extends Integer | Float>(a: Reg<T>, b: Reg<T> | number): Reg<T> {
    return this.#rounded("div", a, b);
  }

  rem(a: U32, b: U32 | number): U32 {
    return this.#binary("rem.u32", a, b);
  }

  /** `a * b + c`, rounded once. */
  fma<T extends Float>(a: Reg<T>, b: Reg<T> | number, c: Reg<T> | number): Reg<T> {
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
  min<T extends "u32" | "s32" | "f32">(a: Reg<T>, b: Reg<T> | number): Reg<T> {
    return this.#binary(this.#isFloat(a) ? "min.NaN.f32" : `min.${typeOf(a)}`, a, b);
  }

  /** For f32, a NaN operand gives NaN. */
  max<T extends "u32" | "s32" | "f32">(a: Reg<T>, b: Reg<T> | number): Reg<T> {
    return this.#binary(this.#isFloat(a) ? "max.NaN.f32" : `max.${typeOf(a)}`, a, b);
  }

  neg<T extends Float | "s32">(a: Reg<T>): Reg<T> {
    return this.#unary(`neg.${typeOf(a)}`, a);
  }

  abs<T extends Float>(a: Reg<T>): Reg<T> {
    return this.#unary(`abs.${typeOf(a)}`, a);
  }

  sqrt(a: F32): F32 {
    return this.#unary("sqrt.rn.f32", a);
  }

  /** Base-2 logarithm; absolute error under 2^-22 near one, relative error under 2^-22 elsewhere. */
  log2(a: F32): F32 {
    return this.#unary("lg2.approx.f32", a);
  }

  /** Nearest whole number, halves to even. */
  round<T extends Float>(a: Reg<T>): Reg<T> {
    return this.#unary(`cvt.rni.${typeOf(a)}.${typeOf(a)}`, a);
  }

  and<T extends Bits>(a: Reg<T>, b: Reg<T> | number): Reg<T> {
    return this.#binary(`and.${this.#bits(a)}`, a, b);
  }

  or<T extends Bits>(a: Reg<T>, b: Reg<T> | number): Reg<T> {
    return this.#binary(`or.${this.#bits(a)}`, a, b);
  }

  not(a: Pred): Pred {
    return this.#unary("not.pred", a);
  }

  shiftLeft<T extends "u32" | "s32">(a: Reg<T>, bits: U32 | number): Reg<T> {
    return this.#shift("shl.b32", a, bits);
  }

  shiftRight<T extends "u32" | "s32">(a: Reg<T>, bits: U32 | number): Reg<T> {
    return this.#shift(`shr.${typeOf(a)}`, a, bits);
  }

  /** `condition ? a : b` */
  select<T extends Integer | Float>(condition: Pred, a: Reg<T>, b: Reg<T> | number): Reg<T> {
    const type = typeOf(a);
    const to = this.reg(type) as Reg<T>;
    this.emit(`selp.${type} ${to}, ${a}, ${this.operand(type, b)}, ${condition}`);
    return to;
  }

  /** Comparison; with a NaN every one but "ne" is false. */
  compare<T extends Integer | Float>(comparison: Comparison, a: Reg<T>, b: Reg<T> | number): Pred {
    const type = typeOf(a);
    const to = this.reg("pred");
    const name = comparison === "ne" && this.#isFloat(a) ? "neu" : comparison;
    this.emit(`setp.${name}.${type} ${to}, ${a}, ${this.operand(type, b)}`);
    return to;
  }

  isNaN(a: F32): Pred {
    const to = this.reg("pred");
    this.emit(`setp.nan.f32 ${to}, ${a}, ${a}`);
    return to;
  }

  // ---- conversions

  /** Value conversion; rounds to nearest even to a float, to nearest even to an integer. */
  convert<T extends "u32" | "s32" | "u64" | "f32" | "f64">(to: T, a: Reg<Integer | Float>): Reg<T> {
    const from = typeOf(a);
    const register = this.reg(to);
    if (from === to) {
      this.emit(`mov.${to} ${register}, ${a}`);
      return register;
    }
    const isFloat = (type: RegType): boolean => type === "f32" || type === "f64";
    let rounding = "";
    if (isFloat(to) && !(from === "f32" && to === "f64")) rounding = ".rn";
    else if (!isFloat(to) && isFloat(from)) rounding = ".rni";
    this.emit(`cvt${rounding}.${to}.${from} ${register}, ${a}`);
    return register;
  }

  /** The same 32 bits as another type. */
  bitcast<T extends "u32" | "s32" | "f32">(to: T, a: Reg<"u32" | "s32" | "f32">): Reg<T> {
    const register = this.reg(to);
    this.emit(`mov.b32 ${register}, ${a}`);
    return register;
  }

  halfToFloat(a: Reg<"b16">): F32 {
    return this.#to("f32", "cvt.f32.f16", a);
  }

  /** Rounds to nearest even. */
  floatToHalf(a: F32): Reg<"b16"> {
    return this.#to("b16", "cvt.rn.f16.f32", a);
  }

  bfloatToFloat(a: Reg<"b16">): F32 {
    const wide: U32 = this.#to("u32", "cvt.u32.u16", a);
    return this.bitcast("f32", this.shiftLeft(wide, 16));
  }

  // ---- memory

  /** The address that the kernel was given for parameter `name`. */
  pointer<E extends Elem>(name: string, _elem: E): Global<E> {
    if (!this.#params.includes(name)) throw new Error(`ptx ${this.entry}: no parameter ${name}`);
    const generic = this.reg("u64");
    this.emit(`ld.param.u64 ${generic}, [${name}]`);
    return this.#unary<"u64">("cvta.to.global.u64", generic) as string as Global<E>;
  }

  /** A table of numbers that is part of the module, in global memory. */
  table<E extends "f32" | "f64">(elem: E, values: readonly number[]): Global<E> {
    const name = `table${this.#tables.length}`;
    const items = values.map((value) => this.operand(elem, value)).join(", ");
    this.#tables.push(`.global .align 8 .${elem} ${name}[${values.length}] = {${items}};`);
    const to = this.reg("u64");
    this.emit(`mov.u64 ${to}, ${name}`);
    return to as string as Global<E>;
  }

  /** Shared memory for `count` elements. */
  shared<E extends Elem>(elem: E, count: number): Shared<E> {
    const offset = Math.ceil(this.#sharedBytes / 16) * 16;
    this.#sharedBytes = offset + count * elemBytes[elem];
    const to = this.reg("u32");
    this.emit(`mov.u32 ${to}, shared`);
    return (offset === 0 ? to : this.add(to, offset)) as string as Shared<E>;
  }

  /** Address of the element `index` places after `base`. */
  at<E extends Elem>(elem: E, base: Global<E>, index: U32 | number): Global<E> {
    const to = this.reg("u64");
    if (typeof index === "number") this.emit(`add.u64 ${to}, ${base}, ${index * elemBytes[elem]}`);
    else this.emit(`mad.wide.u32 ${to}, ${index}, ${elemBytes[elem]}, ${base}`);
    return to as string as Global<E>;
  }

  /** Address of the element `index` places after `base`, in shared memory. */
  sharedAt<E extends Elem>(elem: E, base: Shared<E>, index: U32 | number): Shared<E> {
    const from = base as string as U32;
    const to = typeof index === "number" ? this.add(from, index * elemBytes[elem]) : this.mad(index, elemBytes[elem], from);
    return to as string as Shared<E>;
  }

  /** The element `offset` places after the address. */
  load<E extends Elem>(elem: E, from: Global<E> | Shared<E>, offset = 0): Reg<E> {
    const to = this.reg(elem);
    this.emit(`ld.${this.#space(from)}.${elem} ${to}, [${from}+${offset * elemBytes[elem]}]`);
    return to;
  }

  store<E extends Elem>(elem: E, to: Global<E> | Shared<E>, value: Reg<E>, offset = 0): void {
    this.emit(`st.${this.#space(to)}.${elem} [${to}+${offset * elemBytes[elem]}], ${value}`);
  }

  // ---- flow

  /** Runs `then` (else `otherwise`) in the threads for which `condition` holds; threads of a block may differ. */
  if(condition: Pred, then: () => void, otherwise?: () => void): void {
    this.#divergent++;
    this.ifUniform(condition, then, otherwise);
    this.#divergent--;
  }

  /** As {@link if}, for a condition that is the same in every thread of the block: `sync()` is allowed inside. */
  ifUniform(condition: Pred, then: () => void, otherwise?: () => void): void {
    const end = this.#label();
    if (otherwise === undefined) {
      this.emit(`@!${condition} bra ${end}`);
      then();
    } else {
      const branch = this.#label();
      this.emit(`@!${condition} bra ${branch}`);
      then();
      this.emit(`bra ${end}`);
      this.#place(branch);
      otherwise();
    }
    this.#place(end);
  }

  /** `for (i = from; i < to; i += step)`; threads of a block may differ in all three. */
  for(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void {
    this.#divergent++;
    this.forUniform(from, to, step, body);
    this.#divergent--;
  }

  /** As {@link for}, with bounds that are the same in every thread of the block: `sync()` is allowed inside. */
  forUniform(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void {
    const i = this.variable("u32", from);
    this.whileUniform(
      () => this.compare("lt", i.get(), to),
      () => {
        const now = i.get();
        body(now);
        i.set(this.add(now, step));
      },
    );
  }

  /** Tests, then runs `body`, as long as the test holds; the test must come out the same in every thread of the block. */
  whileUniform(test: () => Pred, body: () => void): void {
    const start = this.#label();
    const end = this.#label();
    // Tested at the end of the body as well: a loop whose back branch is unconditional has tripped driver compilers.
    this.emit(`@!${test()} bra ${end}`);
    this.#place(start);
    body();
    this.emit(`@${test()} bra ${start}`);
    this.#place(end);
  }

  /** Emits `body` `count` times. */
  unroll(count: number, body: (i: number) => void): void {
    for (let i = 0; i < count; i++) body(i);
  }

  /** Waits for every thread of the block. @throws {Error} inside flow in which threads may differ: it would hang there */
  sync(): void {
    if (this.#divergent > 0) throw new Error(`ptx ${this.entry}: sync() inside divergent flow`);
    this.emit("bar.sync 0");
  }

  /** The value that the lane whose number differs in `mask` holds. All lanes of the warp must take part. */
  shuffleXor<T extends "u32" | "s32" | "f32">(value: Reg<T>, mask: number): Reg<T> {
    const to = this.reg(typeOf(value)) as Reg<T>;
    this.emit(`shfl.sync.bfly.b32 ${to}, ${value}, ${mask}, 31, 0xFFFFFFFF`);
    return to;
  }

  /** The whole module. */
  text(): string {
    const registers = regTypes.flatMap((type) => {
      const count = this.#counts.get(type);
      return count === undefined ? [] : [`  .reg ${declarations[type]} %${prefixes[type]}<${count}>;`];
    });
    return [
      `.version ${ptxVersion}`,
      `.target ${this.target}`,
      ".address_size 64",
      ...this.#tables,
      `.visible .entry ${this.entry}(${this.#params.map((name) => `.param .u64 ${name}`).join(", ")})`,
      `.maxntid ${this.blockThreads}, 1, 1`,
      "{",
      ...registers,
      ...(this.#sharedBytes === 0 ? [] : [`  .shared .align 16 .b8 shared[${this.#sharedBytes}];`]),
      ...this.#lines,
      "  ret;",
      "}",
      "",
    ].join("\n");
  }

  // ---- helpers

  #label(): string {
    return `$L${this.#labels++}`;
  }

  #place(label: string): void {
    this.#lines.push(`${label}:`);
  }

  #isFloat(register: string): boolean {
    const type = typeOf(register);
    return type === "f32" || type === "f64";
  }

  #bits(register: string): string {
    const type = typeOf(register);
    return type === "pred" ? "pred" : type === "u64" ? "b64" : "b32";
  }

  #space(address: string): string {
    return typeOf(address) === "u64" ? "global" : "shared";
  }

  #unary<T extends RegType>(instruction: string, a: Reg<T>): Reg<T> {
    return this.#to(typeOf(a) as T, instruction, a);
  }

  #to<T extends RegType>(type: T, instruction: string, a: string): Reg<T> {
    const to = this.reg(type);
    this.emit(`${instruction} ${to}, ${a}`);
    return to;
  }

  #binary<T extends RegType>(instruction: string, a: Reg<T>, b: Reg<T> | number): Reg<T> {
    const type = typeOf(a) as T;
    const to = this.reg(type);
    this.emit(`${instruction} ${to}, ${a}, ${this.operand(type, b)}`);
    return to;
  }

  /** The rounding is spelled out: the driver's compiler may fuse a plain `mul` and `add`, and results would depend on it. */
  #rounded<T extends RegType>(name: string, a: Reg<T>, b: Reg<T> | number): Reg<T> {
    return this.#binary(`${name}${this.#isFloat(a) ? ".rn" : ""}.${typeOf(a)}`, a, b);
  }

  #shift<T extends "u32" | "s32">(instruction: string, a: Reg<T>, bits: U32 | number): Reg<T> {
    const to = this.reg(typeOf(a)) as Reg<T>;
    this.emit(`${instruction} ${to}, ${a}, ${this.operand("u32", bits)}`);
    return to;
  }
}
