import { OutOfMemoryError } from "@centella/core";
import { memoryMap, pageBytes } from "./memoryMap.ts";

const alignment = 64;
/** Kernels read whole vectors, up to 31 bytes past the end of a tensor. */
const padding = 32;

interface Range {
  readonly address: number;
  readonly bytes: number;
}

/** What memory is used for, as `Backend.memory()` reports it. */
export type Purpose = "persistents" | "arenas" | "tensors" | "other";

interface Allocation {
  readonly bytes: number;
  readonly purpose: Purpose;
}

/** Allocator over one `WebAssembly.Memory`: first fit over a sorted free list, growing the memory when nothing fits. */
export class Heap {
  readonly memory: WebAssembly.Memory;
  readonly #maxPages: number;
  readonly #allocations = new Map<number, Allocation>();
  #free: Range[] = [];
  #end: number;
  #views: Views;
  /** Called before anybody looks at the memory. */
  guard: (() => void) | undefined;

  constructor(memory: WebAssembly.Memory, maxPages: number) {
    this.memory = memory;
    // The last page stays unused: the address after its end is 0 in 32 bits.
    this.#maxPages = Math.min(maxPages, 65_535);
    this.#end = memory.buffer.byteLength;
    this.#free = this.#end > memoryMap.heap ? [{ address: memoryMap.heap, bytes: this.#end - memoryMap.heap }] : [];
    this.#views = viewsOf(memory.buffer);
  }

  /** @throws {OutOfMemoryError} if so many bytes more can never be had */
  require(bytes: number): void {
    const limit = this.#maxPages * pageBytes;
    let used = memoryMap.heap;
    for (const allocation of this.#allocations.values()) used += allocation.bytes;
    if (bytes <= limit - used) return;
    const fix = `the limit is ${limit} bytes (maxMemoryMiB, at most 4096); use a smaller model, a shorter context or another backend`;
    throw new OutOfMemoryError("wasm", bytes, limit - used, fix);
  }

  /** Address of `bytes` fresh bytes, aligned to 64; their content is undefined. @throws {OutOfMemoryError} */
  alloc(bytes: number, purpose: Purpose): number {
    const size = Math.max(alignment, Math.ceil((bytes + padding) / alignment) * alignment);
    let index = this.#free.findIndex((range) => range.bytes >= size);
    if (index < 0) {
      this.#grow(size, bytes);
      index = this.#free.length - 1;
    }
    const { address, bytes: available } = this.#free[index]!;
    if (available === size) this.#free.splice(index, 1);
    else this.#free[index] = { address: address + size, bytes: available - size };
    this.#allocations.set(address, { bytes: size, purpose });
    return address;
  }

  /** Like {@link alloc}, filled with zeros. */
  allocZeroed(bytes: number, purpose: Purpose): number {
    const address = this.alloc(bytes, purpose);
    this.u8.fill(0, address, address + this.#allocations.get(address)!.bytes);
    return address;
  }

  /** Returns memory from {@link alloc}. */
  free(address: number): void {
    const allocation = this.#allocations.get(address);
    if (allocation === undefined) throw new RangeError(`heap: expected an allocated address, got ${address}`);
    this.#allocations.delete(address);
    const merged: Range[] = [];
    for (const range of [...this.#free, { address, bytes: allocation.bytes }].sort((a, b) => a.address - b.address)) {
      const last = merged.at(-1);
      if (last !== undefined && last.address + last.bytes === range.address) {
        merged[merged.length - 1] = { address: last.address, bytes: last.bytes + range.bytes };
      } else merged.push(range);
    }
    this.#free = merged;
  }

  /** To be called by who looks at the memory without the views here. */
  touch(): void {
    this.guard?.();
  }

  /** Bytes in allocations for a purpose, alignment and padding included. */
  used(purpose: Purpose): number {
    let sum = 0;
    for (const allocation of this.#allocations.values()) if (allocation.purpose === purpose) sum += allocation.bytes;
    return sum;
  }

  get u8(): Uint8Array {
    return this.#current().u8;
  }

  get i32(): Int32Array {
    return this.#current().i32;
  }

  get f32(): Float32Array {
    return this.#current().f32;
  }

  get f64(): Float64Array {
    return this.#current().f64;
  }

  /** Growing the memory detaches every view of it. */
  #current(): Views {
    this.touch();
    if (this.#views.buffer !== this.memory.buffer) this.#views = viewsOf(this.memory.buffer);
    return this.#views;
  }

  #grow(size: number, asked: number): void {
    const last = this.#free.at(-1);
    const atEnd = last !== undefined && last.address + last.bytes === this.#end ? last.bytes : 0;
    const start = Math.max(this.#end, memoryMap.heap);
    const needed = Math.ceil((start + size - atEnd - this.#end) / pageBytes);
    const pages = this.#end / pageBytes;
    const room = this.#maxPages - pages;
    if (needed > room) throw new OutOfMemoryError("wasm", asked, Math.max(0, room * pageBytes + atEnd));
    // Growing step by step copies nothing, but every step detaches the views: grow by an eighth at least.
    const step = Math.min(room, Math.max(needed, pages >> 3));
    if (!this.#tryGrow(step) && !this.#tryGrow(needed)) throw new OutOfMemoryError("wasm", asked);
    const end = this.memory.buffer.byteLength;
    if (atEnd > 0) this.#free.pop();
    const address = atEnd > 0 ? last!.address : start;
    this.#free.push({ address, bytes: end - address });
    this.#end = end;
  }

  #tryGrow(pages: number): boolean {
    try {
      this.memory.grow(pages);
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }
}

interface Views {
  readonly buffer: ArrayBufferLike;
  readonly u8: Uint8Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
}

function viewsOf(buffer: ArrayBufferLike): Views {
  return { buffer, u8: new Uint8Array(buffer), i32: new Int32Array(buffer), f32: new Float32Array(buffer), f64: new Float64Array(buffer) };
}
