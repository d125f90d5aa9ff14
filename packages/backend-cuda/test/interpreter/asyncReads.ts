import { Fault, type Who } from "./memory.ts";

/** Who reads shared memory beside the threads: the products of a warpgroup, or the copies of a thread. */
interface Reader {
  readonly name: string;
  /** Whether what a thread does next comes after what this reader is known to have finished. */
  isOwn(thread: number): boolean;
  /** By 16 bytes: number of the last group of reads there, 0 for none. */
  readonly marks: Int32Array;
  /** Number of the group that is being collected. */
  group: number;
  completed: number;
  /** Whether the current group has reads. */
  isOpen: boolean;
}

/** Groups of a reader that its knowledge's owner knows to be over, by reader. */
type Knowledge = Map<Reader, number>;

/** What the threads of a cluster know of reads to be over, and what they have told at barriers for copies or for clusters. */
export class ReadKnowledge {
  readonly threads = new Map<number, Knowledge>();
  readonly barriers = new Map<string, Knowledge>();
}

/** Reads of a block's shared memory that go on while threads run, until a wait for their group. Threads are numbered through the cluster. */
export class AsyncReads {
  readonly #granules: number;
  readonly #readers = new Map<string, Reader>();
  readonly #threads: Map<number, Knowledge>;
  readonly #barriers: Map<string, Knowledge>;

  constructor(sharedBytes: number, { threads, barriers }: ReadKnowledge) {
    this.#granules = Math.ceil(sharedBytes / 16);
    this.#threads = threads;
    this.#barriers = barriers;
  }

  /** Whether nothing has read in this way yet. */
  get isEmpty(): boolean {
    return this.#readers.size === 0 && this.#threads.size === 0;
  }

  begin(name: string, isOwn: Reader["isOwn"], address: number, bytes: number): void {
    let reader = this.#readers.get(name);
    if (reader === undefined) {
      reader = { name, isOwn, marks: new Int32Array(this.#granules), group: 1, completed: 0, isOpen: false };
      this.#readers.set(name, reader);
    }
    reader.isOpen = true;
    reader.marks.fill(reader.group, address >> 4, (address + bytes + 15) >> 4);
  }

  commit(name: string): void {
    const reader = this.#readers.get(name);
    if (reader === undefined) return;
    reader.group++;
    reader.isOpen = false;
  }

  wait(name: string, pending: number): void {
    const reader = this.#readers.get(name);
    if (reader !== undefined) reader.completed = Math.max(reader.completed, reader.group - 1 - pending);
  }

  /** @throws {Fault} if something may still be read at place `i` of two bytes, as far as the thread knows */
  checkWrite(i: number, thread: number, who: Who): void {
    for (const reader of this.#readers.values()) {
      const group = reader.marks[i >> 3]!;
      if (group === 0) continue;
      if (group > reader.completed) throw new Fault(`${who()}: write to byte ${2 * i} of shared memory while ${reader.name} reads there`);
      if (!reader.isOwn(thread) && (this.#threads.get(thread)?.get(reader) ?? 0) < group)
        throw new Fault(`${who()}: write to byte ${2 * i} of shared memory, which ${reader.name} read, without a barrier between`);
    }
  }

  /** All threads know what is over: those of the block, which has no cluster. */
  passBarrier(): void {
    for (const { marks, completed } of this.#readers.values())
      for (let i = 0; i < marks.length; i++) if (marks[i]! <= completed) marks[i] = 0;
  }

  /** Members of a warp, or of another barrier, tell each other what they know. */
  meet(members: readonly number[]): void {
    if (this.isEmpty) return;
    const together: Knowledge = new Map();
    for (const thread of members) learn(together, this.#knownBy(thread));
    for (const thread of members) this.#threads.set(thread, new Map(together));
  }

  arrive(thread: number, barrier: string): void {
    const own = this.#knownBy(thread);
    if (own.size === 0) return;
    const known = this.#barriers.get(barrier) ?? new Map();
    learn(known, own);
    this.#barriers.set(barrier, known);
  }

  leave(thread: number, barrier: string): void {
    const known = this.#barriers.get(barrier);
    if (known === undefined) return;
    const own = this.#threads.get(thread) ?? new Map();
    learn(own, known);
    this.#threads.set(thread, own);
  }

  /** @throws {Fault} if reads are on their way when the block ends */
  finish(): void {
    for (const { name, group, completed, isOpen } of this.#readers.values())
      if (isOpen || completed < group - 1) throw new Fault(`the block ends while ${name} may read its shared memory`);
  }

  #knownBy(thread: number): Knowledge {
    const own = [...this.#readers.values()].filter((reader) => reader.isOwn(thread)).map((reader) => [reader, reader.completed] as const);
    return new Map([...(this.#threads.get(thread) ?? []), ...own]);
  }
}

function learn(known: Knowledge, more: Knowledge): void {
  for (const [reader, group] of more) known.set(reader, Math.max(known.get(reader) ?? 0, group));
}
