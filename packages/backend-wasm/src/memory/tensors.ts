import { type ConcreteSpec, DisposedError, type TypedArray } from "@centella/core";
import { byteLength, formatSpec, type TensorStorage, typedArrayOf } from "@centella/core/backend";
import type { Heap } from "./heap.ts";

/** Copies a tensor's stored form from WASM memory. */
export function readStored(heap: Heap, spec: ConcreteSpec, address: number): TypedArray {
  const end = address + byteLength(spec);
  // A typed slice saves a view, which is most of the cost of a small result.
  if (spec.dtype === "f32") return heap.f32.slice(address / 4, end / 4);
  const bytes = heap.u8.slice(address, end);
  return new (typedArrayOf(spec.dtype))(bytes.buffer);
}

/** Memory of a tensor handle. It is freed once the handle is disposed and no run or reader uses it. */
export class WasmStorage implements TensorStorage {
  readonly device = "wasm";
  readonly heap: Heap;
  readonly #spec: ConcreteSpec;
  readonly #done: Promise<unknown>;
  #address: number | undefined;
  #users = 0;
  #freed = false;

  /** Without an address the content is pending: {@link place} must be called before `done` resolves. */
  constructor(heap: Heap, spec: ConcreteSpec, done: Promise<unknown>, address?: number) {
    this.heap = heap;
    this.#spec = spec;
    this.#done = done;
    this.#address = address;
  }

  get address(): number {
    if (this.#address === undefined) throw new DisposedError(`tensor ${formatSpec(this.#spec)}`);
    return this.#address;
  }

  /** Whether the content exists, or the memory that pending runs will write. */
  get isPlaced(): boolean {
    return this.#address !== undefined;
  }

  /** Whether any handle, run or reader still needs the content. */
  get isWanted(): boolean {
    return !this.#freed || this.#users > 0;
  }

  /** Takes ownership of the memory with the content, and frees it if it is no longer needed. */
  place(address: number): void {
    this.#address = address;
    this.#collect();
  }

  retain(): void {
    this.#users++;
  }

  release(): void {
    this.#users--;
    this.#collect();
  }

  async ready(): Promise<void> {
    await this.#done;
  }

  async read(): Promise<TypedArray> {
    this.retain();
    try {
      await this.#done;
      return readStored(this.heap, this.#spec, this.address);
    } finally {
      this.release();
    }
  }

  peek(): TypedArray | undefined {
    return this.#address === undefined ? undefined : readStored(this.heap, this.#spec, this.#address);
  }

  free(): void {
    this.#freed = true;
    this.#collect();
  }

  #collect(): void {
    if (this.isWanted || this.#address === undefined) return;
    this.heap.free(this.#address);
    this.#address = undefined;
  }
}
