import { boxColumns, type TensorMap } from "../../src/device/driver.ts";
import { AtomicMemory } from "./atomics.ts";
import type { BlockTraits } from "./blockMemory.ts";
import { BlockProducts } from "./blockProducts.ts";
import type { Cluster } from "./cluster.ts";
import type { Piece } from "./copyGroups.ts";
import { Fault, type GlobalMemory, type Reach } from "./memory.ts";

/** Memory of a block, with copies, barriers in shared memory, and the memory of the cluster's other blocks. */
export class Access extends AtomicMemory {
  readonly products: BlockProducts;
  hasEnded = false;
  readonly #cluster: Cluster<Access>;
  readonly #maps: readonly TensorMap[];

  constructor(
    global: GlobalMemory,
    reach: readonly Reach[],
    sharedBytes: number,
    traits: BlockTraits & { readonly cluster: Cluster<Access> },
  ) {
    super(global, reach, sharedBytes, traits);
    this.#cluster = traits.cluster;
    this.#maps = traits.maps;
    this.products = new BlockProducts(this.shared, this.asyncReads, this.first, (address, bytes, threads) =>
      this.checkAsyncRead(address, bytes, threads),
    );
    traits.cluster.blocks.push(this);
  }

  initBarrier(address: number, arrivals: number): void {
    this.write("shared", address, 8);
    this.barriers.init(address, arrivals, this.self);
  }

