import type { OpTask, SeriesTask } from "../tasks/task.ts";
import { taskRow } from "../tasks/work.ts";
import type { Suite } from "./suite.ts";

const ops = ["add", "relu", "sigmoid", "gelu", "softmax", "layerNorm", "sum", "max", "dot"] as const;
const reductions: readonly string[] = ["sum", "max", "dot"];
/** Ops that are also measured on 32 M elements. */
const largeOps: readonly string[] = ["add", "gelu", "softmax", "sum", "dot"];
const inPlans: readonly SeriesTask["op"][] = ["add", "relu", "sum", "max", "dot"];
const million = 2 ** 20;

/** Elementwise ops, norms and reductions: many small ones in one plan, 1 M elements in the cache and from memory, 32 M elements. */
export const elementwise: Suite = {
  name: "elementwise",
  summary: "elementwise ops and reductions",
  rows({ competitors, quick, memoryBytes }) {
    const row = (op: OpTask["op"], size: string, shape: readonly number[], memory: number | undefined) =>
      taskRow(
        { kind: "op", op, shape },
        competitors,
        { id: `${op} ${size}`, metric: "GB/s", bound: reductions.includes(op) ? "read" : "copy" },
        memory,
      );
    return [
      taskRow({ kind: "chain", length: 64, n: 10_000 }, competitors, { id: "64 ops on 10 K", metric: "µs/op", bound: "none" }, undefined),
      ...inPlans.map((op) =>
        taskRow(
          { kind: "series", op, count: 8, n: 10_000 },
          competitors,
          { id: `${op} of 10 K in a plan`, metric: "µs/op", bound: "none" },
          undefined,
        ),
      ),
      ...ops.map((op) => row(op, "1 M", shapeOf(op, million), undefined)),
      ...ops
        .filter((op) => (quick ? op === "add" || op === "sum" : largeOps.includes(op)))
        .map((op) => row(op, "1 M from memory", shapeOf(op, million), memoryBytes)),
      ...(quick ? [] : ops.filter((op) => largeOps.includes(op)).map((op) => row(op, "32 M", shapeOf(op, 32 * million), memoryBytes))),
    ];
  },
};

function shapeOf(op: OpTask["op"], elements: number): readonly number[] {
  return op === "softmax" || op === "layerNorm" ? [elements / 1024, 1024] : [elements];
}
