import type { DType } from "@centella/core";
import { elementAt, isQuantized, layoutOf } from "@centella/core/backend";
import {
  type BlockBytes,
  type Emitter,
  type F32,
  type I32,
  loadBlockWeights,
  type NumberType,
  neighbourCount,
  type Reducer,
  type SharedArray,
  type SharedCounters,
  smallExpm1,
  type U32,
  type Value,
  type Values,
} from "@centella/gpu-kernels";
import { loadUnitWeights } from "../weights/readUnits.ts";
import type { UnitMatrix } from "../weights/unitFormat.ts";
import { PtxBuilder } from "./builder.ts";
import { warpReduce } from "./reduce.ts";
import type { Target } from "./text.ts";
import type { Elem, F64, Global, Reg, Shared } from "./types.ts";
import { typeOf } from "./writer.ts";

// ln 2 in two parts: n * high is exact for |n| < 2^15.
const ln2High = 0.693359375;
const ln2Low = -2.1219444e-4;

interface EmitterOptions {
  /** Further arguments, of u32, that are part of the text. */
  readonly tables?: Readonly<Record<string, Uint32Array>>;
  /** Parameters that are weights in units. */
  readonly units?: Readonly<Record<string, UnitMatrix | undefined>>;
  readonly target?: Target;
  /** Parameters after the tensors that are tensor maps. */
  readonly maps?: readonly string[];
}

/** Consecutive elements that one thread reads and stores at once. */
interface Neighbours {
  /** For each first index, the indices from there on. */
  readonly places: readonly (readonly U32[])[];
  /** What was read at the indices of a list, by what it is and by the list's number. */
  readonly loaded: Map<string, readonly string[]>;
  /** What is to be stored at them, by the argument and by the list's number. */
  readonly stored: Map<string, Value<NumberType>[]>;
}

/** Writes kernels whose parameters are tensors with a dtype. */
export class PtxEmitter extends PtxBuilder implements Emitter {
  /** Names of the parameters that are read by their names, not by an address. */
  readonly read: Set<string> = new Set();
  readonly #dtypes: Readonly<Record<string, DType>>;
  readonly #tables: Readonly<Record<string, Uint32Array>>;
  readonly #units: Readonly<Record<string, UnitMatrix | undefined>>;
  #neighbours: Neighbours | undefined;

  /** `dtypes` are those of the kernel's parameters, by name, in order. */
  constructor(
    entry: string,
    dtypes: Readonly<Record<string, DType>>,
    threads: number,
    { tables = {}, units = {}, target = "sm_80", maps = [] }: EmitterOptions = {},
  ) {
    super(entry, Object.keys(dtypes), threads, target, maps);
    this.#dtypes = dtypes;
    this.#tables = tables;
    this.#units = units;
  }

  get lanes(): number {
    return this.blockThreads;
  }

  lane(): U32 {
    return this.thread();
  }

  divRounded(a: F32, b: F32 | number): F32 {
    return this.div(a, b);
  }

  mulRounded(a: F32, b: F32 | number): F32 {
    return this.mul(a, b);
  }

  /** In f64, whose 53 bits suffice. */
  divideFixed([whole, high, low]: readonly [U32, U32, U32], by: F32): readonly [U32, U32] {
    const float = (word: U32): F64 => this.convert("f64", word);
    const dividend = this.fma(float(whole), 2 ** 32, this.fma(float(low), 2 ** -32, float(high)));
    const quotient = this.div(dividend, this.convert("f64", by));
    const turns = this.floor(this.mul(quotient, 2 ** -32));
    const fraction = this.fma(turns, -(2 ** 32), quotient);
    const first = this.convert("u32", fraction);
    return [first, this.convert("u32", this.mul(this.sub(fraction, float(first)), 2 ** 32))];
  }

  maximum(a: F32, b: F32 | number): F32 {
    return this.max(a, b);
  }

  minimum(a: F32, b: F32 | number): F32 {
    return this.min(a, b);
  }

  /**
   * Overflows to infinity, underflows through the denormals to 0. Uses only instructions whose results the PTX ISA defines to the bit: every GPU
   * returns the same numbers. Relative error under 3e-7.
   */
  exp(a: F32): F32 {
    const clamped = this.max(this.min(a, 89), -104);
    const n = this.round(this.mul(clamped, Math.LOG2E));
    const r = this.fma(n, -ln2Low, this.fma(n, -ln2High, clamped));
    const mantissa = this.add(smallExpm1(this, r), 1);
    // 2^n in two factors, since n may exceed the exponents of normal numbers.
    const exponent = this.convert("i32", n);
    const half = this.shiftRight(exponent, 1);
    const powerOfTwo = (e: I32): F32 => this.bitcast("f32", this.shiftLeft(this.add(e, 127), 23));
    return this.mul(this.mul(mantissa, powerOfTwo(half)), powerOfTwo(this.sub(exponent, half)));
  }

