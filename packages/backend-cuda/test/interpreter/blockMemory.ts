import type { TensorMap } from "../../src/device/driver.ts";
import { AsyncReads, type ReadKnowledge } from "./asyncReads.ts";
import { CopyBarriers } from "./copyBarriers.ts";
import { CopyGroups } from "./copyGroups.ts";
import { Fault, type GlobalMemory, type Reach, Region, type Who } from "./memory.ts";
import { ProxyFences } from "./proxyFences.ts";
import { BlockReleases } from "./releases.ts";
import { type Stamps, threadOf } from "./stamps.ts";

type Space = "global" | "shared";

/** A block, and what its launch gives it. */
export interface BlockTraits {
  /** Threads of the launch's blocks before it. */
  readonly threadsBefore: number;
  readonly blockThreads: number;
  /** Number of its first threads that start before earlier launches are over. */
  readonly earlyThreads: number;
  /** Whether the kernel shows other blocks by atomic accesses what it has written. */
  readonly releases: boolean;
  readonly maps: readonly TensorMap[];
  /** The cluster, whose next block it becomes. */
  readonly cluster: {
    readonly size: number;
    readonly blocks: readonly unknown[];
    readonly stamps: Stamps;
    readonly reads: ReadKnowledge;
  };
}

/** Reads and writes of a block's threads, checked. `thread` is set before each. */
export class BlockMemory {
  readonly shared: Region;
  thread = 0;
  /** The memory of the last read or write. */
  view: DataView;
  /** Counts what may end a wait for a barrier. */
  events = 0;
  /** Number of the block's first thread in its cluster. */
  readonly first: number;
  protected readonly barriers: CopyBarriers;
  protected readonly groups: CopyGroups = new CopyGroups("shared memory");
  protected readonly stores: CopyGroups = new CopyGroups("global memory");
  protected readonly asyncReads: AsyncReads;
  protected readonly fences: ProxyFences;
  protected readonly stamps: Stamps;
  readonly #blockThreads: number;
  /** Whether the block is its whole cluster. */
  readonly #isAlone: boolean;
  /** Threads that must not see what earlier launches of the graph did yet. */
  protected readonly early: Set<number>;
  protected readonly global: GlobalMemory;
  /** What a read may touch. */
  readonly #readable: readonly Reach[];
  readonly #writable: readonly Reach[];
  readonly #threadsBefore: number;
  /** Only for kernels that release. */
  protected readonly releases: BlockReleases | undefined;
  /** The block whose thread touches this block's memory, where it is another one. */
  #visitor: BlockMemory | undefined;

  constructor(global: GlobalMemory, reach: readonly Reach[], sharedBytes: number, traits: BlockTraits) {
    const { threadsBefore, blockThreads, earlyThreads, releases, cluster } = traits;
    this.global = global;
    this.#readable = reach.filter(({ isRead }) => isRead);
    this.#writable = reach.filter(({ isWritten }) => isWritten);
    this.#threadsBefore = threadsBefore;
    this.#blockThreads = blockThreads;
    this.#isAlone = cluster.size === 1;
    this.stamps = cluster.stamps;
    this.first = cluster.blocks.length * blockThreads;
    this.shared = new Region("shared memory", 0, sharedBytes, true);
    this.view = this.shared.view;
    this.barriers = new CopyBarriers(this.shared);
    this.asyncReads = new AsyncReads(sharedBytes, cluster.reads);
    this.fences = new ProxyFences(sharedBytes);
    this.releases = releases ? new BlockReleases(global.releases, this.stamps) : undefined;
    this.early = new Set(Array.from({ length: earlyThreads }, (_, thread) => thread));
  }

  /** Names the thread, for faults. */
  protected readonly who: Who = () => this.#visitor?.who() ?? `thread ${this.thread} (${this.#threadsBefore + this.thread} of the grid)`;

  /** The thread's number in the cluster. */
  protected get self(): number {
    return this.#visitor?.self ?? this.first + this.thread;
  }

  /** Lets the current thread of another block of the cluster do something in this block's memory. */
  protected visit<T>(visitor: BlockMemory, action: () => T): T {
    this.#visitor = visitor;
    try {
      return action();
    } finally {
      this.#visitor = undefined;
    }
  }

