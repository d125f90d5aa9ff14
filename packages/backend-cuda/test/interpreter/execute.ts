import { setFlagsFromString } from "node:v8";
import { floatToBfloat, floatToHalf, halfToFloat } from "@centella/quant";
import type { TensorMap } from "../../src/device/driver.ts";
import { Access } from "./access.ts";
import { Fault, type GlobalMemory, type Reach } from "./memory.ts";
import { dotBytes, logic3, multiply, oddFma, ofPairs, pickBytes } from "./packed.ts";
import { type ParsedKernel, parse } from "./parse.ts";
import { someBarrier, translate, warpgroupMeeting } from "./translate.ts";
import { busy, warpgroupThreads } from "./warpgroups.ts";

/** Extents of a launch's grid, or a block's place in it. */
type Grid = readonly [number, number, number];
type Thread = Generator<number, void, undefined>;
type Start = (
  memory: Access,
  params: readonly number[],
  tables: readonly number[],
  tid: number,
  ctaid: Grid,
  grid: Grid,
  lanes: unknown[],
  held: unknown[],
) => Thread;

/** A kernel that the interpreter can run. */
export interface ReadyKernel {
  readonly parsed: ParsedKernel;
  readonly start: Start;
}

// V8's middle compiler keeps the memory that it took for functions as large as these: gigabytes after a few hundred kernels.
setFlagsFromString("--no-maglev");

const scratch = new DataView(new ArrayBuffer(4));
const $even = (x: number): number => {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest < 0.5 || (rest === 0.5 && low % 2 === 0)) return low;
  return Number.isFinite(x) ? low + 1 : x;
};
const helpers = {
  $busy: busy,
  $f16: halfToFloat,
  $toF16: floatToHalf,
  $toBf16: floatToBfloat,
  $logic3: logic3,
  $pickBytes: pickBytes,
  $ofPairs: ofPairs,
  $oddFma: oddFma,
  $someBarrier: someBarrier,
  $multiply: multiply,
  $dotBytes: dotBytes,
  $even,
  $float: (bits: number): number => {
    scratch.setUint32(0, bits);
    return scratch.getFloat32(0);
  },
  $uint: (value: number): number => {
    scratch.setFloat32(0, value);
    return scratch.getUint32(0);
  },
  $clampS32: (x: number): number => (Number.isNaN(x) ? 0 : Math.max(-2147483648, Math.min(2147483647, x))),
  $clampU32: (x: number): number => (Number.isNaN(x) ? 0 : Math.max(0, Math.min(4294967295, x))),
};

/** Translations of the kernels that were used last, oldest first: compiled they take megabytes each, and a suite has thousands. */
const cache = new Map<string, ReadyKernel>();
const cacheLimit = 64;

/** Translates a module's text, unless it was just used. @throws {Fault} for text outside of the builder's subset */
export function prepare(ptx: string): ReadyKernel {
  let ready = cache.get(ptx);
  if (ready === undefined) {
    const parsed = parse(ptx);
    ready = { parsed, start: new Function("helpers", translate(parsed))(helpers) as Start };
  }
  cache.delete(ptx);
  cache.set(ptx, ready);
  if (cache.size > cacheLimit) cache.delete(cache.keys().next().value!);
  return ready;
}

