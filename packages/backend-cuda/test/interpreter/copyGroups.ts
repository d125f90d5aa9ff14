import { Fault, type Who } from "./memory.ts";

/** A copy, and the address that it writes from. */
export interface Piece {
  readonly to: number;
  readonly data: Uint8Array;
}

/** Copies to one memory in groups per thread, until their thread waits for them: they land as late as possible. */
export class CopyGroups {
  readonly #memory: string;
  /** Places of two bytes with a copy under way. */
  readonly #places = new Set<number>();
  /** Groups that have not landed, by thread; the last one is not committed yet. */
  readonly #groups = new Map<number, Piece[][]>();

  /** `memory` is its name, for faults. */
  constructor(memory: string) {
    this.#memory = memory;
  }

  start(piece: Piece, thread: number): void {
    for (const i of placesOf(piece)) this.#places.add(i);
    this.#groupsOf(thread).at(-1)!.push(piece);
  }

  commit(thread: number): void {
    this.#groupsOf(thread).push([]);
  }

  /** Returns the thread's copies that land now: all but those of its last `pending` groups. */
  wait(pending: number, thread: number): readonly Piece[] {
    const groups = this.#groupsOf(thread);
    const landed = groups.splice(0, Math.max(0, groups.length - 1 - pending)).flat();
    for (const piece of landed) for (const i of placesOf(piece)) this.#places.delete(i);
    return landed;
  }

  /** @throws {Fault} if a copy to place `i` of two bytes is under way */
  check(i: number, who: Who): void {
    if (this.#places.has(i)) throw new Fault(`${who()}: access to byte ${2 * i} of ${this.#memory}, whose copy is under way`);
  }

  /** Returns all copies that have not landed: those that end with the kernel. */
  landAll(): readonly Piece[] {
    this.#places.clear();
    return [...this.#groups.values()].flatMap((groups) => groups.splice(0).flat());
  }

  /** @throws {Fault} if copies are under way when the block ends */
  finish(): void {
    const left = [...this.#groups.values()].flat(2).length;
    if (left > 0) throw new Fault(`${left} copies that their threads did not wait for`);
  }

  #groupsOf(thread: number): Piece[][] {
    const groups = this.#groups.get(thread) ?? [[]];
    this.#groups.set(thread, groups);
    return groups;
  }
}

function placesOf({ to, data }: Piece): readonly number[] {
  return Array.from({ length: data.length / 2 }, (_, i) => to / 2 + i);
}
