import { castGoldens } from "../goldens/cast.ts";
import { exact, f32, type OpCases, tensor } from "../opCases.ts";

const dtypes = ["f32", "f16", "bf16", "i32", "u32", "i8", "u8", "bool"] as const;

export const cast: OpCases<"cast"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...castGoldens,
    ...dtypes.flatMap((from) => dtypes.map((dtype) => ({ name: `${from} to ${dtype}`, inputs: [tensor(from, 33)], params: { dtype } }))),
    {
      name: "saturates",
      inputs: [{ dtype: "f32", shape: [6], values: [300, -300, 3e9, -3e9, Number.NaN, Number.POSITIVE_INFINITY] }],
      params: { dtype: "i8" },
    },
    { name: "saturates to u32", inputs: [{ dtype: "f32", shape: [4], values: [-1, 5e9, Number.NaN, 2.75] }], params: { dtype: "u32" } },
    { name: "f16 overflows to infinity", inputs: [{ dtype: "f32", shape: [3], values: [65519, 65520, -1e9] }], params: { dtype: "f16" } },
    { name: "NaN is true", inputs: [{ dtype: "f32", shape: [4], values: [0, -0, Number.NaN, 1e-40] }], params: { dtype: "bool" } },
    { name: "scalar", inputs: [f32()], params: { dtype: "i32" } },
    { name: "empty", inputs: [f32(0, 3)], params: { dtype: "i32" } },
  ],
  wrong: [
    { name: "dtype", inputs: [f32(2)], params: { dtype: "f64" }, error: "ArgumentError", message: /dtype to be "f32" or .*, got "f64"/ },
    { name: "to a block type", inputs: [f32(32)], params: { dtype: "q8_0" }, error: "ArgumentError", message: /got "q8_0"/ },
    { name: "from a block type", inputs: [tensor("q8_0", 32)], params: { dtype: "f32" }, error: "DTypeError", message: /dequantise/ },
    { name: "no dtype", inputs: [f32(2)], error: "ArgumentError", message: /option dtype, got none/ },
  ],
};
