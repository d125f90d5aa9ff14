import { elementAt } from "@centella/core/backend";
import type { U32 } from "@centella/gpu-kernels";
import { PackedWriter } from "./packed.ts";
import { type Elem, elemBytes, type Global, ptxNames, type Reg, type Shared } from "./types.ts";
import { type SharedAlignment, typeOf } from "./writer.ts";

/** Elements that vector accesses load and store. */
export type VectorElem = "f32" | "b16" | "u32";

/**
 * Bytes of a row of a matrix in shared memory whose pieces of 16 bytes are swizzled: neighbouring rows have a piece in different banks.
 */
export type SwizzledRowBytes = 32 | 64 | 128;

/** Parameters, tables, addresses, loads and stores. */
export class MemoryWriter extends PackedWriter {
  readonly #pointers: ReadonlyMap<string, Reg<"u64">>;
  /** A register of each load from shared memory, while they are recorded. */
  #loads: string[] | undefined;

  constructor(...args: ConstructorParameters<typeof PackedWriter>) {
    super(...args);
    this.#pointers = new Map(
      this.params.map((name) => [name, this.unary("cvta.to.global.u64", this.result("u64", "ld.param.u64", `[${name}]`))]),
    );
  }

  /** The address passed for parameter `name`. */
  pointer<E extends Elem>(name: string, _elem: E): Global<E> {
    const pointer = this.#pointers.get(name);
    if (pointer === undefined) throw new Error(`ptx ${this.entry}: no parameter ${name}`);
    return global(pointer);
  }

  /** A table of numbers that is part of the module, in global memory. */
  table<E extends "f32" | "u32">(elem: E, values: readonly number[]): Global<E> {
    const content = `[${values.length}] = {${values.map((value) => this.operand(elem, value)).join(", ")}};`;
    const known = this.tables.findIndex((table) => table.startsWith(`.global .align 8 .${elem} `) && table.endsWith(content));
    const name = `table${known < 0 ? this.tables.length : known}`;
    if (known < 0) this.tables.push(`.global .align 8 .${elem} ${name}${content}`);
    const to = this.reg("u64");
    this.emit(`mov.u64 ${to}, ${name}`);
    return global(to);
  }

  /** Shared memory for `count` elements, at a multiple of `alignment` bytes. */
  sharedMemory<E extends Elem>(elem: E, count: number, alignment: SharedAlignment = 16): Shared<E> {
    const offset = Math.ceil(this.sharedBytes / alignment) * alignment;
    if (alignment > this.sharedAlignment) this.sharedAlignment = alignment;
    this.sharedBytes = offset + count * elemBytes[elem];
    const to = this.reg("u32");
    this.emit(`mov.u32 ${to}, shared`);
    return shared(offset === 0 ? to : this.add(to, offset));
  }

  /** Makes the block take at least `bytes` of shared memory. */
  reserveShared(bytes: number): void {
    this.sharedBytes = Math.max(this.sharedBytes, bytes);
  }

  /** Address of the element `index` places after `base`. */
  at<E extends Elem>(elem: E, base: Global<E>, index: U32 | number): Global<E> {
    const to = this.reg("u64");
    if (typeof index === "number") this.emit(`add.u64 ${to}, ${base}, ${index * elemBytes[elem]}`);
    else this.emit(`mad.wide.u32 ${to}, ${index}, ${elemBytes[elem]}, ${base}`);
    return global(to);
  }

  /** Address of the piece `index` places of `bytes` each after `base`. */
  atBytes<E extends Elem>(base: Global<E>, index: U32, bytes: number): Global<E> {
    const to = this.reg("u64");
    this.emit(`mad.wide.u32 ${to}, ${index}, ${bytes}, ${base}`);
    return global(to);
  }

  /** Address `bytes` bytes after `base`, in shared memory. */
  sharedAtBytes<E extends Elem>(base: Shared<Elem>, bytes: U32 | number): Shared<E> {
    const from: string = base;
    return shared(this.add(from as U32, bytes as U32));
  }

  /** The address as one of elements of another type. */
  sharedAs<E extends Elem>(_elem: E, address: Shared<Elem>): Shared<E> {
    const from: string = address;
    return shared(from);
  }

  /** Address of the element `index` places after `base`, in shared memory. */
  sharedAt<E extends Elem>(elem: E, base: Shared<E>, index: U32 | number): Shared<E> {
    const from: string = base;
    const to = typeof index === "number" ? this.add(from as U32, index * elemBytes[elem]) : this.mad(index, elemBytes[elem], from as U32);
    return shared(to);
  }

  /**
   * The place in its row of piece `piece` of a matrix in shared memory, in pieces of 16 bytes. The matrix begins at a multiple of `8 * rowBytes` bytes. Boxes of
   * tensor maps ({@link AsyncWriter.copyBox}) and operands of warpgroup products have rows of 128 bytes. Source: PTX ISA, "Swizzling modes".
   */
  swizzledPiece(row: U32, piece: U32 | number, rowBytes: SwizzledRowBytes = 128): U32 {
    return this.#exclusiveOr(piece, this.#turn(row, rowBytes));
  }

  /** The place in its row of byte `byte`, where pieces of 16 bytes are swizzled as {@link swizzledPiece} says. */
  swizzledByte(row: U32, byte: U32 | number, rowBytes: SwizzledRowBytes = 128): U32 {
    return this.#exclusiveOr(byte, this.shiftLeft(this.#turn(row, rowBytes), 4));
  }

  #exclusiveOr(a: U32 | number, b: U32): U32 {
    return typeof a === "number" ? this.xor(b, a) : this.xor(a, b);
  }

  /** What the numbers of a row's pieces are combined with: bits from 7 on of the row's address. */
  #turn(row: U32, rowBytes: SwizzledRowBytes): U32 {
    const rowsPerTurn = 128 / rowBytes;
    return this.and(rowsPerTurn === 1 ? row : this.quotient(row, rowsPerTurn), rowBytes / 16 - 1);
  }

  /** The element `offset` places after the address. */
  ld<E extends Elem>(elem: E, from: Global<NoInfer<E>> | Shared<NoInfer<E>>, offset = 0): Reg<E> {
    const to = this.reg(elem);
    this.emit(`ld.${spaceOf(from)}.${ptxNames[elem]} ${to}, [${from}+${offset * elemBytes[elem]}]`);
    if (spaceOf(from) === "shared") this.#loads?.push(to);
    return to;
  }

  /** The byte `index` places after the address. */
  ldByte(base: Global<Elem>, index: U32 | number): U32 {
    if (typeof index === "number") return this.result("u32", "ld.global.u8", `[${base}+${index}]`);
    return this.result("u32", "ld.global.u8", `[${this.atBytes(base, index, 1)}+0]`);
  }

  /** Consecutive elements in one access; the address must be a multiple of their size in all. */
  ldVector<E extends VectorElem>(elem: E, from: Global<NoInfer<E>> | Shared<NoInfer<E>>, offset = 0, count: 2 | 4 = 4): readonly Reg<E>[] {
    const to = Array.from({ length: count }, () => this.reg(elem));
    this.emit(`ld.${spaceOf(from)}.v${count}.${elem} {${to.join(",")}}, [${from}+${offset * elemBytes[elem]}]`);
    if (spaceOf(from) === "shared") this.#loads?.push(...to.slice(0, 1));
    return to;
  }

  /** Runs `body`, and returns a register of each load from shared memory that it makes, for {@link afterLoads}. */
  recordLoads<T>(body: () => T): { readonly result: T; readonly loads: readonly string[] } {
    const loads: string[] = [];
    this.#loads = loads;
    const result = body();
    this.#loads = undefined;
    return { result, loads };
  }

  /**
   * The address, not known before loads have returned: nothing else keeps a copy to shared memory from overtaking loads from there, even where both are
   * in one thread. `aligned` is a multiple of 16, of which compilers do not know that.
   */
  afterLoads<E extends Elem>(address: Shared<E>, loads: readonly string[], aligned: Global<Elem>): Shared<E> {
    let [any, ...others] = loads.map((register) => this.#wordOf(register));
    if (any === undefined) return address;
    for (; others.length > 0; others = others.slice(2))
      any = this.logic3((x, y, z) => x | y | z, any, elementAt(others, 0), others[1] ?? 0);
    const zero = this.logic3((x, y, z) => x & y & z, any, this.result("u32", "cvt.u32.u64", aligned), 15);
    return this.sharedAtBytes(address, zero);
  }

  #wordOf(register: string): U32 {
    switch (typeOf(register)) {
      case "b16":
        return this.result("u32", "cvt.u32.u16", register);
      case "f32":
        return this.result("u32", "mov.b32", register);
      default:
        return register as U32;
    }
  }

  /** Stores two or four consecutive elements in one access; the address must be a multiple of their size in all. */
  stVector<E extends VectorElem>(
    elem: E,
    to: Global<NoInfer<E>> | Shared<NoInfer<E>>,
    values: readonly Reg<NoInfer<E>>[],
    offset = 0,
  ): void {
    this.emit(`st.${spaceOf(to)}.v${values.length}.${elem} [${to}+${offset * elemBytes[elem]}], {${values.join(",")}}`);
  }

  st<E extends Elem>(elem: E, to: Global<NoInfer<E>> | Shared<NoInfer<E>>, value: Reg<NoInfer<E>>, offset = 0): void {
    this.emit(`st.${spaceOf(to)}.${ptxNames[elem]} [${to}+${offset * elemBytes[elem]}], ${value}`);
  }
}

/** A register that holds an address of global memory. */
function global<E extends Elem>(register: string): Global<E> {
  return register as Global<E>;
}

/** A register that holds an address of shared memory. */
function shared<E extends Elem>(register: string): Shared<E> {
  return register as Shared<E>;
}

/** The state space of an address, by the type of its register. */
export function spaceOf(address: string): string {
  return typeOf(address) === "u64" ? "global" : "shared";
}
