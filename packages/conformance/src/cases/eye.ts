import { eyeGoldens } from "../goldens/eye.ts";
import { exact, type OpCases } from "../opCases.ts";

export const eye: OpCases<"eye"> = {
  tolerance: { f32: exact },
  cases: [
    ...eyeGoldens,
    { name: "square", inputs: [], params: { rows: 37 } },
    { name: "wide", inputs: [], params: { rows: 2, columns: 5 } },
    { name: "empty", inputs: [], params: { rows: 0 } },
    { name: "no columns", inputs: [], params: { rows: 3, columns: 0 } },
  ],
  wrong: [
    { name: "rows", inputs: [], params: { rows: -1 }, error: "ArgumentError", message: /rows to be a whole number from 0, got -1/ },
    {
      name: "columns",
      inputs: [],
      params: { rows: 1, columns: 1.5 },
      error: "ArgumentError",
      message: /columns to be a whole number from 0, got 1.5/,
    },
    { name: "no rows", inputs: [], error: "ArgumentError", message: /option rows, got none/ },
  ],
};
