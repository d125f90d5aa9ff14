import { boxColumns, type TensorMap } from "../../src/device/driver.ts";
import { AsyncReads } from "./asyncReads.ts";
import { BlockProducts } from "./blockProducts.ts";
import { CopyBarriers } from "./copyBarriers.ts";
import { CopyGroups } from "./copyGroups.ts";
import { Fault, type GlobalMemory, type Reach, Region, type Who } from "./memory.ts";
import { ProxyFences } from "./proxyFences.ts";
import { BlockReleases } from "./releases.ts";
import { Stamps, threadOf } from "./stamps.ts";

type Space = "global" | "shared";

/** Reads and writes of a block's threads, checked. `thread` is set before each. */
export class Access {
  readonly shared: Region;
  readonly #global: GlobalMemory;
  readonly #reach: readonly Reach[];
  readonly #threadsBefore: number;
  readonly #who: Who = () => `thread ${this.thread} (${this.#threadsBefore + this.thread} of the grid)`;
  readonly #stamps: Stamps;
  readonly #barriers: CopyBarriers;
  readonly #groups: CopyGroups;
  /** Only for kernels that count. */
  readonly #releases: BlockReleases | undefined;
  /** Threads that must not see what earlier launches of the graph did yet. */
  readonly #early: Set<number>;
  readonly #asyncReads: AsyncReads;
  readonly #fences: ProxyFences;
  /** By address in shared memory, the writer of the last count there. */
  readonly #counted = new Map<number, number>();
  readonly #maps: readonly TensorMap[];
  readonly products: BlockProducts;
  thread = 0;
  /** The memory of the last read or write. */
  view: DataView;
  /** Counts what may end a wait for a barrier. */
  events = 0;

  /** The first `earlyThreads` threads start before earlier launches are over. */
  constructor(
    global: GlobalMemory,
    reach: readonly Reach[],
    sharedBytes: number,
    {
      threadsBefore,
      earlyThreads,
      counts,
      maps,
    }: { readonly threadsBefore: number; readonly earlyThreads: number; readonly counts: boolean; readonly maps: readonly TensorMap[] },
  ) {
    this.#maps = maps;
    this.#global = global;
    this.#reach = reach;
    this.#threadsBefore = threadsBefore;
    this.shared = new Region("shared memory", 0, sharedBytes, true);
    this.view = this.shared.view;
    this.#stamps = new Stamps();
    this.#barriers = new CopyBarriers(this.shared);
    this.#asyncReads = new AsyncReads(sharedBytes);
    this.products = new BlockProducts(this.shared, this.#asyncReads, (address, bytes, threads) =>
      this.#checkAsyncRead(address, bytes, threads),
    );
    this.#fences = new ProxyFences(sharedBytes);
    this.#groups = new CopyGroups();
    this.#releases = counts ? new BlockReleases(global.releases, this.#stamps) : undefined;
    this.#early = new Set(Array.from({ length: earlyThreads }, (_, thread) => thread));
  }

  waitForEarlier(): void {
    this.#early.delete(this.thread);
  }

  /** Called when all threads have reached the block's barrier: accesses before it do not meet those after it. */
  passBarrier(): void {
    this.#stamps.passBarrier();
    this.#barriers.showAll();
    this.#asyncReads.passBarrier();
  }

  /** Called when all of `members` have reached a barrier of their own. */
  passSomeBarrier(members: readonly number[]): void {
    this.#stamps.passSomeBarrier(members);
    this.#asyncReads.meet(members);
  }