  fenceBarriers(): void {
    this.barriers.fence(this.self, this.#cluster.arrivalsOf(this.self));
  }

  /** Arrives at a barrier and announces `bytes` of copies. */
  expectBytes(address: number, bytes: number): void {
    this.read("shared", address, 8);
    this.#tell(this.#barrierKey(address));
    this.barriers.expect(address, bytes, this.who);
    this.events++;
  }

  fenceAsyncProxy(): void {
    this.fences.fence(this.self);
  }

  /** Starts a copy from shared memory. */
  storeBulk(to: number, from: number, bytes: number): void {
    const who = this.who;
    if (to % 16 !== 0 || from % 16 !== 0 || bytes % 16 !== 0 || bytes === 0)
      throw new Fault(`${who()}: a copy of ${bytes} bytes from ${from}: expected multiples of 16`);
    this.#readFor(from, bytes);
    this.#startStore(to, this.shared.bytes.slice(from, from + bytes));
  }

  /** Starts a copy from shared memory of the box at `column` and `row` of the matrix of tensor map number `map`. */
  storeBox(map: number, column: number, row: number, from: number): void {
    const { memory, columns, rows, boxRows } = this.#maps[map]!;
    if (from % 128 !== 0) throw new Fault(`${this.who()}: a box from byte ${from}: expected a multiple of 128`);
    this.#readFor(from, boxRows * 128);
    const width = Math.max(0, Math.min(boxColumns, columns - column));
    for (let down = 0; down < boxRows && row + down < rows && width > 0; down++) {
      const data = Uint8Array.from({ length: 2 * width }, (_, i) => this.shared.bytes[from + boxPlace(from, down, i)]!);
      this.#startStore(Number(memory) + 2 * ((row + down) * columns + column), data);
    }
  }

  commitBulk(): void {
    this.asyncReads.commit(`a copy of thread ${this.thread}`);
    this.stores.commit(this.thread);
  }

  waitBulk(pending: number): void {
    this.waitBulkReads(pending);
    this.#land(this.stores.wait(pending, this.thread));
  }

  waitBulkReads(pending: number): void {
    this.asyncReads.wait(`a copy of thread ${this.thread}`, pending);
  }

  /** Starts a copy, to the blocks of the cluster whose bits are set in `blocks` (default: this one). It lands when a thread waits for its barrier. */
  copyBulk(to: number, from: number, bytes: number, barrier: number, blocks?: number): void {
    const who = this.who;
    if (to % 16 !== 0 || from % 16 !== 0 || bytes % 16 !== 0 || bytes === 0)
      throw new Fault(`${who()}: a copy of ${bytes} bytes to ${to}: expected multiples of 16`);
    this.checkReach(from, bytes, false);
    if (to + bytes > this.shared.size) throw new Fault(`${who()}: a copy of ${bytes} bytes to byte ${to} of ${this.shared.size}`);
    this.#startCopy({ to, data: this.source(from, bytes) }, barrier, blocks);
  }

  /** Reads nothing: what is brought to the L2 cache changes there when it is written. */
  prefetchBulk(from: number, bytes: number): void {
    if (from % 16 !== 0 || bytes % 16 !== 0 || bytes === 0)
      throw new Fault(`${this.who()}: a prefetch of ${bytes} bytes from ${from}: expected multiples of 16`);
    this.checkReach(from, bytes, false);
  }

  /** Reads nothing either: boxes may leave their matrix. */
  prefetchBox(map: number, column: number, row: number): void {
    if (column % 1 !== 0 || row % 1 !== 0 || this.#maps[map] === undefined)
      throw new Fault(`${this.who()}: a prefetch of the box at column ${column} and row ${row} of tensor map ${map}`);
  }

  /** Starts a copy of the box at `column` and `row` of the matrix of tensor map number `map`. */
  copyBox(to: number, map: number, column: number, row: number, barrier: number, blocks?: number): void {
    const who = this.who;
    const { memory, columns, rows, boxRows } = this.#maps[map]!;
    if (to % 128 !== 0) throw new Fault(`${who()}: a box to byte ${to}: expected a multiple of 128`);
    const data = new Uint8Array(boxRows * 128);
    if (to + data.length > this.shared.size) throw new Fault(`${who()}: a box to byte ${to} of ${this.shared.size}`);
    const width = Math.max(0, Math.min(boxColumns, columns - column));
    for (let down = 0; down < boxRows && row + down < rows && width > 0; down++) {
      const from = Number(memory) + 2 * ((row + down) * columns + column);
      this.checkReach(from, 2 * width, false);
      const source = this.source(from, 2 * width);
      for (let i = 0; i < source.length; i++) data[boxPlace(to, down, i)] = source[i]!;
    }
    this.#startCopy({ to, data }, barrier, blocks);
  }

  /** Starts a copy of 16 bytes, of which `read` are read. It lands when its thread waits for its group. */
  copyPiece(to: number, from: number, bytes: number, read: number = bytes): void {
    if (bytes !== 16 || to % 16 !== 0 || from % 16 !== 0)
      throw new Fault(`${this.who()}: a copy of ${bytes} bytes to ${to}: expected 16 at multiples of 16`);
    if (to + bytes > this.shared.size) throw new Fault(`${this.who()}: a copy to byte ${to} of ${this.shared.size}`);
    const data = new Uint8Array(bytes);
    if (read > 0) {
      this.checkReach(from, read, false);
      data.set(this.source(from, read));
    }
    this.checkTarget(to, bytes);
    this.groups.start({ to, data }, this.thread);
  }

  commitCopies(): void {
    this.groups.commit(this.thread);
  }

  waitCopies(pending: number): void {
    for (const { to, data } of this.groups.wait(pending, this.thread)) {
      this.shared.bytes.set(data, to);
      for (let i = to >> 1; i < (to + data.length) >> 1; i++) this.wrote("shared", this.shared, i);
    }
  }

  /**
   * Whether the barrier has completed the phase of this parity. What was copied in it may then be read by this thread. Only a wait for the cluster
   * comes after what threads of other blocks did before they arrived.
   */
  tryWait(address: number, parity: number, isForCluster: boolean): boolean {
    this.read("shared", address, 8);
    const isOver = this.barriers.tryWait(address, parity, this.self, this.who);
    if (isOver) {
      this.events++;
      this.#learn(this.#barrierKey(address));
      if (isForCluster) this.#learn(this.#remoteKey(address));
      this.#cluster.sawPhases(this, address, this.barriers.completedOf(address, this.who));
    }
    return isOver;
  }

  /** Arrives at the cluster's barrier, which shows other blocks what this thread has done only if it `isRelease`. */
  arriveCluster(isRelease: boolean, isAligned: boolean): void {
    const phase = this.#cluster.arrive(this.self, this.who);
    if (isRelease) this.#tell(phase);
    if (isAligned) this.stamps.advance(this.self);
  }

  /** Whether the cluster's barrier, at which this thread has arrived, is complete. */
  waitCluster(): boolean {
    const phase = this.#cluster.wait(this.self, this.who);
    if (phase === undefined) return false;
    this.events++;
    this.#learn(phase);
    return true;
  }

  /** Called when the cluster's barrier is complete: what threads of this block have waited for may be read by all. */
  showCopies(): void {
    this.barriers.showAll();
  }

  /** Address of the same place in the memory of the cluster's block `rank`. */
  mapShared(address: number, rank: number): number {
    return this.#cluster.map(address, rank, this.who);
  }

  /** Checks an access to shared memory of the cluster, and returns its place in {@link view}. */
  remote(kind: "read" | "write", address: number, bytes: number): number {
    return this.#at(address, (block, own) => {
      const offset = block[kind]("shared", own, bytes);
      this.view = block.view;
      return offset;
    });
  }

