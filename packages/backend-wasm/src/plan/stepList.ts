import { slotBytes } from "../emit/index.ts";
import type { Call, DeferredStages, Range, Run, Stage, Task } from "../kernel.ts";
import type { Heap } from "../memory/heap.ts";
import { type CallRecorder, type Entry, NotRecordable, type WasmMemory } from "../memory/wasmMemory.ts";
import { type StageRange, writeWords } from "../threads/control.ts";
import { stageFields, stageNumbers } from "../threads/stageRunner.ts";

/** Steps that run in sequence: either from a list in memory, or one step that returns to JavaScript. */
export type Segment =
  | { readonly kind: "list"; readonly list: StageRange; readonly stages: readonly StepEnd[] }
  | { readonly kind: "task"; readonly step: number };

/** Address of the end of a step's stages. */
interface StepEnd {
  readonly step: number;
  readonly end: number;
}

/** The steps of a plan, for runs with the same extents and addresses. */
export interface StepList {
  readonly segments: readonly Segment[];
  readonly address: number;
  readonly bytes: number;
}

interface Recorded {
  readonly entry: Entry;
  readonly args: readonly number[];
}

interface RecordedStage {
  /** The calls of each tile, in order. All tiles of a range share one call. */
  readonly tiles: readonly (readonly Recorded[])[];
  readonly range?: { readonly total: number; readonly grain: number };
}

/** Calls that one step recorded, or undefined if it must run on the caller's thread. */
export type RecordedStep = readonly RecordedStage[] | undefined;

/** Records the calls of a step. */
export function recordStep(memory: WasmMemory, task: Task, run: Run): RecordedStep {
  return recordWork(memory, () => task(run) ?? []);
}

/** Records the calls that `work` makes and yields. */
export function recordWork(memory: WasmMemory, work: () => Iterable<Stage | DeferredStages>): RecordedStep {
  const stages: RecordedStage[] = [];
  const recorder: CallRecorder = { call: (entry, args) => void stages.push({ tiles: [[{ entry, args }]] }) };
  try {
    memory.record(recorder, () => {
      for (const stage of stagesOf(work())) stages.push(...recordStages(memory, stage));
    });
    return stages;
  } catch (error) {
    if (error instanceof NotRecordable) return undefined;
    throw error;
  }
}

/** Flattens deferred stages. */
export function* stagesOf(work: Iterable<Stage | DeferredStages>): Iterable<Stage> {
  for (const stage of work) {
    if (typeof stage === "function") yield* stage();
    else yield stage;
  }
}

function recordStages(memory: WasmMemory, stage: Stage): readonly RecordedStage[] {
  if (stage === undefined) return [];
  const recorded = ({ fn, args, chained = [] }: Call): readonly Recorded[] => [
    { entry: memory.entryOf(fn), args },
    ...chained.flatMap(recorded),
  ];
  if (isRange(stage)) return stage.total > 0 ? [{ tiles: [recorded(stage)], range: stage }] : [];
  return stage.length > 0 ? [{ tiles: stage.map(recorded) }] : [];
}

function isRange(work: Range | readonly Call[]): work is Range {
  return "fn" in work;
}

/** Writes the recorded steps to memory, in as few lists as possible. */
export function writeStepList(heap: Heap, steps: readonly RecordedStep[]): StepList {
  return lastOf(writeSteps(heap, steps));
}

/** Runs a generator and returns its result. */
export function lastOf<T>(generator: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = generator.next();
    if (done === true) return value;
  }
}

/**
 * {@link writeStepList} with a yield after each step, during which memory may grow. Frees the memory if it is not run
 * to the end.
 */
export function* writeSteps(heap: Heap, steps: readonly RecordedStep[]): Generator<undefined, StepList> {
  const sized = steps.map((step) => step?.map(sizedStage));
  const stages = sized.flatMap((step) => step ?? []);
  const callBytes = stages.reduce((sum, { tiles, tileBytes }) => sum + tiles.length * tileBytes, 0);
  const bytes = stageBytes * stages.length + callBytes;
  const address = heap.alloc(bytes, "arenas");
  let at = address;
  let callAt = address + stageBytes * stages.length;
  const segments: Segment[] = [];
  let first = at;
  let ends: StepEnd[] = [];
  const close = (): void => {
    if (ends.length > 0) segments.push({ kind: "list", list: { first, end: at }, stages: ends });
    [first, ends] = [at, []];
  };
  let isWritten = false;
  try {
    for (const [step, recorded] of sized.entries()) {
      if (recorded === undefined) {
        close();
        segments.push({ kind: "task", step });
        continue;
      }
      for (const stage of recorded) {
        writeStage(heap, stage, at, callAt);
        at += stageBytes;
        callAt += stage.tiles.length * stage.tileBytes;
      }
      ends.push({ step, end: at });
      yield;
    }
    isWritten = true;
  } finally {
    if (!isWritten) heap.free(address);
  }
  close();
  return { segments, address, bytes };
}

const stageBytes = 4 * stageFields.count;

type Views = Pick<Heap, "i32" | "f32" | "f64">;

/** A stage with the bytes of a call, and of all calls of a tile. */
interface SizedStage extends RecordedStage {
  readonly linkBytes: number;
  readonly tileBytes: number;
}

function sizedStage({ tiles, range }: RecordedStage): SizedStage {
  const linkBytes = slotBytes * (1 + most(tiles, (calls) => most(calls, ({ entry }) => entry.info.params.length)));
  return { tiles, ...(range && { range }), linkBytes, tileBytes: linkBytes * most(tiles, (calls) => calls.length) };
}

/** Writes a stage's fields at `at` and its calls from `callAt` on. */
function writeStage(heap: Heap, { tiles, range, linkBytes, tileBytes }: SizedStage, at: number, callAt: number): void {
  const views: Views = { i32: heap.i32, f32: heap.f32, f64: heap.f64 };
  const { i32 } = views;
  const fields: Record<(typeof stageNumbers)[number], number> = {
    tiles: range === undefined ? tiles.length : Math.ceil(range.total / range.grain),
    callBytes: range === undefined ? tileBytes : 0,
    grain: range?.grain ?? 0,
    total: range?.total ?? 0,
  };
  writeWords(i32, at / 4 + stageFields.calls, callAt);
  for (const field of stageNumbers) i32[at / 4 + stageFields[field]] = fields[field];
  for (const [tile, calls] of tiles.entries()) {
    for (const [i, { entry, args }] of calls.entries()) {
      const from = callAt + tile * tileBytes + i * linkBytes;
      i32[from / 4] = entry.place;
      i32[from / 4 + 1] = i + 1 < calls.length ? linkBytes : 0;
      writeArguments(views, from + slotBytes, entry, args);
    }
  }
}

/** Writes arguments. `begin` and `end` of a range are zeros here, to which the thunk adds the tile's. */
function writeArguments({ i32, f32, f64 }: Views, from: number, { info }: Entry, args: readonly number[]): void {
  info.params.forEach((type, i) => {
    const slot = from + slotBytes * i;
    const arg = args[i] ?? 0;
    if (type === "f32") f32[slot / 4] = arg;
    else if (type === "f64") f64[slot / 8] = arg;
    else writeWords(i32, slot / 4, arg);
  });
}

function most<T>(items: readonly T[], size: (item: T) => number): number {
  let largest = 0;
  for (const item of items) largest = Math.max(largest, size(item));
  return largest;
}
