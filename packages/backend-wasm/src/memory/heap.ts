import { OutOfMemoryError } from "@centella/core";
import { elementAt, entryOf } from "@centella/core/backend";
import { engineMaxPages, memoryMap, pageBytes } from "./memoryMap.ts";

const alignment = 64;
/** Kernels read whole vectors, up to 31 bytes past the end of a tensor. */
const padding = 32;

/** Maximum bytes of a tensor. Kernels count bytes, and distances between elements, in 32 bits. */
const maxTensorBytes = 2 ** 32 - 2 ** 16;

/** @throws {OutOfMemoryError} for a tensor that fits in no memory */
export function checkTensorBytes(bytes: number): void {
  if (bytes > maxTensorBytes) throw new OutOfMemoryError("wasm", bytes, maxTensorBytes, "a tensor has at most this many bytes; split it");
}

interface Range {
  readonly address: number;
  readonly bytes: number;
}

/** Uses of memory that `Backend.memory()` reports. */
export type Purpose = "persistents" | "arenas" | "tensors" | "other";

interface Allocation {
  readonly bytes: number;
  readonly purpose: Purpose;
}

/** Options of a new memory. */
export interface MemoryOptions {
  readonly initial: number;
  readonly maximum: number;
  readonly shared: boolean;
  /** 64-bit addresses. */
  readonly memory64: boolean;
}

/** @throws {OutOfMemoryError} if the address space is exhausted */
export function createMemory({ initial, maximum, shared, memory64 }: MemoryOptions): WebAssembly.Memory {
  const descriptor = memory64
    ? { address: "i64", initial: BigInt(initial), maximum: BigInt(maximum), shared }
    : { initial, maximum, shared };
  try {
    return new WebAssembly.Memory(descriptor as WebAssembly.MemoryDescriptor);
  } catch (error) {
    if (error instanceof RangeError) throw new OutOfMemoryError("wasm", maximum * pageBytes, undefined, "dispose of other models first");
    throw error;
  }
}

interface HeapOptions {
  readonly memory64?: boolean;
  /** Option that sets the limit, for error texts. */
  readonly advice?: string;
}

/** Allocator over one `WebAssembly.Memory`: first fit over a sorted free list, growing the memory when nothing fits. */
export class Heap {
  readonly memory: WebAssembly.Memory;
  /** Whether addresses have 64 bits. */
  readonly memory64: boolean;
  readonly #maxPages: number;
  readonly #advice: string;
  readonly #allocations = new Map<number, Allocation>();
  /** Sorted by address. */
  readonly #free: Range[];
  #end: number;
  /** Memory from here on was never allocated and is still zero. Untouched pages use no physical memory. */
  #untouched: number;
  #views: Views;
  /** Called before the memory is accessed. */
  guard: (() => void) | undefined;

  constructor(memory: WebAssembly.Memory, maxPages: number, { memory64 = false, advice = "maxMemoryMiB" }: HeapOptions = {}) {
    this.memory = memory;
    this.memory64 = memory64;
    this.#advice = advice;
    // The last page of a 32-bit memory stays unused: the address after it is 0.
    this.#maxPages = Math.min(maxPages, memory64 ? engineMaxPages.memory64 : engineMaxPages.memory32 - 1);
    this.#end = memory.buffer.byteLength;
    this.#free = this.#end > memoryMap.heap ? [{ address: memoryMap.heap, bytes: this.#end - memoryMap.heap }] : [];
    this.#untouched = memoryMap.heap;
    this.#views = viewsOf(memory.buffer);
  }

