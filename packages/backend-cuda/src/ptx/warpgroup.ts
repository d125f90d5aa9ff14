import type { Bool, F32, U32, Value } from "@centella/gpu-kernels";
import { type HalfType, type LeftFragment, MatrixWriter } from "./matrix.ts";
import type { Elem, Shared } from "./types.ts";
import type { PtxWriter } from "./writer.ts";

/**
 * Where an operand of a warpgroup product is in shared memory, for {@link WarpgroupWriter.multiplyWarpgroup}. Rows of 128 bytes, 64 halves
 * each, are in groups of eight, at multiples of 1,024 bytes. Piece c of 16 bytes of a group's row r is at place `c ^ r` of the row.
 */
export type MatrixDescriptor = Value<"matrix descriptor">;

/**
 * Sums of a warpgroup's product, `64 x columns`. With g = lane / 4 and t = lane % 4, a lane of warp w has four sums for each eight columns
 * from c on: row 16 w + g, columns c + 2t and c + 2t + 1, then row 16 w + g + 8. Source: PTX ISA, "Register Fragments for wgmma".
 */
export class WarpgroupSums {
  readonly columns: number;
  /** Written by products that are under way. */
  readonly registers: readonly F32[];
  /** The registers as an operand. */
  readonly list: string;
  readonly #writer: PtxWriter;

  constructor(writer: PtxWriter, columns: number) {
    this.#writer = writer;
    this.columns = columns;
    this.registers = Array.from({ length: columns / 2 }, () => writer.constant("f32", 0));
    this.list = `{${this.registers.join(",")}}`;
  }

  get(index: number): F32 {
    return this.#writer.copy(this.#at(index));
  }

  /** A {@link WarpgroupWriter.fenceProducts} must come before the next product. */
  set(index: number, value: F32): void {
    this.#writer.assign(this.#at(index), value);
  }

  #at(index: number): F32 {
    const register = this.registers[index];
    if (register === undefined) throw new RangeError(`expected a sum below ${this.registers.length}, got ${index}`);
    return register;
  }
}

/** Products of matrices in shared memory that the 128 threads of a warpgroup share, and budgets of registers. Needs sm_90a. */
export class WarpgroupWriter extends MatrixWriter {
  /**
   * The operand `offset` bytes after `address`. Groups of eight rows follow each other at `stride` bytes. `leading` matters only for an operand whose rows run
   * along the depth, wider than 64: bytes from 64 of its columns to the next 64.
   */
  matrixDescriptor(
    address: Shared<Elem>,
    { stride = 1024, leading = 0, offset = 0 }: { readonly stride?: number; readonly leading?: number; readonly offset?: number } = {},
  ): MatrixDescriptor {
    this.require("warpgroupMatrix");
    const start = this.shiftRight(this.and(address as string as U32, 0x3ffff), 4);
    const base = leading === 0 ? start : this.or(start, (leading >> 4) << 16);
    const low = offset === 0 ? base : this.add(base, offset >> 4);
    const to: string = this.reg("u64");
    // The highest bits: pieces are swizzled within rows of 128 bytes.
    this.emit(`mov.b64 ${to}, {${low},${(stride >> 4) + 2 ** 30}}`);
    return to as MatrixDescriptor;
  }

  /**
   * The address that the warp's first lane has. Compilers keep it in a register that the lanes share, as descriptors of operands are. Every
   * lane of the warp must take part.
   */
  uniform(address: Shared<"u32">): Shared<"u32"> {
    const to: string = this.reg("u32");
    this.emit(`shfl.sync.idx.b32 ${to}, ${address}, 0, 31, 0xFFFFFFFF`);
    return to as Shared<"u32">;
  }

  /** Sums that are 0. `columns` is a multiple of 8 up to 256. */
  warpgroupSums(columns: number): WarpgroupSums {
    return new WarpgroupSums(this, columns);
  }

  /** Comes before products after registers that they read or write were written. All threads of the warpgroup must come here. */
  fenceProducts(): void {
    this.require("warpgroupMatrix");
    this.emit("wgmma.fence.sync.aligned");
  }

  /**
   * Starts `sums = a * b + sums`, or `sums = a * b` where `adds` is false (default true); a is 64 x 16. A matrix in shared memory has the depth
   * along its rows, 16 halves from its descriptor's address on. With `isTransposed`, b's rows are places of the depth, 16 rows from there on. Registers of the
   * product must not be used before {@link waitProducts}.
   */
  multiplyWarpgroup(
    type: HalfType,
    sums: WarpgroupSums,
    a: MatrixDescriptor | LeftFragment,
    b: MatrixDescriptor,
    { adds = this.#always(), isTransposed = false }: { readonly adds?: Bool; readonly isTransposed?: boolean } = {},
  ): void {
    this.require("warpgroupMatrix");
    const isFragment = typeof a !== "string";
    const left = isFragment ? `{${a.join(",")}}` : a;
    // Neither operand is negated; only one in shared memory may be transposed.
    const options = `1, 1, ${isFragment ? "" : "0, "}${isTransposed ? 1 : 0}`;
    const name = `wgmma.mma_async.sync.aligned.m64n${sums.columns}k16.f32.${type}.${type}`;
    this.emit(`${name} ${sums.list}, ${left}, ${b}, ${adds}, ${options}`);
  }

  #always(): Bool {
    const to = this.reg("bool");
    this.emit(`setp.eq.u32 ${to}, ${this.constant("u32", 0)}, 0`);
    return to;
  }

  /** Ends a group of products. */
  commitProducts(): void {
    this.require("warpgroupMatrix");
    this.emit("wgmma.commit_group.sync.aligned");
  }

  /** Waits until all but the last `pending` groups of products are over. */
  waitProducts(pending: number): void {
    this.require("warpgroupMatrix");
    this.emit(`wgmma.wait_group.sync.aligned ${pending}`);
  }

  /**
   * Gives the warpgroup's threads `count` registers, a multiple of 8 from 24 to 256. The text needs {@link PtxWriter.blocksPerMultiprocessor}.
   * All threads of the warpgroup must come here.
   */
  setRegisters(change: "increase" | "decrease", count: number): void {
    this.require("registerBudget");
    this.emit(`setmaxnreg.${change === "increase" ? "inc" : "dec"}.sync.aligned.u32 ${count}`);
  }
}