  /** Adds to a number in shared memory of the cluster. */
  addRemote(address: number, value: number, type: "Uint32" | "Float32"): void {
    this.#at(address, (block, own) => block.atomic("shared", own, { operation: "add", type, order: "relaxed", scope: "cluster" }, value));
  }

  /** Arrives at a barrier of a block of the cluster. */
  arriveRemote(address: number): void {
    const [block, own] = this.#cluster.locate(address, this);
    if (block === this) {
      this.expectBytes(own, 0);
      return;
    }
    block.barriers.checkShown(own, this.#cluster.waitsOf(this.self), this.who);
    this.#cluster.visit(block, this.self, this.who, { barrier: own, phase: block.barriers.completedOf(own, this.who) });
    this.#tell(block.#remoteKey(own));
    block.barriers.expect(own, 0, this.who);
    block.events++;
  }

  /** Notes that a thread is over. */
  endThread(): void {
    this.#cluster.endThread(this.self);
  }

  /** @throws {Fault} if copies are on their way when the block ends, or threads did not wait for earlier launches */
  finish(): void {
    this.#cluster.endBlock(this);
    this.hasEnded = true;
    this.barriers.finish();
    this.products.finish();
    this.asyncReads.finish();
    this.groups.finish();
    this.#land(this.stores.landAll());
    if (this.early.size > 0) throw new Fault(`${this.early.size} threads end without a wait for earlier launches`);
  }

  /** A copy of the thread begins to read shared memory. */
  #readFor(from: number, bytes: number): void {
    const { thread, self } = this;
    this.checkAsyncRead(from, bytes, [thread]);
    this.asyncReads.begin(`a copy of thread ${thread}`, (each) => each === self, from, bytes);
  }

  /** Starts to write to global memory. */
  #startStore(to: number, data: Uint8Array): void {
    for (let at = 0; at < data.length; at += 2) this.write("global", to + at, 2);
    this.stores.start({ to, data }, this.thread);
  }

  #land(pieces: readonly Piece[]): void {
    for (const { to, data } of pieces) {
      const region = this.global.region(to, data.length, this.who);
      region.bytes.set(data, to - region.base);
    }
  }

  #startCopy(copy: Piece, barrier: number, blocks: number | undefined): void {
    const { who } = this;
    const cluster = this.#cluster;
    const targets = blocks === undefined ? [this] : cluster.blocks.filter((_, rank) => (blocks >> rank) & 1);
    if (blocks !== undefined && blocks >> cluster.size !== 0)
      throw new Fault(`${who()}: a copy to blocks ${blocks.toString(2)} (mask) of a cluster of ${cluster.size}`);
    for (const block of targets) {
      block.events++;
      if (block === this) {
        this.read("shared", barrier, 8);
        this.checkTarget(copy.to, copy.data.length);
      } else {
        cluster.checkRuns(block, this.self, who);
        block.barriers.checkShown(barrier, cluster.waitsOf(this.self), who);
        block.visit(this, () => block.checkTarget(copy.to, copy.data.length));
      }
      block.barriers.start(barrier, copy, who);
    }
  }

  /** Does something at an address of shared memory of the cluster, in its block. */
  #at<T>(address: number, action: (block: Access, own: number) => T): T {
    const [block, own] = this.#cluster.locate(address, this);
    if (block === this) return action(this, own);
    this.#cluster.visit(block, this.self, this.who);
    return block.visit(this, () => action(block, own));
  }

  /** Threads that {@link #learn} it come after what this thread has done. */
  #tell(key: string): void {
    this.stamps.arrive(this.self, key);
    this.asyncReads.arrive(this.self, key);
  }

  #learn(key: string): void {
    this.stamps.leave(this.self, key);
    this.asyncReads.leave(this.self, key);
  }

  /** Names what arrivals of the block's own threads tell. */
  #barrierKey(address: number): string {
    return `barrier ${this.first} ${address}`;
  }

  /** Names what arrivals of other blocks' threads tell. */
  #remoteKey(address: number): string {
    return `remote ${this.first} ${address}`;
  }
}

/** Place, in a box that begins at byte `start` of shared memory, of byte `i` of its row `down`. Source: PTX ISA, "Swizzling modes", 128 bytes. */
function boxPlace(start: number, down: number, i: number): number {
  return 128 * down + (i ^ (((start / 128 + down) % 8) * 16));
}
