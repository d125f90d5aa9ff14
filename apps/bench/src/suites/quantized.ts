import { taskRow } from "../tasks/work.ts";
import type { Suite } from "./suite.ts";

const types = ["q4_0", "q8_0", "q4_K", "q6_K"] as const;

/** Products with quantised weights: matvec as in decoding, from memory and from the cache, and GEMM as in a prompt. */
export const quantized: Suite = {
  name: "quantized",
  summary: "matvec and GEMM with quantised weights",
  rows({ competitors, quick, memoryBytes }) {
    return types
      .filter((type) => !quick || type === "q4_0" || type === "q4_K")
      .flatMap((type) => [
        taskRow(
          { kind: "quantMatmul", type, m: 1, k: 4096, n: 4096 },
          competitors,
          { id: `${type} 1×4096×4096`, metric: "GB/s", bound: "read" },
          memoryBytes,
        ),
        taskRow(
          { kind: "quantMatmul", type, m: 1, k: 2048, n: 1024 },
          competitors,
          { id: `${type} 1×2048×1024`, metric: "GB/s", bound: "read" },
          undefined,
        ),
        taskRow(
          { kind: "quantMatmul", type, m: 128, k: 2048, n: 2048 },
          competitors,
          { id: `${type} 128×2048×2048`, metric: "GFLOP/s", bound: "dots" },
          undefined,
        ),
        ...(type === "q4_0"
          ? [
              taskRow(
                { kind: "quantMatmul", type, m: 48, k: 4096, n: 4096 },
                competitors,
                { id: `${type} 48×4096×4096`, metric: "GFLOP/s", bound: "dots" },
                undefined,
              ),
            ]
          : []),
      ]);
  },
};
