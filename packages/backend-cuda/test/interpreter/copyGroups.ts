import { Fault, type Region } from "./memory.ts";

interface Piece {
  readonly to: number;
  readonly data: Uint8Array;
  readonly thread: number;
  state: "in flight" | "landed" | "visible";
}

/** Copies of 16 bytes to shared memory in groups per thread. They land as late as possible: when their thread waits for them. */
export class CopyGroups {
  readonly #shared: Region;
  /** The last piece that was copied to each two bytes. */
  readonly #pieces = new Map<number, Piece>();
  /** Groups that have not landed, by thread; the last one is not committed yet. */
  readonly #groups = new Map<number, Piece[][]>();

  constructor(shared: Region) {
    this.#shared = shared;
  }

  start(to: number, data: Uint8Array, thread: number): void {
    const piece: Piece = { to, data, thread, state: "in flight" };
    for (let i = to >> 1; i < (to + data.length) >> 1; i++) this.#pieces.set(i, piece);
    this.#groupsOf(thread).at(-1)!.push(piece);
  }

  commit(thread: number): void {
    this.#groupsOf(thread).push([]);
  }

  wait(pending: number, thread: number): void {
    const groups = this.#groupsOf(thread);
    while (groups.length - 1 > pending) for (const piece of groups.shift()!) this.#land(piece);
  }

  /** After a barrier of the block, every thread may read what has landed. */
  showAll(): void {
    for (const piece of this.#pieces.values()) if (piece.state === "landed") piece.state = "visible";
  }

  checkRead(i: number, thread: number, who: string): void {
    const piece = this.#pieces.get(i);
    if (piece === undefined || piece.state === "visible" || (piece.state === "landed" && piece.thread === thread)) return;
    const why = piece.state === "landed" ? "whose copy another thread waited for" : "whose copy is under way";
    throw new Fault(`${who}: read of byte ${2 * i} of shared memory, ${why}`);
  }

  checkWrite(i: number, who: string): void {
    if (this.#pieces.get(i)?.state === "in flight")
      throw new Fault(`${who}: write to byte ${2 * i} of shared memory, whose copy is under way`);
  }

  /** @throws {Fault} if copies are under way when the block ends */
  finish(): void {
    const left = [...this.#groups.values()].flat(2).length;
    if (left > 0) throw new Fault(`${left} copies that their threads did not wait for`);
  }

  #land(piece: Piece): void {
    const { to, data } = piece;
    piece.state = "landed";
    this.#shared.bytes.set(data, to);
    this.#shared.written.fill(1, to >> 1, (to + data.length) >> 1);
    this.#shared.writer.fill(0, to >> 1, (to + data.length) >> 1);
  }

  #groupsOf(thread: number): Piece[][] {
    const groups = this.#groups.get(thread) ?? [[]];
    this.#groups.set(thread, groups);
    return groups;
  }
}
