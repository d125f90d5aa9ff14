import type { Backend } from "@centella/core";
import { lastOf, tupleOf } from "@centella/quant/checks";
import { scalar } from "../peers/scalar.ts";
import { measureRows, quickSettings } from "../runner/measure.ts";
import { estimateRatio } from "../stats/bootstrap.ts";
import { seedOf } from "../stats/random.ts";
import { ours } from "../tasks/ours.ts";
import type { Task } from "../tasks/task.ts";
import { taskRow } from "../tasks/work.ts";
import type { Figure, Reading } from "./budget.ts";

const million = 2 ** 20;
const tasks: readonly (readonly [name: string, task: Task])[] = [
  ["matmul 512×512×512", { kind: "matmul", m: 512, k: 512, n: 512, hasWeights: false }],
  ["dot of 1 M", { kind: "op", op: "dot", shape: [million] }],
  ["sum of 1 M", { kind: "op", op: "sum", shape: [million] }],
  ["sigmoid of 1 M", { kind: "op", op: "sigmoid", shape: [million] }],
];

/** Speed of a CPU backend relative to plain loops, measured in turn. `open` opens the backend. */
export function speedFigures(name: string, open: () => Promise<Backend>): readonly Figure[] {
  return tasks.map(([what, task]) => ({
    name: `${name} ${what} over scalar loops`,
    unit: "×",
    backend: name,
    measure: async () => {
      const backend = await open();
      try {
        return await ratioOverScalar(backend, task);
      } finally {
        await backend.dispose();
      }
    },
  }));
}

async function ratioOverScalar(backend: Backend, task: Task): Promise<Reading> {
  const baseline = await scalar.open({ threads: 1 });
  const quoted = { id: "budget", metric: "ms", bound: "none" } as const;
  const competitors = [ours(backend, 1), ...(baseline.competitor === undefined ? [] : [baseline.competitor])];
  const row = lastOf(await measureRows([taskRow(task, competitors, quoted, undefined)], quickSettings));
  const passes = row.outcomes.map(({ outcome }) => {
    if (outcome.status !== "measured") throw new Error(`${JSON.stringify(task)}: ${outcome.reason}`);
    return outcome.passes;
  });
  return { value: estimateRatio(...tupleOf(passes, 2), seedOf(JSON.stringify(task))) };
}
