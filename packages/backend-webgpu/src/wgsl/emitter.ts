import type { DType } from "@centella/core";
import { elementAt, isQuantized, layoutOf } from "@centella/core/backend";
import {
  type BlockWords,
  type Bool,
  type Emitter,
  type F32,
  type I32,
  loadBlockWeights,
  type NumberType,
  neighbourCount,
  type Reducer,
  type SharedArray,
  type SharedCounters,
  type U32,
  type Value,
  type Values,
} from "@centella/gpu-kernels";
import { blockStride } from "../device/layout.ts";
import { typeOf, WgslArithmetic } from "./arithmetic.ts";
import { codebook } from "./functions.ts";
import { reducerOf } from "./reducer.ts";

/** `fn load_<name>(i: u32) -> f32`: element i of a binding whose tensor is f32, f16, bf16 or a block type. Blocks of declarations. */
export function loader(name: string, dtype: DType): readonly string[] {
  const head = `fn load_${name}(i: u32) -> f32`;
  if (isQuantized(dtype)) {
    const k = new WgslEmitter({ [name]: dtype });
    const [weight] = loadBlockWeights(k, dtype, name, k.define("u32", "i"), 1);
    return [...k.declarations, `${head} {\n${k.lines.join("\n")}\nreturn ${weight};\n}`];
  }
  switch (dtype) {
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
  if (isQuantized(dtype)) {
    const k = new WgslEmitter({ [name]: dtype });
    const weights = loadBlockWeights(k, dtype, name, k.define("u32", "i"), 4);
    return [...k.declarations, `${head} {\n${k.lines.join("\n")}\nreturn vec4f(${weights.join(", ")});\n}`];
  }
  const elements = [0, 1, 2, 3].map((i) => `load_${name}(i + ${i}u)`);
  return [...loader(name, dtype), `${head} { return vec4f(${elements.join(", ")}); }`];
}

/** Options of a {@link WgslEmitter}. */
export interface EmitterOptions {
  /** Arguments that are arrays of vec4u. */
  readonly quads?: ReadonlySet<string>;
  /** Arguments of 32-bit elements that are arrays of vectors of four. */
  readonly vectors?: ReadonlySet<string>;
  /** Lanes that exchange values in registers, a power of two: see {@link subgroupLanes}. Default 1. */
  readonly subgroup?: number;
}

/** WGSL statements of a kernel: arithmetic, and its memory, lanes and flow. */
export class WgslEmitter extends WgslArithmetic implements Emitter {
  /** Arguments that are written; `halved` are those that are written in 16-bit halves. */
  readonly written: Set<string> = new Set();
  readonly halved: Set<string> = new Set();
  readonly lanes: number;
  readonly #dtypes: Readonly<Record<string, DType>>;
  readonly #quads: ReadonlySet<string>;
  readonly #vectors: ReadonlySet<string>;
  /** Lanes that exchange values in registers, a power of two. */
  readonly subgroup: number;
  /** Arguments of 32-bit elements that are accessed by vectors, where they are arrays of these. */
  readonly wide: Set<string> = new Set();
  /** Elements that were read as parts of vectors: expressions by argument and index. */
  readonly #loaded = new Map<string, string>();
  /** The indices of {@link neighbours} by the first one of their vector, and that by each. */
  readonly #places = new Map<string, readonly U32[]>();
  /** Elements of vectors that are stored once all are known, by argument and first index. */
  readonly #stored = new Map<string, readonly string[]>();
  #arrays = 0;

  /** `dtypes` are those of the arguments, `lanes` the size of the workgroup. */
  constructor(
    dtypes: Readonly<Record<string, DType>> = {},
    lanes = 1,
    { quads = new Set(), vectors = new Set(), subgroup = 1 }: EmitterOptions = {},
  ) {
    super();
    this.#dtypes = dtypes;
    this.#quads = quads;
    this.#vectors = vectors;
    this.subgroup = subgroup;
    this.lanes = lanes;
  }

  load(name: string, index: U32 | number): F32 {
    const at = this.operand("u32", index);
    const dtype = this.#dtypeOf(name);
    if (dtype === "f32") return this.define("f32", this.#elementText(name, at));
    return this.call("f32", `load_${name}(${at})`, loader(name, dtype));
  }

  loadVector(name: string, index: U32 | number): readonly F32[] {
    const at = this.operand("u32", index);
    const dtype = this.#dtypeOf(name);
    if (dtype === "f32") this.wide.add(name);
    const vector = this.#vectors.has(name) ? this.quad(name, `${at} >> 2u`) : this.name("vector_");
    if (!this.#vectors.has(name)) {
      this.addDeclarations(vectorLoader(name, dtype));
      this.lines.push(`let ${vector} = load4_${name}(${at});`);
    }
    const element = (part: string): F32 => this.define("f32", `${vector}.${part}`);
    return [element("x"), element("y"), element("z"), element("w")];
  }

  /** Names the indices of eight elements from `first` on, a multiple of 8, and reads them of these arguments, which are arrays of vec4f. */
  loadAhead(names: readonly string[], first: U32): readonly U32[] {
    const indices = Array.from({ length: 8 }, (_, i) => this.define("u32", `${first} + ${i}u`));
    for (const name of names) {
      const vectors = [0, 1].map((i) => this.quad(name, `(${first} >> 2u) + ${i}u`));
      indices.forEach((index, i) => void this.#loaded.set(`${name} ${index}`, `${vectors[i >> 2]}.${"xyzw"[i & 3]}`));
    }
    return indices;
  }

  blockAt(name: string, index: U32, bytes: number): BlockWords {
    const stride = blockStride(this.#dtypeOf(name)) ?? bytes;
    const base = this.mul(index, stride);
    const place = (at: U32 | number): U32 => (at === 0 ? base : this.add(base, at));
    const word = this.#quads.has(name)
      ? (from: U32) => `${name}[${from} >> 4u][(${from} >> 2u) & 3u]`
      : (from: U32) => `${name}[${from} >> 2u]`;
    return {
      byte: (at) => {
        const from = place(at);
        return this.define("u32", `(${this.define("u32", word(from))} >> ((${from} & 3u) * 8u)) & 0xffu`);
      },
      half: (at) => {
        const from = place(at);
        return this.define("f32", `unpack2x16float(${this.define("u32", word(from))} >> ((${from} & 2u) * 8u)).x`);
      },
      words: (at, count) => {
        const from = place(at);
        if (this.#quads.has(name)) return this.#quadWords(name, from, count);
        return stride % 4 === 0 ? this.#wholeWords(name, from, count) : this.#shiftedWords(name, from, count);
      },
    };
  }

  lookUp(values: readonly number[], index: U32): F32 {
    const { name, text } = codebook(values);
    return this.call("f32", `${name}(${index})`, text);
  }

  loadInteger(name: string, index: U32 | number): I32 {
    return this.define("i32", this.#elementText(name, this.operand("u32", index)));
  }

  loadBits(name: string, index: U32 | number): U32 {
    const at = this.operand("u32", index);
    const width = 8 * layoutOf(this.#dtypeOf(name)).bytes;
    if (width === 32) return this.define("u32", `bitcast<u32>(${this.#elementText(name, at)})`);
    const [shift, within] = width === 16 ? ["1u", "1u"] : ["2u", "3u"];
    return this.define("u32", `(${name}[${at} >> ${shift}] >> ((${at} & ${within}) * ${width}u)) & ${2 ** width - 1}u`);
  }

  store(name: string, index: U32 | number, value: Value<NumberType>): void {
    this.written.add(name);
    const dtype = this.#dtypeOf(name);
    const type = dtype === "f32" || dtype === "i32" ? dtype : "u32";
    const stored = type === typeOf(value) ? value : `bitcast<${type}>(${value})`;
    const at = this.operand("u32", index);
    if (!this.#storesVector(name, at, stored)) this.lines.push(`${this.#place(name, at)} = ${stored};`);
  }

  loadPiece(name: string, index: U32 | number): readonly U32[] {
    this.wide.add(name);
    const at = this.operand("u32", index);
    const words = [0, 1, 2, 3].map((i) => `${name}[${at} * 4u + ${i}u]`);
    const piece = this.name("piece_");
    this.lines.push(`let ${piece} = bitcast<vec4u>(${this.#vectors.has(name) ? `${name}[${at}]` : `vec4(${words.join(", ")})`});`);
    return ["x", "y", "z", "w"].map((part) => this.define("u32", `${piece}.${part}`));
  }

  storePiece(name: string, index: U32 | number, words: readonly U32[]): void {
    this.written.add(name);
    this.wide.add(name);
    const at = this.operand("u32", index);
    const dtype = this.#dtypeOf(name);
    const vector = dtype === "f32" ? "vec4f" : dtype === "i32" ? "vec4i" : "vec4u";
    if (this.#vectors.has(name)) this.lines.push(`${name}[${at}] = bitcast<${vector}>(vec4u(${words.join(", ")}));`);
    else words.forEach((word, i) => void this.store(name, this.define("u32", `${at} * 4u + ${i}u`), word));
  }

  storeHalf(name: string, index: U32 | number, bits: U32): void {
    this.written.add(name);
    this.halved.add(name);
    const at = this.operand("u32", index);
    this.lines.push(`atomicAnd(&${name}[${at} / 2u], ~(0xffffu << (${at} % 2u * 16u)));`);
    this.lines.push(`atomicOr(&${name}[${at} / 2u], ${bits} << (${at} % 2u * 16u));`);
  }

  neighbours(firsts: readonly U32[], body: (indices: readonly U32[]) => void): void {
    const lists = firsts.map((first) => {
      const indices = Array.from({ length: neighbourCount }, (_, i) => (i === 0 ? first : this.add(first, i)));
      for (const index of indices) this.#places.set(index, indices);
      return indices;
    });
    for (let i = 0; i < neighbourCount; i++) body(lists.map((indices) => elementAt(indices, i)));
    this.#places.clear();
    this.#loaded.clear();
  }

  shared<T extends NumberType>(type: T, count: number): SharedArray<T> {
    const name = this.sharedCells(type, count);
    return {
      get: (index) => this.define(type, `${name}[${this.operand("u32", index)}]`),
      set: (index, value) => void this.lines.push(`${name}[${this.operand("u32", index)}] = ${value};`),
    };
  }

  sharedCounters(count: number): SharedCounters {
    const name = `shared${this.#arrays++}`;
    this.addDeclarations([`var<workgroup> ${name}: array<atomic<u32>, ${count}>;`]);
    const at = (index: U32 | number): string => `&${name}[${this.operand("u32", index)}]`;
    return {
      clear: () => {
        this.sync();
        this.for(this.lane(), count, this.lanes, (i) => void this.lines.push(`atomicStore(${at(i)}, 0u);`));
        this.sync();
      },
      add: (index, value) => this.define("u32", `atomicAdd(${at(index)}, ${this.operand("u32", value)})`),
      get: (index) => this.define("u32", `atomicLoad(${at(index)})`),
    };
  }

  reducer<const T extends readonly NumberType[]>(types: T): Reducer<T> {
    return reducerOf(this, types);
  }

  /** Returns the values of the lane whose number differs in bit `mask`, a power of two, in uniform control flow. */
  exchange<const T extends readonly NumberType[]>(values: Values<T>, mask: number): Values<T> {
    const types = values.map((value) => typeOf(value as Value<NumberType>));
    const results = (text: (value: string, i: number) => string): Values<T> =>
      values.map((value, i) => this.define(types[i]!, text(value, i))) as unknown as Values<T>;
    if (mask < this.subgroup) return results((value) => `subgroupShuffleXor(${value}, ${mask}u)`);
    const cells = types.map((type, i) => `exchanged_${type}${i}`);
    cells.forEach((cell, i) => {
      this.addDeclarations([`var<workgroup> ${cell}: array<${types[i]}, ${this.lanes}>;`]);
      this.lines.push(`${cell}[lane] = ${values[i]};`);
    });
    this.lines.push("workgroupBarrier();");
    const others = results((_, i) => `${cells[i]}[lane ^ ${mask}u]`);
    this.lines.push("workgroupBarrier();");
    return others;
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

  ifUniform(condition: Bool, then: () => void, otherwise?: () => void): void {
    this.if(condition, then, otherwise);
  }

  for(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void {
    const name = this.name("u_") as U32;
    const [start, end, by] = [from, to, step].map((bound) => this.operand("u32", bound));
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

  /** Reads element `index`, an expression, of an array of vec4u; returns the vector's name. */
  quad(name: string, index: string): string {
    const quad = this.name("quad_");
    this.lines.push(`let ${quad} = ${name}[${index}];`);
    return quad;
  }

  /** An element of an argument of 32-bit elements, which may be a part of a vector that was read before. */
  #elementText(name: string, at: string): string {
    const known = this.#loaded.get(`${name} ${at}`);
    if (known !== undefined) return known;
    const indices = this.#places.get(at);
    if (indices !== undefined) this.wide.add(name);
    if (indices === undefined || !this.#vectors.has(name)) return this.#place(name, at);
    const vector = this.quad(name, `${indices[0]} >> 2u`);
    indices.forEach((index, i) => void this.#loaded.set(`${name} ${index}`, `${vector}.${"xyzw"[i]}`));
    return this.#elementText(name, at);
  }

  /** The place of an element in an argument's array. */
  #place(name: string, at: string): string {
    return this.#vectors.has(name) ? `${name}[${at} >> 2u][${at} & 3u]` : `${name}[${at}]`;
  }

  /** Keeps an element of a vector until the last one is known, and stores the vector then; false where elements are stored one by one. */
  #storesVector(name: string, at: string, value: string): boolean {
    const indices = this.#places.get(at);
    if (indices === undefined) return false;
    this.wide.add(name);
    if (!this.#vectors.has(name)) return false;
    const key = `${name} ${indices[0]}`;
    const values = [...(this.#stored.get(key) ?? []), value];
    this.#stored.set(key, values);
    if (values.length === indices.length) {
      this.lines.push(`${name}[${indices[0]} >> 2u] = vec4(${values.join(", ")});`);
      this.#stored.delete(key);
    }
    return true;
  }

  /** Words from byte `from` on, a multiple of 16, of an array of vec4u. */
  #quadWords(name: string, from: U32, count: number): readonly U32[] {
    return Array.from({ length: count / 4 }, (_, i) => {
      const quad = this.quad(name, `(${from} >> 4u) + ${i}u`);
      return ["x", "y", "z", "w"].map((part) => this.define("u32", `${quad}.${part}`));
    }).flat();
  }

  /** Words from byte `from` on, a multiple of 4. */
  #wholeWords(name: string, from: U32, count: number): readonly U32[] {
    return Array.from({ length: count }, (_, i) => this.define("u32", `${name}[(${from} >> 2u) + ${i}u]`));
  }

  /** Words from any byte on, each joined from two; only bytes up to the last word's end are read. */
  #shiftedWords(name: string, from: U32, count: number): readonly U32[] {
    const shift = this.shiftLeft(this.and(from, 3), 3);
    const isWhole = this.compare("eq", shift, 0);
    const parts = [...this.#wholeWords(name, from, count), this.define("u32", `${name}[(${from} + ${4 * count - 1}u) >> 2u]`)];
    return parts.slice(1).map((high, i) => {
      const low = elementAt(parts, i);
      return this.select(isWhole, low, this.or(this.shiftRight(low, shift), this.define("u32", `${high} << (32u - ${shift})`)));
    });
  }

  /** Declares shared memory and returns its name. */
  sharedCells(type: NumberType, count: number): string {
    const name = `shared${this.#arrays++}`;
    this.addDeclarations([`var<workgroup> ${name}: array<${type}, ${count}>;`]);
    return name;
  }

  #dtypeOf(name: string): DType {
    const dtype = this.#dtypes[name];
    if (dtype === undefined) throw new RangeError(`expected an argument ${name}, got none; this is a bug, please report it`);
    return dtype;
  }
}
