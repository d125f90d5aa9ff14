import { availableParallelism } from "node:os";
import { openForkJoin } from "@centella/backend-wasm/measure";
import type { Backend } from "@centella/core";
import { type Contestant, type Row, Skip } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import { record } from "../tasks/ours.ts";
import type { ChainTask } from "../tasks/task.ts";
import { taskRow } from "../tasks/work.ts";
import { policyRows } from "./policyRows.ts";
import { programRows } from "./programRows.ts";
import type { Suite } from "./suite.ts";

const compiled: ChainTask = { kind: "chain", length: 100, n: 64 };

/** Overhead of a plan beyond arithmetic: compiling a program, and replaying it on tiny data. */
export const plan: Suite = {
  name: "plan",
  summary: "plan compile and replay overhead",
  rows({ kind, backends, competitors }) {
    return [
      compileRow(backends),
      taskRow({ kind: "op", op: "add", shape: [16] }, competitors, { id: "replay 1 op", metric: "µs", bound: "none" }, undefined),
      taskRow({ kind: "chain", length: 100, n: 16 }, competitors, { id: "replay 100 ops", metric: "µs/op", bound: "none" }, undefined),
      ...(backends.some(({ name }) => name === "wasm") ? [forkJoinRow] : []),
      ...programRows(backends, kind),
      ...policyRows(backends),
    ];
  },
};

function compileRow(backends: readonly Backend[]): Row {
  const contestants = backends.map(
    (backend): Contestant => ({
      name: backend.name,
      side: "ours",
      threads: 1,
      prepare: async () => ({
        sample: timed(async () => (await backend.compile(record(compiled))).dispose()),
        result: async () => undefined,
        dispose: () => undefined,
      }),
    }),
  );
  return {
    id: `compile ${compiled.length} ops`,
    metric: "µs/op",
    bound: "none",
    work: { ops: compiled.length },
    data: "-",
    isLarge: false,
    contestants,
    verify: () => undefined,
  };
}

/** Overhead of a plan's stage that two threads share. */
const forkJoinRow: Row = {
  id: "fork and join of 2 threads, awake",
  metric: "µs",
  bound: "none",
  work: {},
  data: "-",
  isLarge: false,
  // A call is many stages: one makes a sample.
  isCold: true,
  contestants: [
    {
      name: "wasm",
      side: "ours",
      threads: 2,
      async prepare() {
        if (availableParallelism() < 2) throw new Skip("the machine has one processor");
        const measured = await openForkJoin().catch((error: unknown) => {
          throw new Skip(String(error));
        });
        return {
          // The difference may be negative if another process occupies a core.
          sample: async (calls) => calls * Math.max(1e-9, await measured.seconds()),
          result: async () => undefined,
          dispose: () => measured.dispose(),
        };
      },
    },
  ],
  verify: () => undefined,
};