  /** Called by each lane that leaves a barrier of its warp. */
  passWarpBarrier(): void {
    this.#stamps.passWarpBarrier(this.thread);
    if ((this.thread & 31) === 31 && !this.#asyncReads.isEmpty)
      this.#asyncReads.meet(Array.from({ length: 32 }, (_, lane) => this.thread - 31 + lane));
  }

  /** Checks a read, and returns its place in {@link view}. */
  read(space: Space, address: number, bytes: number): number {
    const region = this.#locate(space, address, bytes, false);
    const offset = address - region.base;
    for (let i = offset >> 1; i < (offset + bytes + 1) >> 1; i++) this.#checkRead(space, region, i);
    this.view = region.view;
    return offset;
  }

  /** Checks an access to a word of a row of 16 bytes of a matrix, and returns its place in {@link view}. */
  matrixRow(kind: "read" | "write", row: number, byte: number): number {
    if (row % 16 !== 0) throw new Fault(`${this.#who()}: a row of a matrix at byte ${row} of shared memory: expected a multiple of 16`);
    return this[kind]("shared", row + byte, 4);
  }

  /** Checks a write, and returns its place in {@link view}. */
  write(space: Space, address: number, bytes: number): number {
    const region = this.#locate(space, address, bytes, true);
    const offset = address - region.base;
    for (let i = offset >> 1; i < (offset + bytes + 1) >> 1; i++) {
      this.#checkWrite(space, region, i);
      this.#wrote(space, region, i);
    }
    this.view = region.view;
    return offset;
  }

  initBarrier(address: number, arrivals: number): void {
    this.write("shared", address, 8);
    this.#barriers.init(address, arrivals, this.thread);
  }

  fenceBarriers(): void {
    this.#barriers.fence(this.thread);
  }

  /** Arrives at a barrier and announces `bytes` of copies. */
  expectBytes(address: number, bytes: number): void {
    this.read("shared", address, 8);
    this.#stamps.arrive(this.thread, address);
    this.#asyncReads.arrive(this.thread, address);
    this.#barriers.expect(address, bytes, this.#who);
    this.events++;
  }

  fenceAsyncProxy(): void {
    this.#fences.fence(this.thread);
  }

  /** Starts a copy from shared memory. */
  storeBulk(to: number, from: number, bytes: number): void {
    const who = this.#who;
    if (to % 16 !== 0 || from % 16 !== 0 || bytes % 16 !== 0 || bytes === 0)
      throw new Fault(`${who()}: a copy of ${bytes} bytes from ${from}: expected multiples of 16`);
    this.#checkAsyncRead(from, bytes, [this.thread]);
    const { thread } = this;
    this.#asyncReads.begin(`a copy of thread ${thread}`, (each) => each === thread, from, bytes);
    for (let at = 0; at < bytes; at += 8) {
      const offset = this.write("global", to + at, 8);
      this.view.setBigUint64(offset, this.shared.view.getBigUint64(from + at));
    }
  }

  commitBulk(): void {
    this.#asyncReads.commit(`a copy of thread ${this.thread}`);
  }

  waitBulkReads(pending: number): void {
    this.#asyncReads.wait(`a copy of thread ${this.thread}`, pending);
  }

  /** Starts a copy. It lands when a thread waits for its barrier. */
  copyBulk(to: number, from: number, bytes: number, barrier: number): void {
    const who = this.#who;
    if (to % 16 !== 0 || from % 16 !== 0 || bytes % 16 !== 0 || bytes === 0)
      throw new Fault(`${who()}: a copy of ${bytes} bytes to ${to}: expected multiples of 16`);
    this.#checkReach(from, bytes, false);
    if (to + bytes > this.shared.size) throw new Fault(`${who()}: a copy of ${bytes} bytes to byte ${to} of ${this.shared.size}`);
    this.read("shared", barrier, 8);
    this.events++;
    const data = this.#source(from, bytes);
    this.#checkTarget(to, bytes);
    this.#barriers.start(barrier, { to, data }, who);
  }

  /** Reads nothing: what is brought to the L2 cache changes there when it is written. */
  prefetchBulk(from: number, bytes: number): void {
    if (from % 16 !== 0 || bytes % 16 !== 0 || bytes === 0)
      throw new Fault(`${this.#who()}: a prefetch of ${bytes} bytes from ${from}: expected multiples of 16`);
    this.#checkReach(from, bytes, false);
  }

  /** Starts a copy of the box at `column` and `row` of the matrix of tensor map number `map`. */
  copyBox(to: number, map: number, column: number, row: number, barrier: number): void {
    const who = this.#who;
    const { memory, columns, rows, boxRows } = this.#maps[map]!;
    if (to % 128 !== 0) throw new Fault(`${who()}: a box to byte ${to}: expected a multiple of 128`);
    const data = new Uint8Array(boxRows * 128);
    if (to + data.length > this.shared.size) throw new Fault(`${who()}: a box to byte ${to} of ${this.shared.size}`);
    this.read("shared", barrier, 8);
    this.events++;
    const width = Math.max(0, Math.min(boxColumns, columns - column));
    for (let down = 0; down < boxRows && row + down < rows && width > 0; down++) {
      const from = Number(memory) + 2 * ((row + down) * columns + column);
      this.#checkReach(from, 2 * width, false);
      const source = this.#source(from, 2 * width);
      for (let i = 0; i < source.length; i++) data[128 * down + (i ^ (((to / 128 + down) % 8) * 16))] = source[i]!;
    }
    this.#checkTarget(to, data.length);
    this.#barriers.start(barrier, { to, data }, who);
  }

  /** Starts a copy of 16 bytes, of which `read` are read. It lands when its thread waits for its group. */
  copyPiece(to: number, from: number, bytes: number, read: number = bytes): void {
    if (bytes !== 16 || to % 16 !== 0 || from % 16 !== 0)
      throw new Fault(`${this.#who()}: a copy of ${bytes} bytes to ${to}: expected 16 at multiples of 16`);
    if (to + bytes > this.shared.size) throw new Fault(`${this.#who()}: a copy to byte ${to} of ${this.shared.size}`);
    const data = new Uint8Array(bytes);
    if (read > 0) {
      this.#checkReach(from, read, false);
      data.set(this.#source(from, read));
    }
    this.#checkTarget(to, bytes);
    this.#groups.start({ to, data }, this.thread);
  }

  commitCopies(): void {
    this.#groups.commit(this.thread);
  }

  waitCopies(pending: number): void {
    for (const { to, data } of this.#groups.wait(pending, this.thread)) {
      this.shared.bytes.set(data, to);
      for (let i = to >> 1; i < (to + data.length) >> 1; i++) this.#wrote("shared", this.shared, i);
    }
  }

  #wrote(space: Space, region: Region, i: number): void {
    region.written[i] = 1;
    region.writer[i] = this.#stamp(space);
    if (space === "shared") this.#fences.wrote(i);
    else this.#releases?.wrote(region, i, this.#stamp("shared"));
  }

  /** Adds to a number in global memory, and returns the number before. Releases and acquires at the scope of the device. */
  atomicAdd(address: number, value: number): number {
    const region = this.#locate("global", address, 4, true);
    const offset = address - region.base;
    this.#checkWrite("global", region, offset >> 1);
    this.#releases!.count({ counter: address, epoch: this.#global.epoch }, this.#stamp("shared"));
    const before = region.view.getUint32(offset, true);
    region.view.setUint32(offset, before + value, true);
    return before;
  }

  /** Adds to a number in global memory. Adds of several threads do not meet each other, but plain accesses of one launch do. */
  add(address: number, value: number, type: "Uint32" | "Float32"): void {
    const region = this.#locate("global", address, 4, true);
    const offset = address - region.base;
    if (region.written[offset >> 1] === 0) throw new Fault(`${this.#who()}: an add to an unwritten number of global memory`);
    this.#checkWrite("global", region, offset >> 1);
    region.view[`set${type}`](offset, region.view[`get${type}`](offset, true) + value, true);
  }

  /** Adds to a number in shared memory, and returns the number before. */
  countUp(address: number, value: number): number {
    const region = this.#locate("shared", address, 4, true);
    const first = address >> 1;
    if (region.written[first] === 0)
      throw new Fault(`${this.#who()}: a count from an unwritten number at byte ${address} of shared memory`);
    // Counts of several threads do not meet each other.
    const isCounted = this.#counted.get(address) === region.writer[first];
    for (const i of [first, first + 1]) {
      if (isCounted) region.writer[i] = this.#stamp("shared");
      this.#checkWrite("shared", region, i);
      this.#wrote("shared", region, i);
    }
    this.#counted.set(address, region.writer[first]!);
    const before = region.view.getUint32(address, true);
    region.view.setUint32(address, before + value, true);
    return before;
  }

  /** The content of a copy from global memory. */
  #source(from: number, bytes: number): Uint8Array {
    const who = this.#who;
    const source = this.#global.region(from, bytes, who);
    const start = from - source.base;
    for (let i = start >> 1; i < (start + bytes) >> 1; i++) {
      this.#checkEarly(source, i);
      if (source.written[i] === 0) throw new Fault(`${who()}: copy of unwritten byte ${2 * i} of ${source.name}`);
      if (this.#meets("global", source.writer[i]!, this.#stamp("global")))
        throw new Fault(`${who()}: race: byte ${2 * i} was written by another thread`);
    }
    return source.bytes.slice(start, start + bytes);
  }

  /** @throws {Fault} if a copy to shared memory may not start */
  #checkTarget(to: number, bytes: number): void {
    for (let i = to >> 1; i < (to + bytes) >> 1; i++) {
      this.#checkWrite("shared", this.shared, i);
      this.#fences.beginCopy(i);
    }
  }

