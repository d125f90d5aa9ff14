import { Fault, type Region, type Who } from "./memory.ts";

/** A copy to shared memory. */
interface Copy {
  readonly to: number;
  readonly data: Uint8Array;
}

interface Barrier {
  readonly arrivals: number;
  readonly creator: number;
  /** Whether copies may use it. */
  isFenced: boolean;
  /** Number of times that its creator had arrived at the cluster's barrier before it fenced the barrier. */
  arrivalsBefore: number;
  /** Arrivals that the current phase waits for. */
  pending: number;
  /** Bytes that were announced and have not landed. */
  bytes: number;
  /** Number of phases that are over. */
  completed: number;
  readonly inFlight: number[];
}

/** What became of a copy. */
interface Record {
  readonly copy: Copy;
  readonly barrier: number;
  /** The barrier's phase that it belongs to. */
  readonly phase: number;
  state: "in flight" | "landed" | "visible";
}

/** Barriers in shared memory, and copies that land as late as possible: when a thread waits for them. */
export class CopyBarriers {
  readonly #shared: Region;
  readonly #barriers = new Map<number, Barrier>();
  readonly #records: (Record | undefined)[] = [undefined];
  /** Phases of barriers that threads have seen complete, by thread and barrier. */
  readonly #seen = new Map<string, number>();

  constructor(shared: Region) {
    this.#shared = shared;
  }

  init(address: number, arrivals: number, thread: number): void {
    this.#barriers.set(address, {
      arrivals,
      creator: thread,
      isFenced: false,
      arrivalsBefore: 0,
      pending: arrivals,
      bytes: 0,
      completed: 0,
      inFlight: [],
    });
  }

  fence(thread: number, arrivalsBefore: number): void {
    for (const barrier of this.#barriers.values()) {
      if (barrier.creator !== thread || barrier.isFenced) continue;
      barrier.isFenced = true;
      barrier.arrivalsBefore = arrivalsBefore;
    }
  }

  /** @throws {Fault} unless its creator has fenced a barrier and then arrived at a cluster barrier of the first `waits`, which the caller has passed */
  checkShown(address: number, waits: number, who: Who): void {
    const { isFenced, arrivalsBefore } = this.#at(address, who);
    if (!isFenced || arrivalsBefore >= waits)
      throw new Fault(`${who()}: use of another block's barrier without a fence and a cluster barrier that show it`);
  }

  /** Number of phases of a barrier that are over. */
  completedOf(address: number, who: Who): number {
    return this.#at(address, who).completed;
  }

  /** Arrives, and announces `bytes` of copies. */
  expect(address: number, bytes: number, who: Who): void {
    const barrier = this.#at(address, who);
    if (barrier.pending === 0) throw new Fault(`${who()}: an arrival more than the barrier expects`);
    barrier.pending--;
    barrier.bytes += bytes;
    this.#complete(barrier);
  }

  start(address: number, copy: Copy, who: Who): void {
    const barrier = this.#at(address, who);
    if (!barrier.isFenced) throw new Fault(`${who()}: a copy before the fence that shows it its barrier`);
    const number = this.#records.push({ copy, barrier: address, phase: barrier.completed, state: "in flight" }) - 1;
    barrier.inFlight.push(number);
    this.#shared.copy.fill(number, copy.to >> 1, (copy.to + copy.data.length) >> 1);
  }

  tryWait(address: number, parity: number, thread: number, who: Who): boolean {
    const barrier = this.#at(address, who);
    if ((barrier.completed & 1) === parity) this.#land(barrier);
    const isOver = (barrier.completed & 1) !== parity;
    if (isOver) this.#seen.set(`${thread} ${address}`, barrier.completed);
    return isOver;
  }

  /**
   * After a barrier of the block, every thread may read what any thread has waited for. `writer` is the stamp of one of them: threads of other
   * blocks must come after it (default: none).
   */
  showAll(writer = 0): void {
    for (const [number, record] of this.#records.entries()) {
      if (record?.state !== "landed") continue;
      record.state = "visible";
      if (writer === 0) continue;
      const { to, data } = record.copy;
      for (let i = to >> 1; i < (to + data.length) >> 1; i++)
        if (this.#shared.copy[i] === number && this.#shared.writer[i] === 0) this.#shared.writer[i] = writer;
    }
  }

  checkRead(i: number, thread: number, who: Who): void {
    const record = this.#records[this.#shared.copy[i]!];
    if (record === undefined || record.state === "visible") return;
    if (record.state === "in flight") throw new Fault(`${who()}: read of byte ${2 * i} of shared memory while a copy writes there`);
    if ((this.#seen.get(`${thread} ${record.barrier}`) ?? 0) <= record.phase)
      throw new Fault(`${who()}: read of byte ${2 * i} of shared memory, whose copy this thread did not wait for`);
  }

  checkWrite(i: number, who: Who): void {
    if (this.#records[this.#shared.copy[i]!]?.state === "in flight")
      throw new Fault(`${who()}: write to byte ${2 * i} of shared memory while a copy writes there`);
  }

  finish(): void {
    for (const { inFlight, bytes } of this.#barriers.values())
      if (inFlight.length > 0 || bytes > 0) throw new Fault(`${inFlight.length} copies that no thread waited for`);
  }

  #land(barrier: Barrier): void {
    for (const number of barrier.inFlight.splice(0)) {
      const record = this.#records[number]!;
      const { to, data } = record.copy;
      record.state = "landed";
      this.#shared.bytes.set(data, to);
      this.#shared.written.fill(1, to >> 1, (to + data.length) >> 1);
      this.#shared.writer.fill(0, to >> 1, (to + data.length) >> 1);
      barrier.bytes -= data.length;
    }
    this.#complete(barrier);
  }

  #complete(barrier: Barrier): void {
    if (barrier.pending > 0 || barrier.bytes !== 0 || barrier.inFlight.length > 0) return;
    barrier.completed++;
    barrier.pending = barrier.arrivals;
  }

  #at(address: number, who: Who): Barrier {
    const barrier = this.#barriers.get(address);
    if (barrier === undefined) throw new Fault(`${who()}: no barrier at byte ${address} of shared memory`);
    return barrier;
  }
}
