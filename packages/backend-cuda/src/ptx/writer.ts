import type { F32 } from "@centella/gpu-kernels";
import { check, kind, listOf, oneOf, whole } from "@centella/quant/checks";
import { type Feature, f32Literal, f64Literal, missingFor, ptxVersion, type Target, targets, textTarget } from "./text.ts";
import { type Operand, prefixes, ptxNames, type Reg, type RegType, regTypes } from "./types.ts";

const percent = 0x25;

/** Types by the character code of their prefix. */
const typesByCode: readonly (RegType | undefined)[] = Array.from({ length: 128 }, (_, code) =>
  regTypes.find((type) => prefixes[type] === String.fromCharCode(code)),
);

/** Names of registers, by type and number, which all texts share: to write a name takes as long as to use it. */
const names: Readonly<Record<RegType, string[]>> = { bool: [], b16: [], u32: [], i32: [], u64: [], f32: [], f64: [] };

/** The type of a register, by its name. */
export function typeOf(register: string): RegType {
  const type = typesByCode[register.charCodeAt(1)];
  if (type === undefined || register.charCodeAt(0) !== percent) throw new TypeError(`ptx: expected a register, got ${register}`);
  return type;
}

/** PTX's name of a register's type. */
export function suffixOf(register: string): string {
  return ptxNames[typeOf(register)];
}

/**
 * A register that is written more than once. It is not a {@link Reg}: reading it copies, so a value that was read before an
 * assignment never changes with it.
 */
export class Var<T extends RegType> {
  readonly #writer: PtxWriter;
  readonly #register: Reg<T>;
  constructor(writer: PtxWriter, register: Reg<T>) {
    this.#writer = writer;
    this.#register = register;
  }
  get(): Reg<T> {
    return this.#writer.copy(this.#register);
  }
  set(value: Reg<T> | number): void {
    this.#writer.assign(this.#register, value);
  }
  /** Adds `a * b`, rounded once: an fma in place. */
  accumulate(this: Var<"f32">, a: F32, b: F32): void {
    this.#writer.emit(`fma.rn.f32 ${this.#register}, ${a}, ${b}, ${this.#register}`);
  }
}

/** The type that registers are declared with. Words may hold pairs of halves, which only registers without a number's type take. */
function declared(type: RegType): string {
  return type === "u32" ? "b32" : ptxNames[type];
}

/** Alignments of shared memory: of vectors, of bulk copies, and of operands of warpgroup products. */
export type SharedAlignment = 16 | 128 | 1024;

/** Most bytes of shared memory that a text may declare. */
const maxStaticShared = 48 * 1024;

const isIdentifier = (name: unknown): boolean => typeof name === "string" && /^[A-Za-z_$][\w$]*$/.test(name);
const identifier = kind("a name of letters, digits and _", isIdentifier);
const identifiers = listOf("names of letters, digits and _", identifier);
const wholeWarps = kind("a multiple of 32 from 32 to 1024", (count) => whole(32, 1024).accepts(count) && Number(count) % 32 === 0);

/** The text of one kernel: registers, literals and lines. Registers are numbered in order of emission: the same calls give the same bytes. */
export class PtxWriter {
  readonly entry: string;
  readonly blockThreads: number;
  readonly target: Target;
  protected readonly params: readonly string[];
  protected readonly maps: readonly string[];
  protected readonly tables: string[] = [];
  /** Lines before all others. */
  readonly #first: string[] = [];
  /** The text up to the last label, then the instructions after it. */
  readonly #lines: string[] = [];
  #instructions: string[] = [];
  /** Number of registers, by type. */
  readonly #counts: Record<RegType, number> = { bool: 0, b16: 0, u32: 0, i32: 0, u64: 0, f32: 0, f64: 0 };
  readonly #features = new Set<Feature>();
  #labels = 0;
  protected sharedBytes = 0;
  protected sharedAlignment: SharedAlignment = 16;
  /** Blocks that should fit on a multiprocessor: limits the registers of a thread. By default the driver's compiler chooses. */
  blocksPerMultiprocessor: 1 | 2 | 8 | undefined;
  protected cluster: readonly [number, number, number] | undefined;

  /**
   * `params` are names of 64-bit addresses of global memory, `maps` those of tensor maps. There are no other parameters. Blocks have `blockThreads`
   * threads, a multiple of 32 up to 1,024.
   * @throws {ArgumentError} for another number of threads, or a name that PTX does not take
   */
  constructor(entry: string, params: readonly string[], blockThreads: number, target: Target = "sm_80", maps: readonly string[] = []) {
    check("PtxBuilder", "entry", entry, identifier);
    check("PtxBuilder", "params", params, identifiers);
    check("PtxBuilder", "blockThreads", blockThreads, wholeWarps);
    check("PtxBuilder", "target", target, oneOf(...targets));
    check("PtxBuilder", "maps", maps, identifiers);
    this.entry = entry;
    this.params = params;
    this.maps = maps;
    this.blockThreads = blockThreads;
    this.target = target;
  }