  log(a: F32): F32 {
    return this.mul(this.log2(a), Math.LN2);
  }

  toHalf(a: F32): U32 {
    return this.widen(this.floatToHalf(a));
  }

  fromHalf(bits: U32): F32 {
    return this.halfToFloat(this.narrow(bits));
  }

  neighbours(firsts: readonly U32[], body: (indices: readonly U32[]) => void): void {
    const offsets = Array.from({ length: neighbourCount }, (_, i) => i);
    const places = firsts.map((first) => offsets.map((i) => (i === 0 ? first : this.add(first, i))));
    this.#neighbours = { places, loaded: new Map(), stored: new Map() };
    for (const i of offsets) body(places.map((indices) => elementAt(indices, i)));
    this.#neighbours = undefined;
  }

  load(name: string, index: U32 | number): F32 {
    return this.#ofNeighbours(`float ${name}`, index, (from) => this.loadVector(name, from)) ?? elementAt(this.#floats(name, index, 1), 0);
  }

  /** Four elements from `index` on, a multiple of 4, in one access where they are contiguous numbers. */
  loadVector(name: string, index: U32 | number): readonly F32[] {
    return this.#floats(name, index, 4);
  }

  blockAt(name: string, index: U32, bytes: number): BlockBytes {
    const base = this.atBytes(this.#source(name, "b16"), index, bytes);
    return { byte: (at) => this.ldByte(base, at), half: (at) => this.halfToFloat(this.ld("b16", base, at / 2)) };
  }

  lookUp(values: readonly number[], index: U32): F32 {
    return this.ld("f32", this.at("f32", this.table("f32", values), index));
  }

  loadInteger(name: string, index: U32 | number): I32 {
    const word = this.#wordOfNeighbours(name, index);
    return word === undefined ? this.ld("i32", this.at("i32", this.#source(name, "i32"), index)) : this.bitcast("i32", word);
  }

  loadBits(name: string, index: U32 | number): U32 {
    const words = this.#tables[name];
    if (words !== undefined) return this.ld("u32", this.at("u32", this.table("u32", [...words]), index));
    switch (layoutOf(this.#dtypeOf(name)).bytes) {
      case 1:
        return this.ldByte(this.#source(name, "u32"), index);
      case 2:
        return this.widen(this.#half(name, index));
      default:
        return this.#wordOfNeighbours(name, index) ?? this.ld("u32", this.at("u32", this.#source(name, "u32"), index));
    }
  }

  store(name: string, index: U32 | number, value: Value<NumberType>): void {
    if (this.#storesNeighbour(name, index, value)) return;
    const type = typeOf(value) as NumberType;
    this.st<NumberType>(type, this.at<NumberType>(type, this.pointer<NumberType>(name, type), index), value);
  }

  /** Writes one, two or four words of an argument from word `index` on, a multiple of their number. */
  storeWords(name: string, index: U32, words: readonly U32[]): void {
    const to = this.at("u32", this.pointer(name, "u32"), index);
    if (words.length === 1) this.st("u32", to, elementAt(words, 0));
    else this.stVector("u32", to, words);
  }

  loadPiece(name: string, index: U32 | number): readonly U32[] {
    this.read.add(name);
    return this.ldVector("u32", this.#pieceAt(name, index));
  }

  storePiece(name: string, index: U32 | number, words: readonly U32[]): void {
    this.stVector("u32", this.#pieceAt(name, index), words);
  }

  #pieceAt(name: string, index: U32 | number): Global<"u32"> {
    const base = this.pointer(name, "u32");
    return typeof index === "number" ? this.at("u32", base, 4 * index) : this.atBytes(base, index, 16);
  }

  storeHalf(name: string, index: U32 | number, bits: U32): void {
    this.st("b16", this.at("b16", this.pointer(name, "b16"), index), this.narrow(bits));
  }

  shared<T extends NumberType>(type: T, count: number): SharedArray<T> {
    const base = this.sharedMemory<NumberType>(type, count);
    return {
      // The element type of an array is that of its address.
      get: (index) => this.ld<NumberType>(type, this.sharedAt(type, base, index)) as Value<T>,
      set: (index, value) => this.st<NumberType>(type, this.sharedAt(type, base, index), value),
    };
  }

  sharedCounters(count: number): SharedCounters {
    const cells = this.sharedMemory("u32", count);
    const at = (index: U32 | number): Shared<"u32"> => this.sharedAt("u32", cells, index);
    return {
      clear: () => {
        this.sync();
        this.for(this.thread(), count, this.blockThreads, (i) => this.st("u32", at(i), this.constant("u32", 0)));
        this.sync();
      },
      add: (index, value) => this.addShared(at(index), value),
      get: (index) => this.ld("u32", at(index)),
    };
  }

  /** Reduces with shuffles within warps, then over the warps' results in shared memory. */
  reducer<const T extends readonly NumberType[]>(types: T): Reducer<T> {
    const warps = this.blockThreads / 32;
    const partials = types.map((type) => this.shared(type, warps));
    // A tuple through `map` is an array to the types.
    const partial = (warp: number): Values<T> => partials.map((cells) => cells.get(warp)) as unknown as Values<T>;
    return (values, combine) => {
      const warp = warpReduce(this, values, combine);
      if (warps === 1) return warp;
      const thread = this.thread();
      // Before the first write: the reads of an earlier reduction must be over.
      this.sync();
      this.if(this.compare("eq", this.and(thread, 31), 0), () =>
        partials.forEach((cells, i) => void cells.set(this.shiftRight(thread, 5), warp[i] as Value<NumberType>)),
      );
      this.sync();
      return Array.from({ length: warps }, (_, i) => partial(i)).reduce((a, b) => combine(a, b));
    };
  }

  #wordOfNeighbours(name: string, index: U32 | number): U32 | undefined {
    return this.#ofNeighbours(`word ${name}`, index, (from) => this.ldVector("u32", this.at("u32", this.#source(name, "u32"), from)));
  }

  #half(name: string, index: U32 | number): Reg<"b16"> {
    const pointer = this.#source(name, "b16");
    const halvesFrom = (from: U32): readonly Reg<"b16">[] => this.ldVector("b16", this.at("b16", pointer, from));
    return this.#ofNeighbours(`half ${name}`, index, halvesFrom) ?? this.ld("b16", this.at("b16", pointer, index));
  }

  /** What `load` reads from a list's first index on, at `index`; undefined for the index of no neighbour. */
  #ofNeighbours<V extends string>(what: string, index: U32 | number, load: (first: U32) => readonly V[]): V | undefined {
    const found = this.#neighbourAt(index);
    if (found === undefined) return undefined;
    const key = `${what} ${found.list}`;
    const values = (found.loaded.get(key) as readonly V[] | undefined) ?? load(found.first);
    found.loaded.set(key, values);
    return elementAt(values, found.place);
  }

  /** Keeps what is to be stored at a neighbour's index until the last one's; false for the index of no neighbour. */
  #storesNeighbour(name: string, index: U32 | number, value: Value<NumberType>): boolean {
    const found = this.#neighbourAt(index);
    if (found === undefined) return false;
    const key = `${name} ${found.list}`;
    const values = [...(found.stored.get(key) ?? []), value];
    found.stored.set(key, values);
    if (values.length === neighbourCount)
      this.storeWords(
        name,
        found.first,
        values.map((each) => this.bitcast("u32", each)),
      );
    return true;
  }

  #neighbourAt(
    index: U32 | number,
  ): (Pick<Neighbours, "loaded" | "stored"> & { readonly list: number; readonly place: number; readonly first: U32 }) | undefined {
    if (this.#neighbours === undefined || typeof index === "number") return undefined;
    const { places, loaded, stored } = this.#neighbours;
    for (const [list, indices] of places.entries()) {
      const place = indices.indexOf(index);
      if (place >= 0) return { loaded, stored, list, place, first: elementAt(indices, 0) };
    }
    return undefined;
  }

  #floats(name: string, index: U32 | number, count: 1 | 4): readonly F32[] {
    const dtype = this.#dtypeOf(name);
    const units = this.#units[name];
    if (units !== undefined) return loadUnitWeights(this, units, this.#source(name, "u32"), index, count);
    if (isQuantized(dtype)) return loadBlockWeights(this, dtype, name, index, count);
    if (dtype === "f32") {
      const from = this.at("f32", this.#source(name, "f32"), index);
      return count === 4 ? this.ldVector("f32", from) : [this.ld("f32", from)];
    }
    const from = this.at("b16", this.#source(name, "b16"), index);
    const bits = count === 4 ? this.ldVector("b16", from) : [this.ld("b16", from)];
    return bits.map((half) => (dtype === "f16" ? this.halfToFloat(half) : this.bfloatToFloat(half)));
  }

  /** Address of a parameter that is read. */
  #source<E extends Elem>(name: string, elem: E): Global<E> {
    this.read.add(name);
    return this.pointer(name, elem);
  }

  #dtypeOf(name: string): DType {
    const dtype = this.#dtypes[name];
    if (dtype === undefined) throw new RangeError(`expected an argument ${name}, got none; this is a bug, please report it`);
    return dtype;
  }
}
