import { slotBytes } from "./emit/index.ts";
import type { Heap } from "./heap.ts";
import type { Call, Emitted, Pause, Range, Run, Task } from "./kernel.ts";
import { type CallRecorder, type Entry, NotRecordable, type Space } from "./space.ts";
import { type StageRange, wordsOf } from "./threads/control.ts";
import { stageFields, stageNumbers } from "./threads/walk.ts";

/** Steps that run one after the other: in one go from a list in memory, or one that returns to JavaScript. */
export type Segment =
  | { readonly kind: "list"; readonly list: StageRange; readonly stages: readonly StepEnd[] }
  | { readonly kind: "task"; readonly step: number };

/** Address at which a step's stages end. */
interface StepEnd {
  readonly step: number;
  readonly end: number;
}

/** The steps of a plan for runs with the same extents and addresses. */
export interface StepList {
  readonly segments: readonly Segment[];
  readonly address: number;
  readonly bytes: number;
}

interface Recorded {
  readonly entry: Entry;
  readonly args: readonly number[];
}

interface Stage {
  readonly calls: readonly Recorded[];
  readonly range?: { readonly total: number; readonly grain: number };
}

/** What one step recorded, or undefined if it has to run on the caller's thread. */
type RecordedStep = readonly Stage[] | undefined;

/** Records what a step calls. `isHost(step)` tells of those that cannot be, and is told of them. */
export function recordStep(space: Space, task: Task, run: Run): RecordedStep {
  const stages: Stage[] = [];
  const recorder: CallRecorder = { call: (entry, args) => void stages.push({ calls: [{ entry, args }] }) };
  try {
    space.record(recorder, () => {
      for (const pause of task(run) ?? []) stages.push(...stagesOf(space, pause));
    });
    return stages;
  } catch (error) {
    if (error instanceof NotRecordable) return undefined;
    throw error;
  }
}

function stagesOf(space: Space, pause: Pause): readonly Stage[] {
  if (pause === undefined) return [];
  const recorded = ({ fn, args }: { readonly fn: Emitted; readonly args: readonly number[] }): Recorded => ({
    entry: space.entryOf(fn),
    args,
  });
  if (isRange(pause)) return pause.total > 0 ? [{ calls: [recorded(pause)], range: pause }] : [];
  return pause.length > 0 ? [{ calls: pause.map(recorded) }] : [];
}

function isRange(work: Range | readonly Call[]): work is Range {
  return "fn" in work;
}

/** Writes the recorded steps to memory, as few lists as there can be. */
export function writeStepList(heap: Heap, steps: readonly RecordedStep[]): StepList {
  const stages = steps.flatMap((step) => step ?? []);
  const strides = stages.map(({ calls }) => slotBytes * (1 + Math.max(...calls.map(({ entry }) => entry.info.params.length))));
  const stageBytes = 4 * stageFields.count;
  // Each list ends with room for one stage that nobody reads: a list's end is never another's first stage.
  const callBytes = stages.reduce((sum, { calls }, i) => sum + calls.length * strides[i]!, 0);
  const bytes = stageBytes * stages.length + callBytes;
  const address = heap.alloc(bytes, "arenas");
  const { i32, f32, f64 } = heap;
  let at = address;
  let callAt = address + stageBytes * stages.length;
  let index = 0;
  const writeStage = ({ calls, range }: Stage): void => {
    const stride = strides[index++]!;
    const fields: Record<(typeof stageNumbers)[number], number> = {
      tiles: range === undefined ? calls.length : Math.ceil(range.total / range.grain),
      callBytes: range === undefined ? stride : 0,
      grain: range?.grain ?? 0,
      total: range?.total ?? 0,
    };
    [i32[at / 4 + stageFields.calls], i32[at / 4 + stageFields.calls + 1]] = wordsOf(callAt);
    for (const field of stageNumbers) i32[at / 4 + stageFields[field]] = fields[field];
    for (const { entry, args } of calls) {
      i32[callAt / 4] = entry.place;
      // A range's `begin` and `end` are the tile's, and added to these zeros.
      entry.info.params.forEach((type, i) => {
        const slot = callAt + slotBytes * (i + 1);
        const arg = args[i] ?? 0;
        if (type === "f32") f32[slot / 4] = arg;
        else if (type === "f64") f64[slot / 8] = arg;
        else [i32[slot / 4], i32[slot / 4 + 1]] = wordsOf(arg);
      });
      callAt += stride;
    }
    at += stageBytes;
  };

  const segments: Segment[] = [];
  let first = at;
  let ends: StepEnd[] = [];
  const close = (): void => {
    if (ends.length > 0) segments.push({ kind: "list", list: { first, end: at }, stages: ends });
    [first, ends] = [at, []];
  };
  steps.forEach((recorded, step) => {
    if (recorded === undefined) {
      close();
      segments.push({ kind: "task", step });
      return;
    }
    recorded.forEach(writeStage);
    ends.push({ step, end: at });
  });
  close();
  return { segments, address, bytes };
}
