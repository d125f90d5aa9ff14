import { rowBytes } from "@centella/quant";
import type { Bound, Metric, Row, Work } from "../runner/subject.ts";
import type { Competitor } from "./competitor.ts";
import { operandShapes, outputShape, sizeOf, type Task } from "./task.ts";
import { verifyTask } from "./verifyTask.ts";

/** Flops and bytes of one call, counted as the ops themselves count them: inputs and outputs once. */
export function workOf(task: Task): Work {
  const f32Bytes = 4 * [...operandShapes(task), outputShape(task)].reduce((sum, shape) => sum + sizeOf(shape), 0);
  switch (task.kind) {
    case "matmul":
      return { flops: 2 * task.m * task.k * task.n, bytes: f32Bytes };
    case "quantMatmul":
      return { flops: 2 * task.m * task.k * task.n, bytes: f32Bytes + task.n * rowBytes(task.type, task.k) };
    case "op":
      return { bytes: f32Bytes };
    case "chain":
      return { ops: task.length, bytes: f32Bytes };
    case "series":
      return { ops: task.count, bytes: f32Bytes };
  }
}

/** Unit in which a task's row is quoted. */
export interface Quoted {
  readonly id: string;
  readonly metric: Metric;
  readonly bound: Bound;
}

/** Buffers of a row beyond this are not kept from pass to pass. */
const keptBytes = 2 ** 26;

/**
 * The row of a task. If the row claims memory speed, its buffer sets take `memoryBytes` together, beyond the last-level cache, so that each
 * call finds its data in memory. Otherwise one set is reused, and the row says that it measures the cache.
 */
export function taskRow(
  task: Task,
  competitors: readonly Competitor[],
  { id, metric, bound }: Quoted,
  memoryBytes: number | undefined,
): Row {
  const { bytes = 0 } = workOf(task);
  const sets = memoryBytes === undefined ? 1 : Math.ceil(memoryBytes / bytes);
  const isBytes = metric === "GB/s";
  return {
    id,
    metric,
    bound: isBytes && memoryBytes === undefined ? "none" : bound,
    work: workOf(task),
    data: isBytes ? (memoryBytes === undefined ? "cache" : "memory") : "-",
    isLarge: sets * bytes > keptBytes,
    contestants: competitors.map(({ name, side, threads, prepare }) => ({ name, side, threads, prepare: () => prepare(task, sets) })),
    verify: (result, side) => verifyTask(task, result, side),
  };
}
