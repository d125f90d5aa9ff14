import { setFlagsFromString } from "node:v8";
import { floatToBfloat, floatToHalf, halfToFloat } from "@centella/quant";
import type { TensorMap } from "../../src/device/driver.ts";
import { Access } from "./access.ts";
import { Cluster } from "./cluster.ts";
import { someBarrier } from "./meetings.ts";
import { Fault, type GlobalMemory, type Reach } from "./memory.ts";
import { dotBytes, logic3, multiply, oddFma, ofPairs, pickBytes, toTf32 } from "./packed.ts";
import { type ParsedKernel, parse } from "./parse.ts";
import { shuffled } from "./random.ts";
import { RunningBlock, type Thread } from "./runningBlock.ts";
import { translate } from "./translate.ts";
import { busy } from "./warpgroups.ts";

/** Extents of a launch's grid, or a block's place in it. */
type Grid = readonly [number, number, number];
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
  $toTf32: toTf32,
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

/** A launch of a kernel. */
interface GridLaunch {
  readonly grid: Grid;
  /** Threads of a block. */
  readonly block: number;
  readonly params: readonly number[];
  readonly tables: readonly number[];
  readonly reach: readonly Reach[];
  /** Shared memory that the launch asks for. */
  readonly sharedBytes: number;
  /** Whether the kernel waits for earlier launches itself. */
  readonly isDependent: boolean;
  readonly maps: readonly TensorMap[];
  /** Gives the order in which clusters run, and in which their blocks and warps take turns. */
  readonly random: () => number;
}

/** Runs a grid, cluster after cluster in a random order. Threads run in turn from one meeting point (barrier, shuffle) to the next. */
export function runGrid(memory: GlobalMemory, kernel: ReadyKernel, launch: GridLaunch): void {
  const { parsed } = kernel;
  const { grid, block, params, maps, random } = launch;
  if (block > parsed.maxThreads || block % 32 !== 0)
    throw new Fault(`${parsed.entry}: ${block} threads, declared for ${parsed.maxThreads}`);
  if (params.length !== parsed.params.length)
    throw new Fault(`${parsed.entry}: ${params.length} arguments for ${parsed.params.length} parameters`);
  if (maps.length !== parsed.maps.length)
    throw new Fault(`${parsed.entry}: ${maps.length} tensor maps for ${parsed.maps.length} parameters`);
  memory.epoch++;
  const [across, down, deep] = parsed.cluster;
  for (const [x, y, z] of shuffled(places([grid[0] / across, grid[1] / down, grid[2] / deep]), random)) {
    const cluster = new Cluster<Access>(across * down * deep, block);
    const blocks = places(parsed.cluster).map(([dx, dy, dz]) =>
      startBlock(memory, kernel, launch, cluster, [x * across + dx, y * down + dy, z * deep + dz]),
    );
    runCluster(parsed.entry, blocks, random);
  }
}

/** The block at a place of the grid, which becomes the next one of its cluster. */
function startBlock(memory: GlobalMemory, kernel: ReadyKernel, launch: GridLaunch, cluster: Cluster<Access>, ctaid: Grid): RunningBlock {
  const { parsed, start } = kernel;
  const { grid, block, params, tables, reach, sharedBytes, isDependent, maps } = launch;
  const [width, height, depth] = grid;
  const number = (ctaid[2] * height + ctaid[1]) * width + ctaid[0];
  const access = new Access(memory, reach, parsed.sharedBytes ?? sharedBytes, {
    threadsBefore: number * block,
    blockThreads: block,
    earlyThreads: isDependent ? block : 0,
    releases: parsed.releases,
    maps,
    cluster,
  });
  const lanes = new Array<unknown>(block).fill(0);
  const held = new Array<unknown>(block).fill(0);
  const threads = Array.from({ length: block }, (_, tid) => start(access, params, tables, tid, ctaid, grid, lanes, held));
  return new RunningBlock(height * depth === 1 ? `${number}` : ctaid.join(", "), access, threads, lanes, held);
}

/** Each place of a grid, x first. */
function places([width, height, depth]: Grid): readonly Grid[] {
  return Array.from(
    { length: width * height * depth },
    (_, i): Grid => [i % width, Math.floor(i / width) % height, Math.floor(i / width / height)],
  );
}

/** Runs blocks until all have ended. */
function runCluster(entry: string, blocks: readonly RunningBlock[], random: () => number): void {
  let running = [...blocks];
  while (running.length > 0) {
    let isMoving = false;
    for (const block of shuffled(running, random)) if (within(entry, block, () => block.advance(random))) isMoving = true;
    running = running.filter(({ isOver }) => !isOver);
    if (isMoving) continue;
    for (const block of running) within(entry, block, () => block.checkWaits());
    throw new Error(`${entry}: blocks of a cluster that wait for nothing; this is a bug of the interpreter`);
  }
}

/** Names the kernel and the block in a fault. */
function within<T>(entry: string, { name, access }: RunningBlock, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const isBusy = error instanceof TypeError && error.message.includes("Symbol");
    const reason = isBusy
      ? `thread ${access.thread}: use of ${String(busy.description)}`
      : error instanceof Fault
        ? error.message
        : undefined;
    if (reason === undefined) throw error;
    throw new Fault(`${entry}, block ${name}: ${reason}`);
  }
}
