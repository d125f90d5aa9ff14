import { ssmScanGoldens } from "../goldens/ssmScan.ts";
import { type CaseTensor, f32, i32, type OpCases } from "../opCases.ts";

const decay = (...shape: number[]): CaseTensor => ({ ...f32(...shape), fill: { low: -4, high: -0.1 } });
const step = (...shape: number[]): CaseTensor => ({ ...f32(...shape), fill: { low: 0.01, high: 1 } });

export const ssmScan: OpCases<"ssmScan"> = {
  // f32 sums of 16 to 128 products, over states whose f32 rounding errors add up over several tokens.
  tolerance: { f32: { rtol: 1e-4, atol: 1e-5 } },
  cases: [
    ...ssmScanGoldens,
    {
      name: "one token",
      inputs: [f32(1, 19, 1), step(1, 19), decay(19, 16), f32(1, 1, 16), f32(1, 1, 16), f32(2, 19, 1, 16), i32([1], [5]), i32([1], [1])],
    },
    {
      name: "a prompt, states of no whole vector",
      inputs: [
        f32(9, 5, 1),
        step(9, 5),
        decay(5, 7),
        f32(9, 1, 7),
        f32(9, 1, 7),
        f32(1, 5, 1, 7),
        i32([9], [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        i32(
          [9],
          Array.from({ length: 9 }, () => 0),
        ),
      ],
    },
    {
      name: "heads in groups, one decay a head, two sequences",
      inputs: [
        f32(4, 6, 3),
        step(4, 6),
        decay(6, 1),
        f32(4, 2, 8),
        f32(4, 2, 8),
        f32(3, 6, 3, 8),
        i32([4], [4, 5, 0, 1]),
        i32([4], [2, 2, 1, 1]),
      ],
    },
    {
      name: "no tokens",
      inputs: [f32(0, 4, 1), f32(0, 4), f32(4, 8), f32(0, 1, 8), f32(0, 1, 8), f32(1, 4, 1, 8), i32([0], []), i32([0], [])],
    },
  ],
  wrong: [
    {
      name: "groups",
      inputs: [f32(1, 4, 1), f32(1, 4), f32(4, 8), f32(1, 3, 8), f32(1, 3, 8), f32(1, 4, 1, 8), i32([1], [0]), i32([1], [0])],
      error: "ShapeError",
      message: /H = 4 a multiple of G/,
    },
    {
      name: "c",
      inputs: [f32(1, 4, 1), f32(1, 4), f32(4, 8), f32(1, 1, 8), f32(1, 1, 4), f32(1, 4, 1, 8), i32([1], [0]), i32([1], [0])],
      error: "ShapeError",
      message: /c \[1, 1, 8\]/,
    },
    {
      name: "decays",
      inputs: [f32(1, 4, 1), f32(1, 4), f32(4, 3), f32(1, 1, 8), f32(1, 1, 8), f32(1, 4, 1, 8), i32([1], [0]), i32([1], [0])],
      error: "ShapeError",
      message: /a \[4, 8\]/,
    },
    {
      name: "state",
      inputs: [f32(1, 4, 1), f32(1, 4), f32(4, 8), f32(1, 1, 8), f32(1, 1, 8), f32(1, 4, 2, 8), i32([1], [0]), i32([1], [0])],
      error: "ShapeError",
      message: /state \[1, 4, 1, 8\]/,
    },
  ],
};
