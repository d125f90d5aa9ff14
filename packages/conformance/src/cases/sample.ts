import { sampleGoldens } from "../goldens/sample.ts";
import { exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

const positions = (...shape: readonly number[]) =>
  i32(
    shape,
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => 7 * i),
  );

export const sample: OpCases<"sample"> = {
  tolerance: { i32: exact },
  cases: [
    ...sampleGoldens,
    { name: "whole vocabulary", inputs: [f32(3, 1037), positions(3)], params: { seed: 1 } },
    { name: "greedy", inputs: [f32(3, 1037), positions(3)], params: { seed: 1, temperature: 0 } },
    {
      name: "greedy takes the first of equals",
      inputs: [{ ...f32(4), values: [1, 3, 3, 2] }, positions()],
      params: { seed: 1, temperature: 0 },
    },
    { name: "top-k", inputs: [f32(9, 67), positions(9)], params: { seed: 2, topK: 5 } },
    {
      name: "top-k of equals",
      inputs: [{ ...f32(9, 8), values: new Array<number>(72).fill(0.5) }, positions(9)],
      params: { seed: 2, topK: 3 },
    },
    { name: "more than there are", inputs: [f32(9, 6), positions(9)], params: { seed: 2, topK: 50 } },
    { name: "top-p", inputs: [{ ...f32(9, 67), fill: { low: -6, high: 6 } }, positions(9)], params: { seed: 3, topP: 0.7 } },
    { name: "top-p of 0 is greedy", inputs: [f32(9, 67), positions(9)], params: { seed: 3, topP: 0 } },
    { name: "min-p", inputs: [{ ...f32(9, 67), fill: { low: -6, high: 6 } }, positions(9)], params: { seed: 4, minP: 0.2 } },
    {
      name: "everything",
      inputs: [{ ...f32(3, 4, 67), fill: { low: -6, high: 6 } }, positions(3, 4)],
      params: { seed: 2 ** 53 - 1, temperature: 0.6, topK: 30, topP: 0.9, minP: 0.05 },
    },
    {
      name: "excluded",
      inputs: [
        {
          ...f32(2, 4),
          values: [0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, 0.5, Number.NEGATIVE_INFINITY, 2, Number.NEGATIVE_INFINITY, 1],
        },
        positions(2),
      ],
      params: { seed: 5 },
    },
    {
      name: "huge logits",
      inputs: [{ ...f32(3, 5), fill: { low: -1e4, high: 1e4 } }, positions(3)],
      params: { seed: 6, temperature: 0.01 },
    },
    { name: "one", inputs: [f32(3, 1), positions(3)], params: { seed: 7 } },
    { name: "negative positions are counters too", inputs: [f32(2, 9), i32([2], [-1, -2147483648])], params: { seed: 8 } },
    { name: "no rows", inputs: [f32(0, 5), positions(0)], params: { seed: 9 } },
  ],
  wrong: [
    { name: "no seed", inputs: [f32(3), i32([], [0])], error: "ArgumentError", message: /option seed, got none/ },
    {
      name: "seed",
      inputs: [f32(3), i32([], [0])],
      params: { seed: 1.5 },
      error: "ArgumentError",
      message: /seed to be a whole number from 0, got 1.5/,
    },
    {
      name: "temperature",
      inputs: [f32(3), i32([], [0])],
      params: { seed: 1, temperature: -1 },
      error: "ArgumentError",
      message: /temperature to be a finite number from 0, got -1/,
    },
    {
      name: "topK",
      inputs: [f32(3), i32([], [0])],
      params: { seed: 1, topK: 0.5 },
      error: "ArgumentError",
      message: /topK to be a whole number from 0/,
    },
    {
      name: "topP",
      inputs: [f32(3), i32([], [0])],
      params: { seed: 1, topP: 1.5 },
      error: "ArgumentError",
      message: /topP to be a number from 0 to 1, got 1.5/,
    },
    {
      name: "minP",
      inputs: [f32(3), i32([], [0])],
      params: { seed: 1, minP: -0.1 },
      error: "ArgumentError",
      message: /minP to be a number from 0 to 1, got -0.1/,
    },
    { name: "scalar", inputs: [f32(), i32([], [0])], params: { seed: 1 }, error: "ShapeError", message: /rank 1 or more/ },
    {
      name: "nothing to choose",
      inputs: [f32(2, 0), tensor("i32", 2)],
      params: { seed: 1 },
      error: "ArgumentError",
      message: /at least one logit per row, got f32 \[2, 0\]/,
    },
    {
      name: "positions",
      inputs: [f32(2, 3), tensor("i32", 3)],
      params: { seed: 1 },
      error: "ShapeError",
      message: /position \[2\], got i32 \[3\]/,
    },
    {
      name: "f32 positions",
      inputs: [f32(2, 3), f32(2)],
      params: { seed: 1 },
      error: "DTypeError",
      message: /position in i32, got f32 \[2\]/,
    },
    {
      name: "f16",
      inputs: [tensor("f16", 3), i32([], [0])],
      params: { seed: 1 },
      error: "DTypeError",
      message: /logits in f32, got f16 \[3\]; cast it/,
    },
    {
      name: "symbolic row",
      inputs: [{ dtype: "f32", shape: [{ name: "V", max: 8 }] }, i32([], [0])],
      params: { seed: 1 },
      error: "ShapeError",
      message: /the symbolic dim V/,
    },
  ],
};
