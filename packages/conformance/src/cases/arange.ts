import { arangeGoldens } from "../goldens/arange.ts";
import { exact, type OpCases, rounding } from "../opCases.ts";

export const arange: OpCases<"arange"> = {
  tolerance: { f32: rounding, i32: exact },
  cases: [
    ...arangeGoldens,
    { name: "positions", inputs: [], params: { count: 1037, dtype: "i32" } },
    { name: "descending", inputs: [], params: { count: 9, start: 4, step: -2, dtype: "i32" } },
    { name: "default", inputs: [], params: { count: 33 } },
    { name: "empty", inputs: [], params: { count: 0 } },
    { name: "up to the last i32", inputs: [], params: { count: 3, start: 2147483645, dtype: "i32" } },
  ],
  wrong: [
    { name: "count", inputs: [], params: { count: -1 }, error: "ShapeError", message: /whole numbers from 0/ },
    { name: "half a count", inputs: [], params: { count: 2.5 }, error: "ShapeError", message: /whole numbers from 0/ },
    { name: "no count", inputs: [], error: "ArgumentError", message: /option count, got none/ },
    { name: "text", inputs: [], params: { count: "3" }, error: "ArgumentError", message: /list of extents/ },
    {
      name: "step",
      inputs: [],
      params: { count: 3, step: 0.5, dtype: "i32" },
      error: "ArgumentError",
      message: /step to be a whole number of 32 bits, got 0.5/,
    },
    {
      name: "start",
      inputs: [],
      params: { count: 3, start: Number.POSITIVE_INFINITY },
      error: "ArgumentError",
      message: /start to be a finite number, got Infinity/,
    },
    {
      name: "overflow",
      inputs: [],
      params: { count: 4, start: 2147483645, dtype: "i32" },
      error: "ArgumentError",
      message: /a last element that i32 can hold, got 2147483648/,
    },
    {
      name: "dtype",
      inputs: [],
      params: { count: 3, dtype: "u8" },
      error: "ArgumentError",
      message: /dtype to be "f32" or "i32", got "u8"/,
    },
  ],
};
