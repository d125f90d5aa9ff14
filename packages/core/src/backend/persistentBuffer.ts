import { byteArray, check } from "@centella/quant/checks";
import { layoutOf, type TypedArray } from "../dtype.ts";
import { DisposedError, ProgramError, ShapeError } from "../errors.ts";
import type { Persistent } from "../program/programGraph.ts";
import { byteLength, formatSpec } from "../spec.ts";
import type { LoadOptions, TensorSource } from "./backend.ts";

/** A part of a stored form, in bytes. */
export interface Chunk {
  readonly offset: number;
  readonly length: number;
}

/** Reads a chunk of a source: to `place()` if the source writes into given memory, otherwise to memory of its own. */
export type ReadChunk = (chunk: Chunk, place: () => Uint8Array | Promise<Uint8Array>) => Promise<Uint8Array>;

/** About how many bytes are read from a source and written at a time, by default. */
export const chunkBytes: number = 4 * 2 ** 20;

/** Cuts `total` bytes into chunks of about `size` bytes, each a multiple of `unit` but the last. */
export function* chunksOf(total: number, unit: number, size: number = chunkBytes): Iterable<Chunk> {
  const step = Math.max(1, Math.floor(size / unit)) * unit;
  for (let offset = 0; offset < total; offset += step) yield { offset, length: Math.min(step, total - offset) };
}

/**
 * Device memory of a persistent. Plans that were compiled with `shareWith` hold the same buffer; a new one belongs to the plan that
 * is being compiled. Backends supply the memory and how bytes get in and out of it.
 */
export abstract class PersistentBuffer {
  readonly persistent: Persistent;
  /** Bytes of memory. */
  abstract readonly bytes: number;
  /** Form of the weight in memory ("4-bit codes") where no kernel reads its stored form, otherwise undefined. */
  abstract readonly convertedTo: string | undefined;
  #isLoaded: boolean;
  #plans = 1;
  /** Source of the content, where it may be read again. */
  #source: TensorSource | undefined;

  constructor(persistent: Persistent) {
    this.persistent = persistent;
    this.#isLoaded = persistent.init === "zeros";
  }

  /** Whether the content is complete: false while `load` is under way, and after it failed. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Bytes of the stored form. */
  get storedBytes(): number {
    return byteLength(this.persistent.spec);
  }

  /** Keeps the memory for one more plan. */
  retain(): void {
    this.#plans++;
  }

  /** Ends a plan's use. The last one frees the memory. */
  release(): void {
    this.#plans--;
    if (this.#plans === 0) this.free();
  }

  /** Streams the stored form in. @throws {ShapeError} for a source of another size */
  async load(source: TensorSource, { signal, onProgress }: LoadOptions): Promise<void> {
    const { name, spec } = this.persistent;
    const total = this.storedBytes;
    if (source.size !== total)
      throw new ShapeError(`load ${name}`, `a source of ${total} bytes for ${formatSpec(spec)}`, `${source.size} bytes`);
    signal?.throwIfAborted();
    [this.#isLoaded, this.#source] = [false, undefined];
    let done = 0;
    await this.transfer(
      async ({ offset, length }, place) => {
        signal?.throwIfAborted();
        const target = source.readInto && (await place());
        if (target !== undefined) await source.readInto?.(target, offset, signal);
        const bytes = target ?? (await this.#read(source, offset, length, signal));
        if (this.#plans === 0) throw new DisposedError("plan");
        return bytes;
      },
      (bytes) => {
        done += bytes;
        onProgress?.(done, total);
      },
    );
    if (total === 0) onProgress?.(0, 0);
    this.#source = this.keepsSource ? source : undefined;
    this.#isLoaded = true;
  }

  /** Returns the stored form: from memory, or from the source where memory holds another form. @throws {ProgramError} if it is not loaded */
  async save(): Promise<TypedArray> {
    const { name } = this.persistent;
    if (!this.#isLoaded) throw new ProgramError(`save: expected ${name} to be loaded, got nothing; call plan.load() first`);
    if (this.convertedTo === undefined) return this.read();
    // Without a source it is still the zeros that it started as.
    const total = this.storedBytes;
    return this.#source === undefined ? new Uint8Array(total) : new Uint8Array(await this.#read(this.#source, 0, total));
  }

  /** Sets the content to zeros. */
  reset(): void {
    this.clear();
    this.#source = undefined;
    this.#isLoaded = true;
  }

  /** Fills new memory, after the device was lost with the old one: weights that were loaded from their source, state with zeros. */
  protected async refill(): Promise<void> {
    const source = this.#source;
    if (this.persistent.init === "zeros") this.reset();
    else if (source !== undefined) {
      await this.load(source, {}).finally(() => {
        this.#source = source;
      });
    }
  }

  /** Whether `load` keeps its source: to save it where memory holds another form, or to load it again. */
  protected get keepsSource(): boolean {
    return this.convertedTo !== undefined;
  }

  /** The chunks in which `load` reads its source. By default of whole blocks and whole 32-bit words. */
  protected chunks(): Iterable<Chunk> {
    return chunksOf(this.storedBytes, 4 * layoutOf(this.persistent.spec.dtype).bytes);
  }

  /**
   * Memory that a source may write a chunk into, which {@link write} then gets: where the chunk belongs, or where the device copies it
   * from. Undefined, the default, for memory that is made for the load.
   */
  protected placeOf(_chunk: Chunk): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    return undefined;
  }

  /** Moves all {@link chunks} from a source to memory, one after the other. `moved` counts their bytes. */
  protected async transfer(read: ReadChunk, moved: (bytes: number) => void): Promise<void> {
    const room = new Room();
    for (const chunk of this.chunks()) {
      const place = async (): Promise<Uint8Array> => (await this.placeOf(chunk)) ?? room.take(chunk.length);
      await this.write(await read(chunk, place), chunk.offset);
      moved(chunk.length);
    }
  }

  /** Writes a chunk of the stored form, which starts `offset` bytes from the start of the stored form. Does not keep it. */
  protected abstract write(chunk: Uint8Array, offset: number): void | Promise<void>;
  /** Reads the stored form back. Not called where memory holds another form. */
  protected abstract read(): TypedArray | Promise<TypedArray>;
  /** Fills the memory with zeros, which are zeros in every block format too. */
  protected abstract clear(): void;
  protected abstract free(): void;

  async #read(source: TensorSource, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const { name } = this.persistent;
    const bytes = await source.read(offset, length, signal);
    check(`load ${name}`, "what the source reads", bytes, byteArray);
    if (bytes.length !== length)
      throw new ShapeError(`load ${name}`, `${length} bytes of the source from ${offset}`, `${bytes.length} bytes`, "read exactly as many");
    return bytes;
  }
}

/** Memory that the chunks of a load share. */
class Room {
  #bytes = new Uint8Array(0);

  take(length: number): Uint8Array {
    if (this.#bytes.length < length) this.#bytes = new Uint8Array(length);
    return this.#bytes.subarray(0, length);
  }
}
