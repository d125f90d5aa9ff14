import { Releases } from "./releases.ts";

/** A fault that a real device would answer with an error or, worse, not at all. */
export class Fault extends Error {
  override name = "Fault";
}

/** Names what accesses memory, for a fault. A function, since building the text for each access would take longer than the access. */
export type Who = () => string;

/** Bytes with a record of which were written and by whom. */
export class Region {
  readonly base: number;
  readonly size: number;
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView;
  /** Per two bytes: 1 once something was written there. */
  readonly written: Uint8Array;
  /** Per two bytes: the last writer of a kernel, as `epoch * 2^32 + thread`, or the release that covers it; see {@link Releases}. */
  readonly writer: Float64Array;
  /** Per two bytes, the last reader likewise; only kept for shared memory. */
  readonly reader: Float64Array | undefined;
  /** Per two bytes: number of the copy that is on its way there, or that wrote there last; 0 for none. Only kept for shared memory. */
  readonly copy: Int32Array;

  constructor(name: string, base: number, size: number, tracksReaders: boolean) {
    this.name = name;
    this.base = base;
    this.size = size;
    const padded = Math.ceil(size / 8) * 8;
    this.bytes = new Uint8Array(padded);
    this.view = new DataView(this.bytes.buffer);
    this.written = new Uint8Array(padded / 2);
    this.writer = new Float64Array(padded / 2);
    this.reader = tracksReaders ? new Float64Array(padded / 2) : undefined;
    this.copy = new Int32Array(tracksReaders ? padded / 2 : 0);
  }

  /** @throws {Fault} for an access outside of the region, or one that is not aligned */
  check(address: number, bytes: number, who: Who): void {
    const offset = address - this.base;
    if (offset < 0 || offset + bytes > this.size)
      throw new Fault(`${who()}: ${bytes} bytes at ${offset} of ${this.name} (${this.size} bytes)`);
    if (offset % bytes !== 0) throw new Fault(`${who()}: misaligned access of ${bytes} bytes at ${offset} of ${this.name}`);
  }
}

/** The last atomic access to a number of global memory. */
export interface AtomicRecord {
  readonly epoch: number;
  readonly block: object;
  readonly cluster: object;
  readonly scope: string;
  /** The record of the number's writer since then. */
  readonly record: number;
}

const hostMemory = "page-locked memory";

/** Memory that kernels reach: regions with gaps between them, so that running out of one is noticed. */
export class GlobalMemory {
  /** The region of the last access first. */
  readonly #regions: Region[] = [];
  readonly releases: Releases = new Releases();
  /** By address. */
  readonly atomics = new Map<number, AtomicRecord>();
  #next = 2 ** 33;
  live = 0;
  /** Counts launches: accesses of one launch by different threads must not meet. */
  epoch = 0;
  /** The first launch of the graph that runs. */
  firstEpoch = 0;

  alloc(bytes: number): number {
    this.live += bytes;
    return this.#add("global memory", bytes).base;
  }

  /** Page-locked memory of the host. */
  allocHost(bytes: number): Region {
    return this.#add(hostMemory, bytes);
  }

  /** Whether an address is one of the host's memory. */
  isOfHost(address: number): boolean {
    return this.#regions.some(({ name, base, size }) => name === hostMemory && address >= base && address < base + size);
  }

  free(base: number): void {
    const index = this.#regions.findIndex((region) => region.base === base);
    if (index < 0) throw new Fault(`free of an address that was not allocated: ${base}`);
    const { name, size } = this.#regions[index]!;
    if (name !== hostMemory) this.live -= size;
    this.#regions.splice(index, 1);
  }

  #add(name: string, bytes: number): Region {
    const region = new Region(name, this.#next, bytes, false);
    this.#next += Math.ceil(bytes / 4096) * 4096 + 8192;
    this.#regions.push(region);
    return region;
  }

  region(address: number, bytes: number, who: Who): Region {
    const regions = this.#regions;
    const index = regions.findIndex((region) => address >= region.base && address + bytes <= region.base + region.size);
    const found = regions[index];
    if (found === undefined) throw new Fault(`${who()}: access of ${bytes} bytes at ${address}, which is not allocated`);
    // Accesses alternate between few regions.
    if (index > 0) [regions[0], regions[index]] = [found, regions[0]!];
    return found;
  }
}

/** Memory that a launch may touch, from its first byte to behind its last one. */
export interface Reach {
  readonly begin: number;
  readonly end: number;
  readonly isWritten: boolean;
  /** False for the host's memory that a launch writes: reads of it take microseconds. */
  readonly isRead: boolean;
}