  /** @throws {OutOfMemoryError} if this many more bytes can never be allocated */
  require(bytes: number): void {
    let used = memoryMap.heap;
    for (const allocation of this.#allocations.values()) used += allocation.bytes;
    const free = this.#maxPages * pageBytes - used;
    if (bytes > free) throw this.#outOfMemory(bytes, free);
  }

  /**
   * Allocates uninitialised bytes, aligned to 64.
   * @throws {OutOfMemoryError}
   */
  alloc(bytes: number, purpose: Purpose): number {
    if (purpose !== "arenas") checkTensorBytes(bytes);
    const address = this.#take(Math.max(alignment, Math.ceil((bytes + padding) / alignment) * alignment), bytes, purpose);
    this.#untouched = Math.max(this.#untouched, address + entryOf(this.#allocations, address).bytes);
    return address;
  }

  /** Like {@link alloc}, filled with zeros. */
  allocZeroed(bytes: number, purpose: Purpose): number {
    const untouched = this.#untouched;
    const address = this.alloc(bytes, purpose);
    this.u8.fill(0, address, Math.max(address, Math.min(untouched, address + entryOf(this.#allocations, address).bytes)));
    return address;
  }

  #take(size: number, bytes: number, purpose: Purpose): number {
    let index = this.#free.findIndex((range) => range.bytes >= size);
    if (index < 0) {
      this.#grow(size, bytes);
      index = this.#free.length - 1;
    }
    const { address, bytes: available } = elementAt(this.#free, index);
    if (available === size) this.#free.splice(index, 1);
    else this.#free[index] = { address: address + size, bytes: available - size };
    this.#allocations.set(address, { bytes: size, purpose });
    return address;
  }

  /** Frees memory from {@link alloc}. */
  free(address: number): void {
    const allocation = this.#allocations.get(address);
    if (allocation === undefined) throw new RangeError(`heap: expected an allocated address, got ${address}`);
    this.#allocations.delete(address);
    const { bytes } = allocation;
    const index = this.#firstFreeBeyond(address);
    const [before, after] = [this.#free[index - 1], this.#free[index]];
    const joinsBefore = before !== undefined && before.address + before.bytes === address;
    const joinsAfter = after?.address === address + bytes;
    const merged = {
      address: joinsBefore ? before.address : address,
      bytes: bytes + (joinsBefore ? before.bytes : 0) + (joinsAfter ? after.bytes : 0),
    };
    this.#free.splice(index - Number(joinsBefore), Number(joinsBefore) + Number(joinsAfter), merged);
  }

  /** Index of the first free range after an address. */
  #firstFreeBeyond(address: number): number {
    let [low, high] = [0, this.#free.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (elementAt(this.#free, middle).address < address) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Whether threads can share the memory. */
  get isShared(): boolean {
    return typeof SharedArrayBuffer !== "undefined" && this.memory.buffer instanceof SharedArrayBuffer;
  }

  /** For callers that access the memory without the views of this class. */
  touch(): void {
    this.guard?.();
  }

  /** Bytes allocated for a purpose, including alignment and padding. */
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

  /** Views of the whole memory. Reading `memory.buffer` each time would dominate a small run. */
  #current(): Views {
    this.touch();
    // An unshared memory detaches its views whenever it grows.
    if (this.#views.u8.length === 0) this.#views = viewsOf(this.memory.buffer);
    return this.#views;
  }

  #grow(size: number, asked: number): void {
    const last = this.#free.at(-1);
    const tail = last !== undefined && last.address + last.bytes === this.#end ? last : undefined;
    const atEnd = tail?.bytes ?? 0;
    const start = Math.max(this.#end, memoryMap.heap);
    const needed = Math.ceil((start + size - atEnd - this.#end) / pageBytes);
    const pages = this.#end / pageBytes;
    const room = this.#maxPages - pages;
    if (needed > room) throw this.#outOfMemory(asked, Math.max(0, room * pageBytes + atEnd));
    // Growing copies nothing but detaches the views, so grow by at least an eighth.
    const step = Math.min(room, Math.max(needed, pages >> 3));
    if (!this.#tryGrow(step) && !this.#tryGrow(needed)) throw new OutOfMemoryError("wasm", asked);
    this.#views = viewsOf(this.memory.buffer);
    const end = this.#views.u8.length;
    if (tail !== undefined) this.#free.pop();
    const address = tail?.address ?? start;
    this.#free.push({ address, bytes: end - address });
    this.#end = end;
  }

  #outOfMemory(asked: number, free: number): OutOfMemoryError {
    const limit = `the limit is ${this.#maxPages * pageBytes} bytes (${this.#advice})`;
    return new OutOfMemoryError("wasm", asked, free, `${limit}; use a smaller model, a shorter context or another backend`);
  }

  #tryGrow(pages: number): boolean {
    try {
      this.memory.grow((this.memory64 ? BigInt(pages) : pages) as number);
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }
}

interface Views {
  readonly u8: Uint8Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
}

function viewsOf(buffer: ArrayBufferLike): Views {
  return { u8: new Uint8Array(buffer), i32: new Int32Array(buffer), f32: new Float32Array(buffer), f64: new Float64Array(buffer) };
}
