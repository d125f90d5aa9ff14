import {
  abortSignal,
  boolean,
  callback,
  check,
  checkOptions,
  elementAt,
  type Kinds,
  lastOf,
  listOf,
  named,
  positive,
  string,
} from "@centella/quant/checks";
import type { Backend, Plan } from "../backend/backend.ts";
import type { TypedArray } from "../dtype.ts";
import { UnsupportedError } from "../errors.ts";
import { openBackend } from "../kinds.ts";
import { createProgram, type Program } from "../program/createProgram.ts";
import { specOf } from "../program/programGraph.ts";
import { programCost } from "./select.ts";
import type { BackendThresholds, Threshold, Thresholds, Transfer } from "./thresholdTypes.ts";

export interface CalibrationOptions {
  /** Approximate time to measure, in milliseconds. A GPU's crossover may need seconds on the CPU that it is compared with. */
  readonly budgetMs: number;
  readonly signal?: AbortSignal;
  /** Called before each measurement with the number done, the total, and the name of the next one. */
  readonly onProgress?: (done: number, total: number, what: string) => void;
  /** Measure software GPUs too. */
  readonly allowSoftware?: boolean;
  /** Name of the machine in the result. Default: the name that the JavaScript engine reports. */
  readonly machine?: string;
  /** The clock, in milliseconds. */
  readonly now?: () => number;
}

/** One size of a comparison: the work of a call, and the median times of both backends, results read back. */
export interface CalibrationPoint {
  readonly work: number;
  readonly ms: number;
  readonly againstMs: number;
}

/** The crossover of one backend against the next CPU backend in the order, for one class of work. */
export interface Comparison {
  readonly backend: string;
  readonly against: string;
  readonly class: ProbeClass;
  readonly unit: Threshold["unit"];
  readonly points: readonly CalibrationPoint[];
  /** Absent if nothing could be measured. */
  readonly min?: Threshold["min"];
  /** How `min` follows from the points, or why there are no points. */
  readonly reason: string;
}

/** The result of {@link calibrate}: plain data that can be stored as JSON. Pass its `thresholds` as `policy.thresholds`. */
export interface Calibration {
  readonly measuredAt: string;
  readonly machine: string;
  readonly budgetMs: number;
  readonly thresholds: Thresholds;
  readonly comparisons: readonly Comparison[];
}

type ProbeClass = "memory" | "compute" | "program";

interface Probe {
  readonly class: ProbeClass;
  readonly unit: Threshold["unit"];
  /** From small to large. */
  readonly sizes: readonly number[];
  record(program: Program, size: number): void;
}

/** Each size multiplies the work of the previous one by about the same factor, so that times can be predicted. */
const probes: readonly Probe[] = [
  {
    class: "memory",
    unit: "bytes",
    sizes: Array.from({ length: 11 }, (_, i) => 4 ** (i + 1)),
    record(program, n) {
      program.output("y", program.add(program.input("a", "f32", [n]), program.input("b", "f32", [n])));
    },
  },
  {
    class: "compute",
    unit: "flops",
    sizes: Array.from({ length: 12 }, (_, i) => 2 ** (i + 1)),
    record(program, n) {
      program.output("y", program.matmul(program.input("a", "f32", [n, n]), program.input("b", "f32", [n, n])));
    },
  },
  {
    // Four layers whose weights are stored on the backend, like a model's.
    class: "program",
    unit: "flops",
    sizes: Array.from({ length: 11 }, (_, i) => 2 ** (i + 1)),
    record(program, n) {
      let x = program.input("a", "f32", [n, n]);
      for (let layer = 0; layer < 4; layer++)
        x = program.relu(program.matmul(x, program.persistent(`w${layer}`, { dtype: "f32", shape: [n, n] })));
      program.output("y", x);
    },
  },
];

const optionKinds: Kinds<CalibrationOptions> = {
  budgetMs: positive,
  signal: abortSignal,
  onProgress: callback,
  allowSoftware: boolean,
  machine: string,
  now: callback,
};

/** Wins in a row that end a comparison. */
const clearWins = 3;
const clearly = 0.8;

