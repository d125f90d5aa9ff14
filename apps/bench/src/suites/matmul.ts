import { availableParallelism } from "node:os";
import { wasm } from "@centella/backend-wasm";
import { type Side, Skip } from "../runner/subject.ts";
import type { Competitor } from "../tasks/competitor.ts";
import { ours } from "../tasks/ours.ts";
import { taskRow } from "../tasks/work.ts";
import type { Suite } from "./suite.ts";

const squares = [64, 128, 256, 512, 1024, 2048] as const;

/** f32 products: squares with both operands given in the run, and two shapes of layers with weights that are known before. */
export const matmul: Suite = {
  name: "matmul",
  summary: "f32 matrix products",
  rows({ backends, competitors, quick, memoryBytes }) {
    const sizes = squares.filter((size) => !quick || size <= 1024);
    return [
      ...sizes.map((n) =>
        taskRow(
          { kind: "matmul", m: n, k: n, n, hasWeights: false },
          competitors,
          { id: `${n}×${n}×${n}`, metric: "GFLOP/s", bound: "flops" },
          undefined,
        ),
      ),
      taskRow(
        { kind: "matmul", m: 128, k: 768, n: 3072, hasWeights: true },
        competitors,
        { id: "128×768×3072 weights", metric: "GFLOP/s", bound: "flops" },
        undefined,
      ),
      taskRow(
        { kind: "matmul", m: 1, k: 4096, n: 4096, hasWeights: true },
        competitors,
        { id: "1×4096×4096 weights", metric: "GB/s", bound: "read" },
        memoryBytes,
      ),
      // Shows the gain of a second thread, regardless of the threads of the other rows.
      ...(backends.some(({ name }) => name === "wasm")
        ? [
            taskRow(
              { kind: "matmul", m: 1024, k: 1024, n: 1024, hasWeights: false },
              [onThreads("wasm", "ours", 2), onThreads("one thread", "peer", 1)],
              { id: "1024×1024×1024 on two threads", metric: "GFLOP/s", bound: "flops" },
              undefined,
            ),
          ]
        : []),
    ];
  },
};

/** A separate WASM backend with `threads` threads. */
function onThreads(name: string, side: Side, threads: number): Competitor {
  return {
    name,
    side,
    threads,
    async prepare(task, sets) {
      if (availableParallelism() < threads) throw new Skip("the machine has one processor");
      const backend = await wasm({ threads }).open();
      const subject = await ours(backend, threads).prepare(task, sets);
      return {
        ...subject,
        async dispose() {
          await subject.dispose();
          await backend.dispose();
        },
      };
    },
  };
}
