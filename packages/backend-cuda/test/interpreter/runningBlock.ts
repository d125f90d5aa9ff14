import type { Access } from "./access.ts";
import { someBarrier, waitsForCluster, waitsForCopies, warpgroupMeeting } from "./meetings.ts";
import { Fault } from "./memory.ts";
import { shuffled } from "./random.ts";
import { warpgroupThreads } from "./warpgroups.ts";

/** A thread, which yields where it waits for others. */
export type Thread = Generator<number, void, undefined>;

const done = -1;
const atBarrier = 0;

/** The threads of a warp, and where each of them is: at a place where lanes meet, at a barrier, waiting for what others do, or done. */
interface Warp {
  readonly first: number;
  readonly states: number[];
}

/** A block under way. */
export class RunningBlock {
  readonly name: string;
  readonly access: Access;
  isOver = false;
  readonly #threads: readonly Thread[];
  readonly #warps: readonly Warp[];
  /** What threads hand in where they meet, and what those that met before have handed in. */
  readonly #lanes: readonly unknown[];
  readonly #held: unknown[];

  constructor(name: string, access: Access, threads: readonly Thread[], lanes: readonly unknown[], held: unknown[]) {
    this.name = name;
    this.access = access;
    this.#threads = threads;
    this.#lanes = lanes;
    this.#held = held;
    this.#warps = Array.from({ length: threads.length / 32 }, (_, i): Warp => {
      return { first: 32 * i, states: new Array<number>(32).fill(waitsForCopies) };
    });
  }

  /** Runs each warp until it has to wait, in an order that `random` gives. Returns false if nothing has moved. */
  advance(random: () => number): boolean {
    let isMoving = false;
    for (const warp of shuffled(this.#warps, random)) if (this.#runWarp(warp)) isMoving = true;
    if (isMoving || this.#releaseSome() || this.#passBarrier()) return true;
    if (this.#warps.some(({ states }) => states.some((state) => state !== done))) return false;
    this.access.finish();
    this.isOver = true;
    return true;
  }

  /** @throws {Fault} for a wait that does not end, other than for the cluster's barrier */
  checkWaits(): void {
    const states = this.#warps.flatMap((warp) => warp.states);
    if (states.some((state) => state <= warpgroupMeeting(0))) throw new Fault("a barrier or a product that not all of its threads reach");
    if (states.includes(waitsForCopies)) throw new Fault("a wait for copies that never end");
    const waiting = states.filter((state) => state === atBarrier).length;
    if (waiting > 0) throw new Fault(`a barrier that ${waiting} of ${states.length} threads reach`);
  }

  #passBarrier(): boolean {
    if (this.#warps.some(({ states }) => states.some((state) => state !== atBarrier))) return false;
    this.access.passBarrier();
    for (const { states } of this.#warps) states.fill(waitsForCopies);
    return true;
  }

  /** Lets warpgroups and members of barriers go on that have all arrived. Returns false if none have. */
  #releaseSome(): boolean {
    const waiting = this.#warps.filter(({ states }) => states[0]! <= warpgroupMeeting(0) && states.every((state) => state === states[0]));
    const meetings = new Set(
      waiting.map(({ first, states: [state] }) => (state! > someBarrier(0, 0) ? `${first >> 7} ${state}` : `${state}`)),
    );
    let isReleased = false;
    for (const meeting of meetings) {
      const state = Number(meeting.split(" ").at(-1));
      const isWarpgroup = state > someBarrier(0, 0);
      const members = waiting.filter(
        ({ first, states }) => states[0] === state && (!isWarpgroup || `${first >> 7}` === meeting.slice(0, meeting.indexOf(" "))),
      );
      const threads = members.flatMap(({ first }) => Array.from({ length: 32 }, (_, lane) => first + lane));
      const count = isWarpgroup ? warpgroupThreads : (someBarrier(0, 0) - state) % 4096;
      if (threads.length < count) continue;
      if (threads.length > count) throw new Fault(`a barrier of ${count} threads that ${threads.length} reach`);
      if (isWarpgroup) for (const thread of threads) this.#held[thread] = this.#lanes[thread];
      else this.access.passSomeBarrier(threads);
      for (const { states } of members) states.fill(waitsForCopies);
      isReleased = true;
    }
    return isReleased;
  }

  /** Runs a warp until all its lanes are at the block's barrier, done, or waiting for what others do. Returns false if no lane moved. */
  #runWarp({ first, states }: Warp): boolean {
    const { access } = this;
    let isMoving = false;
    for (;;) {
      let hasMoved = false;
      const { events } = access;
      for (let lane = 0; lane < 32; lane++) {
        const before = states[lane]!;
        if (!isPolling(before)) continue;
        access.thread = first + lane;
        const { done: isDone, value } = this.#threads[first + lane]!.next();
        states[lane] = isDone === true ? done : (value as number);
        if (isDone === true) access.endThread();
        if (states[lane] !== before) hasMoved = true;
      }
      if (!hasMoved && access.events === events) return isMoving;
      isMoving = true;
      if (states.some(isPolling) || states.every((state) => state <= 0)) continue;
      if (states.some((state) => state !== states[0]))
        throw new Fault(`a shuffle that not all lanes of a warp reach together: ${states.join(" ")}`);
      for (let lane = 0; lane < 32; lane++) this.#held[first + lane] = this.#lanes[first + lane]!;
      states.fill(waitsForCopies);
    }
  }
}

/** Whether a thread looks again for what it waits for. */
function isPolling(state: number): boolean {
  return state === waitsForCopies || state === waitsForCluster;
}