  /** Whether the barrier has completed the phase of this parity. What was copied in it may then be read by this thread. */
  tryWait(address: number, parity: number): boolean {
    this.read("shared", address, 8);
    const isOver = this.#barriers.tryWait(address, parity, this.thread, this.#who);
    if (isOver) {
      this.events++;
      this.#stamps.leave(this.thread, address);
      this.#asyncReads.leave(this.thread, address);
    }
    return isOver;
  }

  /** @throws {Fault} if copies are on their way when the block ends, or threads did not wait for earlier launches */
  finish(): void {
    this.#barriers.finish();
    this.products.finish();
    this.#asyncReads.finish();
    this.#groups.finish();
    if (this.#early.size > 0) throw new Fault(`${this.#early.size} threads end without a wait for earlier launches`);
  }

  #locate(space: Space, address: number, bytes: number, isWrite: boolean): Region {
    if (space === "global") this.#checkReach(address, bytes, isWrite);
    const region = space === "shared" ? this.shared : this.#global.region(address, bytes, this.#who);
    region.check(address, bytes, this.#who);
    return region;
  }

  #checkRead(space: Space, region: Region, i: number): void {
    if (space === "shared") {
      this.#barriers.checkRead(i, this.thread, this.#who);
      this.#groups.check(i, this.#who);
    } else this.#checkEarly(region, i);
    const stamp = this.#stamp(space);
    if (region.written[i] === 0) throw new Fault(`${this.#who()}: read of unwritten byte ${2 * i} of ${region.name}`);
    if (this.#meets(space, region.writer[i]!, stamp))
      throw new Fault(`${this.#who()}: race: byte ${2 * i} of ${region.name} was written by another thread`);
    if (region.reader !== undefined) region.reader[i] = this.#stamps.readBy(region.reader[i]!, stamp);
  }

  #checkWrite(space: Space, region: Region, i: number): void {
    if (space === "shared") {
      this.#barriers.checkWrite(i, this.#who);
      this.#asyncReads.checkWrite(i, this.thread, this.#who);
      this.#groups.check(i, this.#who);
    } else if (this.#early.has(this.thread)) throw new Fault(`${this.#who()}: write before the wait for earlier launches`);
    const stamp = this.#stamp(space);
    if (this.#meets(space, region.writer[i]!, stamp))
      throw new Fault(`${this.#who()}: race: byte ${2 * i} of ${region.name} is written by two threads`);
    if (region.reader !== undefined && this.#meets(space, region.reader[i]!, stamp))
      throw new Fault(`${this.#who()}: race: byte ${2 * i} of ${region.name} was read by another thread`);
  }

  /** @throws {Fault} before the wait for earlier launches, for what one of them writes */
  #checkEarly(region: Region, i: number): void {
    if (!this.#early.has(this.thread)) return;
    const writer = region.writer[i]!;
    const epoch = this.#global.releases.of(writer)?.epoch ?? Math.floor(writer / epochUnit);
    if (epoch < this.#global.firstEpoch) return;
    throw new Fault(`${this.#who()}: read of byte ${2 * i} of ${region.name} before the wait for the launch that writes it`);
  }

  #meets(space: Space, record: number, stamp: number): boolean {
    if (space === "shared") return !this.#stamps.areOrdered(record, stamp);
    const release = this.#global.releases.of(record);
    if (release === undefined) return isOther(record, stamp);
    return release.epoch === this.#global.epoch && !(this.#releases?.hasAcquired(record, this.#stamp("shared")) ?? false);
  }

  /** @throws {Fault} if copies or products that `threads` start may not read here: what they wrote must be fenced, and what others wrote ordered */
  #checkAsyncRead(address: number, bytes: number, threads: readonly number[]): void {
    if (address + bytes > this.shared.size) throw new Fault(`${this.#who()}: read of ${bytes} bytes at ${address} of ${this.shared.size}`);
    const { writer, written } = this.shared;
    const who = this.#who;
    for (let i = address >> 1; i < (address + bytes) >> 1; i++) {
      if (written[i] === 0) throw new Fault(`${who()}: read of unwritten byte ${2 * i} of shared memory`);
      this.#groups.check(i, who);
      for (const thread of threads) {
        this.#barriers.checkRead(i, thread, who);
        if (this.#meets("shared", writer[i]!, this.#stamps.of(thread)))
          throw new Fault(`${who()}: race: byte ${2 * i} of shared memory was written by another thread`);
      }
      this.#fences.check(i, threadOf(writer[i]!), who);
    }
  }

  /** Tensors are stored next to each other in one piece of memory: a kernel that leaves its own tensor reads or writes another one. */
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

  #stamp(space: Space): number {
    return space === "shared" ? this.#stamps.of(this.thread) : this.#global.epoch * epochUnit + this.#threadsBefore + this.thread;
  }
}

const epochUnit = 2 ** 32;

/** True if a record of global memory is of the same launch, and of another thread. */
function isOther(record: number, stamp: number): boolean {
  return record !== stamp && Math.floor(record / epochUnit) === Math.floor(stamp / epochUnit);
}
