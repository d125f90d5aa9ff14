import { randomGoldens } from "../goldens/random.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";

export const random: OpCases<"random"> = {
  // The words are exact. A normal number takes a logarithm, a root and a cosine.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...randomGoldens,
    { name: "no multiple of 4", inputs: [], params: { shape: [3, 7], seed: 1 } },
    { name: "normal", inputs: [], params: { shape: [1037], seed: 2, distribution: "normal" } },
    { name: "large seed", inputs: [], params: { shape: [5], seed: 2 ** 53 - 1 } },
    { name: "another draw", inputs: [], optional: { draw: i32([], [-3]) }, params: { shape: [9], seed: 1 } },
    { name: "scalar", inputs: [], params: { shape: [], seed: 0 } },
    { name: "empty", inputs: [], params: { shape: [0], seed: 0 } },
  ],
  wrong: [
    { name: "no seed", inputs: [], params: { shape: [3] }, error: "ArgumentError", message: /option seed, got none/ },
    {
      name: "seed",
      inputs: [],
      params: { shape: [3], seed: -1 },
      error: "ArgumentError",
      message: /seed to be a whole number from 0, got -1/,
    },
    { name: "no shape", inputs: [], params: { seed: 0 }, error: "ArgumentError", message: /option shape, got none/ },
    { name: "shape", inputs: [], params: { shape: [0.5], seed: 0 }, error: "ShapeError", message: /whole numbers from 0/ },
    {
      name: "distribution",
      inputs: [],
      params: { shape: [3], seed: 0, distribution: "gamma" },
      error: "ArgumentError",
      message: /"uniform" or "normal", got "gamma"/,
    },
    {
      name: "draw",
      inputs: [],
      optional: { draw: f32() },
      params: { shape: [3], seed: 0 },
      error: "DTypeError",
      message: /draw in i32, got f32/,
    },
    {
      name: "shape of draw",
      inputs: [],
      optional: { draw: tensor("i32", 1) },
      params: { shape: [3], seed: 0 },
      error: "ShapeError",
      message: /draw \[\], got i32 \[1\]/,
    },
  ],
};