  /** Appends one instruction. */
  emit(instruction: string): void {
    this.#instructions.push(instruction);
  }

  /** @throws {Error} if the kernel's target lacks `feature` */
  require(feature: Feature): void {
    const reason = missingFor(feature, this.target);
    if (reason !== undefined) throw new Error(`ptx ${this.entry}: ${reason}`);
    this.#features.add(feature);
  }

  reg<T extends RegType>(type: T): Reg<T> {
    const number = this.#counts[type]++;
    const known = names[type];
    if (number === known.length) known.push(`%${prefixes[type]}${number}`);
    return known[number] as Reg<T>;
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

  /** A variable that has its initial value on every path, also where flow passes by its first assignment. */
  outerVariable<T extends RegType>(type: T, initial: number): Var<T> {
    const register = this.reg(type);
    this.#first.push(`  mov.${ptxNames[type]} ${register}, ${this.operand(type, initial)};`);
    return new Var(this, register);
  }

  copy<T extends RegType>(from: Reg<T>): Reg<T> {
    const to = this.reg(typeOf(from)) as Reg<T>;
    this.assign(to, from);
    return to;
  }

  /** Only for {@link Var} and loops: everything else treats registers as written once. */
  assign<T extends RegType>(to: Reg<T>, value: Reg<T> | number): void {
    const type = typeOf(to);
    this.emit(`mov.${ptxNames[type]} ${to}, ${this.operand(type, value)}`);
  }

  protected label(): string {
    return `$L${this.#labels++}`;
  }

  protected place(label: string): void {
    this.#endLines();
    this.#lines.push(`${label}:`);
  }

  /** Makes lines of the last instructions. Each for itself would take strings of its own. */
  #endLines(): void {
    if (this.#instructions.length > 0) this.#lines.push(`  ${this.#instructions.join(";\n  ")};`);
    this.#instructions = [];
  }

  /** Bytes of shared memory that a launch has to ask for: all of it where it is more than the text may declare. */
  get dynamicSharedBytes(): number {
    return this.sharedBytes > maxStaticShared ? this.sharedBytes : 0;
  }

  /** The whole module. */
  text(): string {
    this.#endLines();
    const registers = regTypes.flatMap((type) => {
      const count = this.#counts[type];
      return count === 0 ? [] : [`  .reg .${declared(type)} %${prefixes[type]}<${count}>;`];
    });
    return [
      `.version ${ptxVersion}`,
      `.target ${textTarget(this.target, this.#features)}`,
      ".address_size 64",
      ...this.tables,
      ...(this.dynamicSharedBytes === 0 ? [] : [`.extern .shared .align ${this.sharedAlignment} .b8 shared[];`]),
      `.visible .entry ${this.entry}(${[...this.params.map((name) => `.param .u64 ${name}`), ...this.maps.map((name) => `.param .align 64 .b8 ${name}[128]`)].join(", ")})`,
      `.maxntid ${this.blockThreads}, 1, 1`,
      ...(this.blocksPerMultiprocessor === undefined ? [] : [`.minnctapersm ${this.blocksPerMultiprocessor}`]),
      ...(this.cluster === undefined ? [] : [".explicitcluster", `.reqnctapercluster ${this.cluster.join(", ")}`]),
      "{",
      ...registers,
      ...(this.sharedBytes === 0 || this.dynamicSharedBytes > 0
        ? []
        : [`  .shared .align ${this.sharedAlignment} .b8 shared[${this.sharedBytes}];`]),
      ...this.#first,
      ...this.#lines,
      "  ret;",
      "}",
      "",
    ].join("\n");
  }

  /** The value of one of PTX's special registers. */
  protected special(name: string): Reg<"u32"> {
    const to = this.reg("u32");
    this.emit(`mov.u32 ${to}, ${name}`);
    return to;
  }

  protected unary<T extends RegType>(instruction: string, a: Reg<T>): Reg<T> {
    return this.result(typeOf(a) as T, instruction, a);
  }

  protected result<T extends RegType>(type: T, instruction: string, a: string): Reg<T> {
    const to = this.reg(type);
    this.emit(`${instruction} ${to}, ${a}`);
    return to;
  }

  protected binary<T extends RegType>(instruction: string, a: Reg<T>, b: Reg<T> | number): Reg<T> {
    const type = typeOf(a) as T;
    const to = this.reg(type);
    this.emit(`${instruction} ${to}, ${a}, ${this.operand(type, b)}`);
    return to;
  }
}