  /** Called when all threads have reached the block's barrier: accesses before it do not meet those after it. */
  passBarrier(): void {
    if (this.#isAlone) {
      this.stamps.passBarrier();
      this.barriers.showAll();
      this.asyncReads.passBarrier();
    } else {
      this.barriers.showAll(this.stamps.of(this.first));
      this.passSomeBarrier(Array.from({ length: this.#blockThreads }, (_, thread) => thread));
    }
  }

  /** Called when all of `members` have reached a barrier of their own. */
  passSomeBarrier(members: readonly number[]): void {
    const threads = members.map((thread) => this.first + thread);
    this.stamps.passSomeBarrier(threads);
    this.asyncReads.meet(threads);
  }

  /** Called by each lane that leaves a barrier of its warp. */
  passWarpBarrier(): void {
    const { self } = this;
    this.stamps.passWarpBarrier(self);
    if ((self & 31) === 31 && !this.asyncReads.isEmpty) this.asyncReads.meet(Array.from({ length: 32 }, (_, lane) => self - 31 + lane));
  }

  waitForEarlier(): void {
    this.early.delete(this.thread);
  }

  /** Checks a read, and returns its place in {@link view}. */
  read(space: Space, address: number, bytes: number): number {
    const region = this.locate(space, address, bytes, false);
    const offset = address - region.base;
    for (let i = offset >> 1; i < (offset + bytes + 1) >> 1; i++) this.#checkRead(space, region, i);
    this.view = region.view;
    return offset;
  }

  /** Checks a write, and returns its place in {@link view}. */
  write(space: Space, address: number, bytes: number): number {
    const region = this.locate(space, address, bytes, true);
    const offset = address - region.base;
    for (let i = offset >> 1; i < (offset + bytes + 1) >> 1; i++) {
      this.checkWrite(space, region, i);
      this.wrote(space, region, i);
    }
    this.view = region.view;
    return offset;
  }

  /** Checks an access to `bytes` bytes of a row of 16 bytes of a matrix, and returns its place in {@link view}. */
  matrixRow(kind: "read" | "write", row: number, byte: number, bytes: number): number {
    if (row % 16 !== 0) throw new Fault(`${this.who()}: a row of a matrix at byte ${row} of shared memory: expected a multiple of 16`);
    return this[kind]("shared", row + byte, bytes);
  }

  protected locate(space: Space, address: number, bytes: number, isWrite: boolean): Region {
    if (space === "global") this.checkReach(address, bytes, isWrite);
    const region = space === "shared" ? this.shared : this.global.region(address, bytes, this.who);
    region.check(address, bytes, this.who);
    return region;
  }

  #checkRead(space: Space, region: Region, i: number): void {
    if (space === "shared") {
      this.barriers.checkRead(i, this.self, this.who);
      this.groups.check(i, this.who);
    } else {
      this.#checkEarly(region, i);
      this.stores.check(region.base / 2 + i, this.who);
    }
    const stamp = this.stamp(space);
    if (region.written[i] === 0) throw new Fault(`${this.who()}: read of unwritten byte ${2 * i} of ${region.name}`);
    if (this.#meets(space, region.writer[i]!, stamp))
      throw new Fault(`${this.who()}: race: byte ${2 * i} of ${region.name} was written by another thread`);
    if (region.reader !== undefined) region.reader[i] = this.stamps.readBy(region.reader[i]!, stamp);
  }

  protected checkWrite(space: Space, region: Region, i: number): void {
    if (space === "shared") {
      this.barriers.checkWrite(i, this.who);
      this.asyncReads.checkWrite(i, this.self, this.who);
      this.groups.check(i, this.who);
    } else {
      this.checkEarlyWrite();
      this.stores.check(region.base / 2 + i, this.who);
    }
    const stamp = this.stamp(space);
    if (this.#meets(space, region.writer[i]!, stamp))
      throw new Fault(`${this.who()}: race: byte ${2 * i} of ${region.name} is written by two threads`);
    if (region.reader !== undefined && this.#meets(space, region.reader[i]!, stamp))
      throw new Fault(`${this.who()}: race: byte ${2 * i} of ${region.name} was read by another thread`);
  }

  /** @throws {Fault} before the wait for earlier launches */
  protected checkEarlyWrite(): void {
    if (this.early.has(this.thread)) throw new Fault(`${this.who()}: write before the wait for earlier launches`);
  }

  protected wrote(space: Space, region: Region, i: number): void {
    region.written[i] = 1;
    region.writer[i] = this.stamp(space);
    if (space === "shared") this.fences.wrote(i);
    else this.releases?.wrote(region, i, this.stamp("shared"));
  }

  /** @throws {Fault} before the wait for earlier launches, for what one of them writes */
  #checkEarly(region: Region, i: number): void {
    if (!this.early.has(this.thread)) return;
    const writer = region.writer[i]!;
    const epoch = this.global.releases.of(writer)?.epoch ?? Math.floor(writer / epochUnit);
    if (epoch < this.global.firstEpoch) return;
    throw new Fault(`${this.who()}: read of byte ${2 * i} of ${region.name} before the wait for the launch that writes it`);
  }

  #meets(space: Space, record: number, stamp: number): boolean {
    if (space === "shared") return !this.stamps.areOrdered(record, stamp);
    const release = this.global.releases.of(record);
    if (release === undefined) return isOther(record, stamp);
    return release.epoch === this.global.epoch && !(this.releases?.hasAcquired(record, this.stamp("shared")) ?? false);
  }

  /** @throws {Fault} if copies or products that `threads` start may not read here: what they wrote must be fenced, and what others wrote ordered */
  protected checkAsyncRead(address: number, bytes: number, threads: readonly number[]): void {
    if (address + bytes > this.shared.size) throw new Fault(`${this.who()}: read of ${bytes} bytes at ${address} of ${this.shared.size}`);
    const { writer, written } = this.shared;
    const who = this.who;
    for (let i = address >> 1; i < (address + bytes) >> 1; i++) {
      if (written[i] === 0) throw new Fault(`${who()}: read of unwritten byte ${2 * i} of shared memory`);
      this.groups.check(i, who);
      for (const thread of threads) {
        this.barriers.checkRead(i, this.first + thread, who);
        if (this.#meets("shared", writer[i]!, this.stamps.of(this.first + thread)))
          throw new Fault(`${who()}: race: byte ${2 * i} of shared memory was written by another thread`);
      }
      this.fences.check(i, threadOf(writer[i]!), who);
    }
  }

  /** Tensors are stored next to each other in one piece of memory: a kernel that leaves its own tensor reads or writes another one. */
  protected checkReach(address: number, bytes: number, isWrite: boolean): void {
    const reach = isWrite ? this.#writable : this.#readable;
    for (const { begin, end } of reach) if (address >= begin && address + bytes <= end) return;
    const nearest = reach
      .filter(({ begin }) => begin <= address)
      .reduce<Reach | undefined>((best, each) => (best === undefined || each.begin > best.begin ? each : best), undefined);
    const where =
      nearest === undefined
        ? "before all of them"
        : `${address - nearest.end} bytes behind the end of one of ${nearest.end - nearest.begin}`;
    throw new Fault(`${this.who()}: ${isWrite ? "write" : "read"} of ${bytes} bytes outside of its tensors, ${where}`);
  }

  protected stamp(space: Space): number {
    return space === "shared" ? this.stamps.of(this.self) : this.stampOf(this.#threadsBefore + this.thread);
  }

  /** The record of global memory that thread `thread` of the launch has written. */
  protected stampOf(thread: number): number {
    return this.global.epoch * epochUnit + thread;
  }

  /** The content of a copy from global memory. */
  protected source(from: number, bytes: number): Uint8Array {
    const who = this.who;
    const source = this.global.region(from, bytes, who);
    const start = from - source.base;
    for (let i = start >> 1; i < (start + bytes) >> 1; i++) {
      this.#checkEarly(source, i);
      if (source.written[i] === 0) throw new Fault(`${who()}: copy of unwritten byte ${2 * i} of ${source.name}`);
      if (this.#meets("global", source.writer[i]!, this.stamp("global")))
        throw new Fault(`${who()}: race: byte ${2 * i} was written by another thread`);
    }
    return source.bytes.slice(start, start + bytes);
  }

  /** @throws {Fault} if a copy to shared memory may not start */
  protected checkTarget(to: number, bytes: number): void {
    for (let i = to >> 1; i < (to + bytes) >> 1; i++) {
      this.checkWrite("shared", this.shared, i);
      this.fences.beginCopy(i);
    }
  }
}

const epochUnit = 2 ** 32;

/** True if a record of global memory is of the same launch, and of another thread. */
function isOther(record: number, stamp: number): boolean {
  return record !== stamp && Math.floor(record / epochUnit) === Math.floor(stamp / epochUnit);
}
