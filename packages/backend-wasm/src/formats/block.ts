import { entryOf } from "@centella/core/backend";
import { type FunctionBuilder, type Local, type V128, v128 } from "../emit/index.ts";
import type { Field } from "./field.ts";
import type { loadHalves } from "./half.ts";

/** Rows that are interleaved: two vectors of four rows each. */
export const groupRows = 8;

/** Rows 0 to 3, or rows 4 to 7. */
export type Half = 0 | 1;
export const halves: readonly Half[] = [0, 1];

/** Four rows of one or two groups that are processed together: a half of the first group or of the second. */
export type Quad = Half | 2 | 3;
export const allQuads: readonly Quad[] = [0, 1, 2, 3];

/** A vector for each half. */
export type Pair = readonly [Local<"v128">, Local<"v128">];

/** Reader of a block of eight interleaved rows. Offsets are those in a single row's block. */
export class InterleavedBlock {
  readonly #f: FunctionBuilder;
  readonly #address: Local<"i32">;
  readonly #loadHalves: typeof loadHalves;
  /** Address of a field's unit, by its offset in a single row's block. */
  readonly #places = new Map<number, number>();
  readonly #kept = new Map<string, Local<"v128">>();
  readonly #last: Record<Half, readonly { readonly at: number; readonly value: Local<"v128"> }[]> = { 0: [], 1: [] };

  /** `load` reads scales. Kernels that assume finite scales are faster. */
  constructor(f: FunctionBuilder, address: Local<"i32">, fields: readonly Field[], load: typeof loadHalves) {
    this.#f = f;
    this.#address = address;
    let place = 0;
    for (const { at, unit, count } of fields) {
      for (let index = 0; index < count; index++, place += unit) this.#places.set(at + index * unit, 8 * place);
    }
    this.#loadHalves = load;
  }

  /** Offset of the units of four rows, `bytes` bytes in all. */
  #offset(at: number, bytes: number, half: Half): number {
    return entryOf(this.#places, at) + bytes * half;
  }

  /** The four bytes at `at` of four rows. Recently read vectors of each half stay in registers. */
  word(at: number, half: Half): Local<"v128"> {
    const last = this.#last[half];
    const known = last.find((each) => each.at === at);
    if (known !== undefined) return known.value;
    const value = this.#f.let(v128.load(this.#address, this.#offset(at, 16, half)));
    this.#last[half] = [...last.slice(-2), { at, value }];
    return value;
  }

  /** The f16 at `at` of four rows, as f32. */
  halves(at: number, half: Half): Local<"v128"> {
    return this.#loadHalves(this.#f, this.#address, this.#offset(at, 8, half));
  }

  /** The 16 bits at `at` of four rows, in the low half of the vector. */
  shorts(at: number, half: Half): V128 {
    return v128.load64Zero(this.#address, this.#offset(at, 8, half));
  }

  /** The byte at `at` of four rows, in the first four bytes of the vector. */
  bytes(at: number, half: Half): V128 {
    return v128.load32Zero(this.#address, this.#offset(at, 4, half));
  }

  /** Computes a vector at its first use in this block. */
  once(key: string, half: Half, compute: () => V128): Local<"v128"> {
    const name = `${key} ${half}`;
    let value = this.#kept.get(name);
    if (value === undefined) {
      value = this.#f.let(compute());
      this.#kept.set(name, value);
    }
    return value;
  }
}
