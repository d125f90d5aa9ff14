import { ssmScanWriteGoldens } from "../goldens/ssmScanWrite.ts";
import { type CaseTensor, f32, i32, type OpCases } from "../opCases.ts";

const decay = (...shape: number[]): CaseTensor => ({ ...f32(...shape), fill: { low: -4, high: -0.1 } });
const step = (...shape: number[]): CaseTensor => ({ ...f32(...shape), fill: { low: 0.01, high: 1 } });

export const ssmScanWrite: OpCases<"ssmScanWrite"> = {
  // Rounding errors of f32 states add up over several tokens.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-6 } },
  cases: [
    ...ssmScanWriteGoldens,
    {
      name: "one token",
      inputs: [f32(2, 19, 1, 16), f32(1, 19, 1), step(1, 19), decay(19, 16), f32(1, 1, 16), i32([1], [5]), i32([1], [1])],
    },
    {
      name: "heads in groups, one decay a head, two sequences, states of no whole vector",
      inputs: [f32(3, 6, 3, 7), f32(4, 6, 3), step(4, 6), decay(6, 1), f32(4, 2, 7), i32([4], [4, 5, 0, 1]), i32([4], [2, 2, 1, 1])],
    },
    { name: "no tokens", inputs: [f32(1, 4, 1, 8), f32(0, 4, 1), f32(0, 4), f32(4, 8), f32(0, 1, 8), i32([0], []), i32([0], [])] },
  ],
  wrong: [
    {
      name: "steps",
      inputs: [f32(1, 4, 1, 8), f32(1, 4, 1), f32(1, 5), f32(4, 8), f32(1, 1, 8), i32([1], [0]), i32([1], [0])],
      error: "ShapeError",
      message: /dt \[1, 4\], got f32 \[1, 5\]/,
    },
    {
      name: "temporary",
      inputs: [f32(1, 4, 1, 8), f32(1, 4, 1), f32(1, 4), f32(4, 8), f32(1, 1, 8), i32([1], [0]), i32([1], [0])],
      error: "ProgramError",
      message: /state to be a persistent, got a temporary/,
    },
  ],
};