/**
 * Measures from how much work on each backend is faster than the next CPU backend in the order of preference. It compares with CPUs only,
 * because a threshold must also hold on machines with one GPU. It measures a memory-bound op, a compute-bound op and a program, with
 * inputs from the host and results read back. Sizes grow until the winner is clear or the budget would be exceeded; a crossover beyond
 * the largest size is extrapolated. Backends that lack an op, and software GPUs, are listed with the reason and get no threshold.
 * Nothing is changed: pass the result as `policy.thresholds`.
 * @throws {ArgumentError} if the budget is not a positive number
 */
export async function calibrate(backends: readonly Backend[], options: CalibrationOptions): Promise<Calibration> {
  check("calibrate", "backends", backends, listOf("open backends", openBackend), "pass runtime.backends");
  const { budgetMs, signal, onProgress, allowSoftware = false, machine = engineName() } = checkOptions("calibrate", options, optionKinds);
  check("calibrate", "budgetMs", budgetMs, positive, "pass milliseconds");
  const contestants = backends.filter(({ device }) => allowSoftware || device.kind !== "software-gpu");
  const pairs = contestants.flatMap((backend, i) => {
    const against = contestants.slice(i + 1).find(({ device }) => device.kind === "cpu");
    return against === undefined ? [] : [{ backend, against }];
  });
  const total = pairs.length * probes.length;
  const comparisons: Comparison[] = [];
  const thresholds: Record<string, BackendThresholds> = {};
  let leftMs = budgetMs;
  const now = options.now ?? (() => performance.now());
  for (const { backend, against } of pairs) {
    const table: Record<string, Threshold | Transfer> = {};
    for (const probe of probes) {
      const done = comparisons.length;
      onProgress?.(done, total, `${probe.class} on ${backend.name} against ${against.name}`);
      const start = now();
      const comparison = await compare(backend, against, probe, { budgetMs: leftMs / (total - done), now, ...(signal && { signal }) });
      leftMs = Math.max(0, leftMs - (now() - start));
      comparisons.push(comparison);
      if (comparison.min !== undefined) table[probe.class] = { min: comparison.min, unit: probe.unit };
    }
    if (backend.device.kind !== "cpu") table.transfer = await measureTransfer(backend, now);
    thresholds[backend.name] = table as BackendThresholds;
  }
  onProgress?.(total, total, "done");
  return { measuredAt: new Date().toISOString(), machine, budgetMs, thresholds, comparisons };
}

/**
 * The least work for which the first backend wins, and how it follows from the points, which are in order of work. Between a lost and a
 * won size the ratio of times is taken to be a power of the work. After the last lost size each time grows as between the last two.
 */
export function crossoverOf(points: readonly CalibrationPoint[]): { readonly min: Threshold["min"]; readonly reason: string } {
  const ratio = ({ ms, againstMs }: CalibrationPoint): number => ms / againstMs;
  const lost = points.findLastIndex((point) => ratio(point) >= 1);
  const [last, before] = [lastOf(points), points.at(-2)];
  if (lost < 0) return { min: 0, reason: `faster at every size from ${words(elementAt(points, 0).work)} on` };
  if (lost < points.length - 1) {
    const [from, to] = [elementAt(points, lost), elementAt(points, lost + 1)];
    const share = Math.log(ratio(from)) / (Math.log(ratio(from)) - Math.log(ratio(to)));
    const work = Math.exp(Math.log(from.work) + share * Math.log(to.work / from.work));
    return { min: rounded(work), reason: `slower up to ${words(from.work)}, faster from ${words(to.work)}` };
  }
  const slope = (time: (point: CalibrationPoint) => number): number =>
    before === undefined ? 0 : (time(last) - time(before)) / (last.work - before.work);
  const gain = slope(({ againstMs }) => againstMs) - slope(({ ms }) => ms);
  const crossing = gain > 0 ? last.work + (last.ms - last.againstMs) / gain : Number.POSITIVE_INFINITY;
  const slower = `slower up to ${words(last.work)}, the largest size in the budget`;
  return crossing <= 100 * last.work
    ? { min: rounded(crossing), reason: `${slower}; its time grows less, the rest is extrapolated` }
    : { min: "never", reason: `${slower}, and no nearer to a gain` };
}

