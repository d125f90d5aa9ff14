import { taskRow } from "../tasks/work.ts";
import type { Suite } from "./suite.ts";

const squares = [64, 128, 256, 512, 1024, 2048] as const;

/** f32 products: squares with both operands given at run time, and two shapes of layers, whose weights are known before. */
export const matmul: Suite = {
  name: "matmul",
  summary: "f32 matrix products",
  rows({ competitors, quick, memoryBytes }) {
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
    ];
  },
};
