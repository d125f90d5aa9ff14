import { BlockMemory } from "./blockMemory.ts";
import { type AtomicRecord, Fault, type Region } from "./memory.ts";

/** An atomic access, by the parts of its instruction's name. */
export interface AtomicAccess {
  readonly operation: "add" | "min" | "max" | "and" | "or" | "xor" | "exch" | "cas";
  readonly type: "Uint32" | "Int32" | "Float32";
  readonly order: "relaxed" | "acquire" | "release" | "acq_rel";
  readonly scope: "cta" | "cluster" | "gpu" | "sys";
}

/** Thread number in records of global memory that several threads have changed by atomic accesses. */
const manyThreads = 2 ** 32 - 1;

/**
 * Memory with atomic accesses and fences. Atomic accesses do not meet each other; other accesses meet them unless releases and acquires come between.
 * Source: PTX ISA, "Memory Consistency Model".
 */
export class AtomicMemory extends BlockMemory {
  /** By address in shared memory, the record of the atomic accesses there. */
  readonly #counted = new Map<number, number>();

  /** Changes a number, and returns it as it was before. `expected` is what "cas" compares with. */
  atomic(space: "global" | "shared", address: number, access: AtomicAccess, value: number, expected?: number): number {
    const region = this.locate(space, address, 4, true);
    if (space === "global") this.checkReach(address, 4, false);
    const offset = address - region.base;
    if (region.written[offset >> 1] === 0)
      throw new Fault(`${this.who()}: an atomic access to an unwritten number at byte ${offset} of ${region.name}`);
    if (space === "shared") this.#touchShared(region, address, access);
    else this.#touchGlobal(region, address, access);
    const before = region.view[`get${access.type}`](offset, true);
    region.view[`set${access.type}`](offset, combined(access, before, value, expected), true);
    return before;
  }

  /** Orders the thread's accesses before and after it, with the help of relaxed atomic accesses. */
  fence(scope: AtomicAccess["scope"]): void {
    const { self } = this;
    this.stamps.leave(self, `seen by ${self}`);
    this.stamps.arrive(self, `fenced by ${self}`);
    if (isOfDevice(scope)) this.releases?.fence(self, this.stamp("shared"));
  }

  #touchShared(region: Region, address: number, { order }: AtomicAccess): void {
    const first = address >> 1;
    const record = region.writer[first]!;
    const isCounted = this.#counted.get(address) === record;
    const stamp = this.stamp("shared");
    for (const i of [first, first + 1]) {
      if (isCounted) region.writer[i] = stamp;
      this.checkWrite("shared", region, i);
      this.wrote("shared", region, i);
      if (isCounted) region.writer[i] = this.stamps.readBy(record, stamp);
    }
    this.#counted.set(address, region.writer[first]!);
    const { self } = this;
    const key = `number ${this.first} ${address}`;
    if (order === "acquire" || order === "acq_rel") this.stamps.leave(self, key);
    else this.stamps.relay(key, `seen by ${self}`);
    if (order === "release" || order === "acq_rel") this.stamps.arrive(self, key);
    else this.stamps.relay(`fenced by ${self}`, key);
  }

  #touchGlobal(region: Region, address: number, { order, scope }: AtomicAccess): void {
    const { epoch } = this.global;
    const first = (address - region.base) >> 1;
    const places = [first, first + 1].map((i) => ({ region, i }));
    const known = this.global.atomics.get(address);
    const isAtomic = known !== undefined && known.record === region.writer[first];
    if (isAtomic) {
      this.checkEarlyWrite();
      if (known.epoch === epoch && !(this.#covers(scope, known) && this.#covers(known.scope, known)))
        throw new Fault(`${this.who()}: race: an atomic access whose scope leaves out another block's`);
    } else for (const { i } of places) this.checkWrite("global", region, i);
    const own = this.stamp("global");
    const release = isOfDevice(scope) ? this.#order(address, order, places) : undefined;
    const isOthers = isAtomic && known.epoch === epoch && known.record !== own;
    const record = release === undefined ? (isOthers ? this.stampOf(manyThreads) : own) : -release;
    for (const { i } of places) region.writer[i] = record;
    this.global.atomics.set(address, { epoch, block: this, cluster: this.stamps, scope, record });
  }

  /** Whether the threads of an access are in a scope around this block. */
  #covers(scope: string, { block, cluster }: AtomicRecord): boolean {
    return isOfDevice(scope) || block === this || (scope === "cluster" && cluster === this.stamps);
  }

  /** Releases and acquires as the access's order and earlier fences say. Returns the number of the release. */
  #order(
    counter: number,
    order: AtomicAccess["order"],
    places: readonly { readonly region: Region; readonly i: number }[],
  ): number | undefined {
    const { releases, self } = this;
    if (releases === undefined) return undefined;
    const now = this.stamp("shared");
    const release = { counter, epoch: this.global.epoch, block: releases, stamp: now };
    const number =
      order === "release" || order === "acq_rel" ? releases.release(release, places) : releases.releaseFenced(release, self, places);
    if (order === "acquire" || order === "acq_rel") releases.acquire(counter, now);
    else releases.see(counter, self);
    return number;
  }
}

function isOfDevice(scope: string): boolean {
  return scope === "gpu" || scope === "sys";
}

function combined({ operation }: AtomicAccess, before: number, value: number, expected: number | undefined): number {
  switch (operation) {
    case "add":
      return before + value;
    case "min":
      return Math.min(before, value);
    case "max":
      return Math.max(before, value);
    case "and":
      return before & value;
    case "or":
      return before | value;
    case "xor":
      return before ^ value;
    case "exch":
      return value;
    case "cas":
      return before === expected ? value : before;
  }
}