/** Runs a grid, block after block. Threads run in turn from one meeting point (barrier, shuffle) to the next. */
export function runGrid(
  memory: GlobalMemory,
  { parsed, start }: ReadyKernel,
  {
    grid,
    block,
    params,
    tables,
    reach,
    sharedBytes,
    isDependent,
    maps,
  }: {
    grid: Grid;
    block: number;
    /** Whether the kernel waits for earlier launches itself. */
    isDependent: boolean;
    /** Shared memory that the launch asks for. */
    sharedBytes: number;
    params: readonly number[];
    tables: readonly number[];
    reach: readonly Reach[];
    maps: readonly TensorMap[];
  },
): void {
  if (block > parsed.maxThreads || block % 32 !== 0)
    throw new Fault(`${parsed.entry}: ${block} threads, declared for ${parsed.maxThreads}`);
  if (params.length !== parsed.params.length)
    throw new Fault(`${parsed.entry}: ${params.length} arguments for ${parsed.params.length} parameters`);
  if (maps.length !== parsed.maps.length)
    throw new Fault(`${parsed.entry}: ${maps.length} tensor maps for ${parsed.maps.length} parameters`);
  memory.epoch++;
  const [width, height, depth] = grid;
  for (let number = 0; number < width * height * depth; number++) {
    const ctaid: Grid = [number % width, Math.floor(number / width) % height, Math.floor(number / width / height)];
    const access = new Access(memory, reach, parsed.sharedBytes ?? sharedBytes, {
      threadsBefore: number * block,
      earlyThreads: isDependent ? block : 0,
      counts: parsed.tables.some(({ isWritten }) => isWritten === true),
      maps,
    });
    const lanes = new Array<unknown>(block).fill(0);
    const held = new Array<unknown>(block).fill(0);
    const threads = Array.from({ length: block }, (_, tid) => start(access, params, tables, tid, ctaid, grid, lanes, held));
    try {
      runBlock(threads, access, lanes, held);
    } catch (error) {
      const isBusy = error instanceof TypeError && error.message.includes("Symbol");
      const reason = isBusy
        ? `thread ${access.thread}: use of ${String(busy.description)}`
        : error instanceof Fault
          ? error.message
          : undefined;
      if (reason === undefined) throw error;
      throw new Fault(`${parsed.entry}, block ${height * depth === 1 ? number : ctaid.join(", ")}: ${reason}`);
    }
  }
}

const done = -1;
const atBarrier = 0;
const waitsForCopies = -2;

/** The threads of a warp, and where each of them is: at a place where lanes meet, at a barrier, or done. */
interface Warp {
  readonly first: number;
  readonly states: number[];
}

function runBlock(threads: readonly Thread[], access: Access, lanes: readonly unknown[], held: unknown[]): void {
  // Later warps first: an order that the code must not rely on either way.
  const warps = Array.from({ length: threads.length / 32 }, (_, i): Warp => {
    return { first: threads.length - 32 * (i + 1), states: new Array<number>(32).fill(waitsForCopies) };
  });
  for (;;) {
    let isMoving = false;
    for (const warp of warps) if (runWarp(threads, warp, access, lanes, held)) isMoving = true;
    if (isMoving || releaseSome(warps, access, lanes, held)) continue;
    const states = warps.flatMap((warp) => warp.states);
    if (states.some((state) => state <= warpgroupMeeting(0))) throw new Fault("a barrier or a product that not all of its threads reach");
    if (states.includes(waitsForCopies)) throw new Fault("a wait for copies that never end");
    const waiting = states.filter((state) => state === atBarrier).length;
    if (waiting === 0) break;
    if (waiting !== threads.length) throw new Fault(`a barrier that ${waiting} of ${threads.length} threads reach`);
    access.passBarrier();
    for (const { states: each } of warps) each.fill(waitsForCopies);
  }
  access.finish();
}

/** Lets warpgroups and members of barriers go on that have all arrived. Returns false if none have. */
function releaseSome(warps: readonly Warp[], access: Access, lanes: readonly unknown[], held: unknown[]): boolean {
  const waiting = warps.filter(({ states }) => states[0]! <= warpgroupMeeting(0) && states.every((state) => state === states[0]));
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
    if (isWarpgroup) for (const thread of threads) held[thread] = lanes[thread];
    else access.passSomeBarrier(threads);
    for (const { states } of members) states.fill(waitsForCopies);
    isReleased = true;
  }
  return isReleased;
}

/** Runs a warp until all its lanes are at the block's barrier, done, or waiting for copies. Returns false if no lane moved. */
function runWarp(threads: readonly Thread[], { first, states }: Warp, access: Access, lanes: readonly unknown[], held: unknown[]): boolean {
  let isMoving = false;
  for (;;) {
    let hasMoved = false;
    const { events } = access;
    for (let lane = 0; lane < 32; lane++) {
      if (states[lane] !== waitsForCopies) continue;
      access.thread = first + lane;
      const { done: isDone, value } = threads[first + lane]!.next();
      states[lane] = isDone === true ? done : (value as number);
      if (states[lane] !== waitsForCopies) hasMoved = true;
    }
    if (!hasMoved && access.events === events) return isMoving;
    isMoving = true;
    if (states.includes(waitsForCopies) || states.every((state) => state <= 0)) continue;
    if (states.some((state) => state !== states[0]))
      throw new Fault(`a shuffle that not all lanes of a warp reach together: ${states.join(" ")}`);
    for (let lane = 0; lane < 32; lane++) held[first + lane] = lanes[first + lane]!;
    states.fill(waitsForCopies);
  }
}