async function compare(
  backend: Backend,
  against: Backend,
  probe: Probe,
  { budgetMs, now, signal }: { readonly budgetMs: number; readonly now: () => number; readonly signal?: AbortSignal },
): Promise<Comparison> {
  const points: CalibrationPoint[] = [];
  const end = now() + budgetMs;
  const about = { backend: backend.name, against: against.name, class: probe.class, unit: probe.unit, points };
  try {
    for (const size of probe.sizes) {
      signal?.throwIfAborted();
      const growth = points.length < 2 ? 1 : lastOf(points).work / elementAt(points, points.length - 2).work;
      const foreseen = growth * ((points.at(-1)?.ms ?? 0) + (points.at(-1)?.againstMs ?? 0));
      // Each size runs at least twice; the first run warms up.
      if (now() + 2 * foreseen > end) break;
      points.push(await measurePoint(backend, against, probe, size, now, budgetMs / probe.sizes.length));
      if (points.length >= clearWins && points.slice(-clearWins).every(({ ms, againstMs }) => ms < clearly * againstMs)) break;
    }
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    return { ...about, points: [], reason: error.message };
  }
  if (points.length === 0) return { ...about, reason: "the budget is used up" };
  return { ...about, ...crossoverOf(points) };
}

async function measurePoint(
  backend: Backend,
  against: Backend,
  probe: Probe,
  size: number,
  now: () => number,
  budgetMs: number,
): Promise<CalibrationPoint> {
  const program = createProgram();
  probe.record(program, size);
  const inputs: Record<string, TypedArray> = {};
  for (const [name, id] of program.inputs)
    inputs[name] = new Float32Array((specOf(program, id).shape as readonly number[]).reduce((a, b) => a * b)).fill(0.5);
  const plans: Plan[] = [];
  try {
    for (const each of [backend, against]) plans.push(await loaded(await each.compile(program), program));
    const times: [number[], number[]] = [[], []];
    const end = now() + budgetMs;
    for (let round = 0; round < 2 || (round < 50 && now() < end); round++) {
      // Interleaved, so that other load on the machine affects both.
      for (const [i, plan] of plans.entries()) {
        const start = now();
        const y = named(plan.run(inputs), "y");
        await y.data();
        y.dispose();
        if (round > 0) elementAt(times, i).push(now() - start);
      }
    }
    return { work: programCost(program)[probe.unit], ms: median(times[0]), againstMs: median(times[1]) };
  } finally {
    for (const plan of plans) plan.dispose();
  }
}

async function loaded(plan: Plan, { persistents }: Program): Promise<Plan> {
  for (const { name, spec } of persistents.values()) {
    const bytes = new Uint8Array(new Float32Array(spec.shape.reduce((a, b) => a * b)).fill(0.01).buffer);
    await plan.load(name, { size: bytes.length, read: async (offset, length) => bytes.subarray(offset, offset + length) });
  }
  return plan;
}

/** From the times to move a small and a large tensor to the backend and back. */
async function measureTransfer(backend: Backend, now: () => number): Promise<Transfer> {
  const roundTrip = async (elements: number): Promise<number> => {
    const data = new Float32Array(elements);
    const times: number[] = [];
    for (let round = 0; round < 6; round++) {
      const start = now();
      const tensor = backend.upload({ dtype: "f32", shape: [elements] }, data);
      await tensor.data();
      tensor.dispose();
      if (round > 0) times.push(now() - start);
    }
    return median(times) * 1000;
  };
  const large = 2 ** 20;
  const [little, much] = [await roundTrip(1), await roundTrip(large)];
  return { latencyUs: rounded(little / 2), bytesPerUs: rounded((8 * large) / Math.max(much - little, 1)) };
}

function median(values: readonly number[]): number {
  // A clock that did not advance would give a ratio of 0/0.
  return Math.max(
    elementAt(
      values.toSorted((a, b) => a - b),
      values.length >> 1,
    ),
    1e-6,
  );
}

/** Rounds to two digits. */
function rounded(value: number): number {
  return Number(value.toPrecision(2));
}

function words(work: number): string {
  return work.toLocaleString("en", { maximumFractionDigits: 0 });
}

function engineName(): string {
  const { navigator, process } = globalThis as {
    navigator?: { userAgent?: string; hardwareConcurrency?: number };
    process?: { version?: string; platform?: string; arch?: string };
  };
  const engine = process?.version === undefined ? navigator?.userAgent : `Node ${process.version} on ${process.platform} ${process.arch}`;
  return `${engine ?? "unknown engine"}, ${navigator?.hardwareConcurrency ?? "?"} logical cores`;
}
