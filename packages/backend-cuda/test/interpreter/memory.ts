/** A fault that a real device would answer with an error or, worse, not at all. */
export class Fault extends Error {
  override name = "Fault";
}

/** Bytes with a record of which were written and by whom. */
export class Region {
  readonly base: number;
  readonly size: number;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Per two bytes: 1 once something was written there. */
  readonly written: Uint8Array;
  /** Per two bytes: the last writer of a kernel, as `epoch * 2^32 + thread`. */
  readonly writer: Float64Array;
  /** Per two bytes, the last reader likewise; only kept for shared memory. */
  readonly reader: Float64Array | undefined;

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
  }

  checked(address: number, bytes: number, thread: string): number {
    const offset = address - this.base;
    if (offset < 0 || offset + bytes > this.size)
      throw new Fault(`${thread}: ${bytes} bytes at ${offset} of ${this.name} (${this.size} bytes)`);
    if (offset % bytes !== 0) throw new Fault(`${thread}: misaligned access of ${bytes} bytes at ${offset} of ${this.name}`);
    return offset;
  }
}

const stampUnit = 2 ** 32;

/** Device memory: regions with gaps between them, so that running out of one is noticed. */
export class GlobalMemory {
  readonly #regions: Region[] = [];
  #next = 2 ** 33;
  #last: Region | undefined;
  live = 0;
  /** Counts launches: accesses of one launch by different threads must not meet. */
  epoch = 0;

  alloc(bytes: number): number {
    const region = new Region("global memory", this.#next, bytes, false);
    this.#next += Math.ceil(bytes / 4096) * 4096 + 8192;
    this.#regions.push(region);
    this.live += bytes;
    return region.base;
  }

  free(base: number): void {
    const index = this.#regions.findIndex((region) => region.base === base);
    if (index < 0) throw new Fault(`free of an address that was not allocated: ${base}`);
    this.live -= this.#regions[index]!.size;
    this.#regions.splice(index, 1);
    this.#last = undefined;
  }

  region(address: number, bytes: number, who: string): Region {
    const last = this.#last;
    if (last !== undefined && address >= last.base && address + bytes <= last.base + last.size) return last;
    const found = this.#regions.find((region) => address >= region.base && address + bytes <= region.base + region.size);
    if (found === undefined) throw new Fault(`${who}: access of ${bytes} bytes at ${address}, which is not allocated`);
    this.#last = found;
    return found;
  }
}

/** Memory that a launch may touch, from its first byte to behind its last one. */
export interface Reach {
  readonly begin: number;
  readonly end: number;
  readonly isWritten: boolean;
}

/** Reads and writes of kernels, checked. One instance per block; `thread` is set before each. */
export class Access {
  readonly shared: Region;
  readonly #global: GlobalMemory;
  readonly #reach: readonly Reach[];
  readonly #threadsBefore: number;
  thread = 0;
  /** Counts barriers: accesses of one phase by different threads must not meet. */
  phase = 1;

  constructor(global: GlobalMemory, reach: readonly Reach[], sharedBytes: number, threadsBefore: number) {
    this.#global = global;
    this.#reach = reach;
    this.#threadsBefore = threadsBefore;
    this.shared = new Region("shared memory", 0, sharedBytes, true);
  }

  read(space: "global" | "shared", address: number, bytes: number): readonly [DataView, number] {
    if (space === "global") this.#checkReach(address, bytes, false);
    const region = space === "shared" ? this.shared : this.#global.region(address, bytes, this.#who());
    const offset = region.checked(address, bytes, this.#who());
    const stamp = this.#stamp(space);
    for (let i = offset >> 1; i < (offset + bytes + 1) >> 1; i++) {
      if (region.written[i] === 0) throw new Fault(`${this.#who()}: read of unwritten byte ${2 * i} of ${region.name}`);
      if (isOther(region.writer[i]!, stamp))
        throw new Fault(`${this.#who()}: race: byte ${2 * i} of ${region.name} was written by another thread`);
      if (region.reader !== undefined) region.reader[i] = isOther(region.reader[i]!, stamp) ? stamp + 0.5 : stamp;
    }
    return [region.view, offset];
  }

  write(space: "global" | "shared", address: number, bytes: number): readonly [DataView, number] {
    if (space === "global") this.#checkReach(address, bytes, true);
    const region = space === "shared" ? this.shared : this.#global.region(address, bytes, this.#who());
    const offset = region.checked(address, bytes, this.#who());
    const stamp = this.#stamp(space);
    for (let i = offset >> 1; i < (offset + bytes + 1) >> 1; i++) {
      if (isOther(region.writer[i]!, stamp))
        throw new Fault(`${this.#who()}: race: byte ${2 * i} of ${region.name} is written by two threads`);
      if (region.reader !== undefined && isOther(region.reader[i]!, stamp))
        throw new Fault(`${this.#who()}: race: byte ${2 * i} of ${region.name} was read by another thread`);
      region.written[i] = 1;
      region.writer[i] = stamp;
    }
    return [region.view, offset];
  }

  /** Tensors lie side by side in one piece of memory: a kernel that runs out of its own is in another one. */
  #checkReach(address: number, bytes: number, isWrite: boolean): void {
    for (const { begin, end, isWritten } of this.#reach) if (address >= begin && address + bytes <= end && (isWritten || !isWrite)) return;
    const nearest = this.#reach
      .filter(({ begin, isWritten }) => begin <= address && (isWritten || !isWrite))
      .reduce<Reach | undefined>((best, each) => (best === undefined || each.begin > best.begin ? each : best), undefined);
    const where =
      nearest === undefined
        ? "before all of them"
        : `${address - nearest.end} bytes behind the end of one of ${nearest.end - nearest.begin}`;
    throw new Fault(`${this.#who()}: ${isWrite ? "write" : "read"} of ${bytes} bytes outside of its tensors, ${where}`);
  }

  #stamp(space: "global" | "shared"): number {
    return space === "shared" ? this.phase * stampUnit + this.thread : this.#global.epoch * stampUnit + this.#threadsBefore + this.thread;
  }

  #who(): string {
    return `thread ${this.thread} (${this.#threadsBefore + this.thread} of the grid)`;
  }
}

/** True if a record is of the same phase or launch, and of another thread. */
function isOther(record: number, stamp: number): boolean {
  return record !== stamp && Math.floor(record / stampUnit) === Math.floor(stamp / stampUnit);
}
