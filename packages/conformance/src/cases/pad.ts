import { padGoldens } from "../goldens/pad.ts";
import { exact, f32, type OpCases, tensor } from "../opCases.ts";

export const pad: OpCases<"pad"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...padGoldens,
    {
      name: "image",
      inputs: [f32(2, 3, 5, 7)],
      params: {
        pads: [
          [0, 0],
          [0, 0],
          [1, 2],
          [3, 0],
        ],
      },
    },
    { name: "value", inputs: [f32(9)], params: { pads: [[4, 4]], value: -1.5 } },
    { name: "minus infinity", inputs: [f32(3)], params: { pads: [[0, 2]], value: Number.NEGATIVE_INFINITY } },
    {
      name: "none",
      inputs: [f32(3, 4)],
      params: {
        pads: [
          [0, 0],
          [0, 0],
        ],
      },
    },
    {
      name: "of nothing",
      inputs: [f32(0, 2)],
      params: {
        pads: [
          [1, 1],
          [0, 0],
        ],
        value: 3,
      },
    },
    { name: "scalar", inputs: [f32()], params: { pads: [] } },
    { name: "i8", inputs: [tensor("i8", 3)], params: { pads: [[1, 1]], value: -128 } },
    { name: "bool", inputs: [tensor("bool", 3)], params: { pads: [[1, 1]], value: 1 } },
    {
      name: "aligned rows",
      inputs: [f32(3, 8)],
      params: {
        pads: [
          [1, 2],
          [0, 0],
        ],
        value: 2.5,
      },
    },
    {
      name: "aligned columns",
      inputs: [f32(2, 3, 8)],
      params: {
        pads: [
          [0, 0],
          [1, 0],
          [4, 8],
        ],
        value: -1,
      },
    },
    { name: "aligned halves", inputs: [tensor("f16", 16)], params: { pads: [[8, 16]], value: 1.5 } },
    { name: "aligned bytes", inputs: [tensor("i8", 32)], params: { pads: [[16, 0]], value: -3 } },
  ],
  wrong: [
    {
      name: "too few",
      inputs: [f32(2, 3)],
      params: { pads: [[1, 1]] },
      error: "ArgumentError",
      message: /pads to be 2 pairs \[before, after\], one per axis, got \[\[1, 1\]\]/,
    },
    { name: "no pairs", inputs: [f32(2)], params: { pads: [1] }, error: "ArgumentError", message: /1 pairs/ },
    {
      name: "negative",
      inputs: [f32(2)],
      params: { pads: [[-1, 0]] },
      error: "ArgumentError",
      message: /pads\[0\]\[0\] to be a whole number from 0, got -1/,
    },
    { name: "half", inputs: [f32(2)], params: { pads: [[0, 0.5]] }, error: "ArgumentError", message: /pads\[0\]\[1\]/ },
    { name: "left out", inputs: [f32(2)], error: "ArgumentError", message: /option pads, got none/ },
    {
      name: "value",
      inputs: [tensor("u8", 2)],
      params: { pads: [[1, 0]], value: 256 },
      error: "ArgumentError",
      message: /a value that u8 can hold, got 256/,
    },
    { name: "NaN", inputs: [f32(2)], params: { pads: [[1, 0]], value: Number.NaN }, error: "ArgumentError", message: /got NaN/ },
    {
      name: "symbolic axis",
      inputs: [{ dtype: "f32", shape: [{ name: "T", max: 4 }, 2] }],
      params: {
        pads: [
          [1, 0],
          [0, 0],
        ],
      },
      error: "ShapeError",
      message: /the padded axis 0 to be a number, got the symbolic dim T/,
    },
    { name: "quantised", inputs: [tensor("q8_0", 32)], params: { pads: [[1, 0]] }, error: "DTypeError", message: /dequantise/ },
  ],
};
