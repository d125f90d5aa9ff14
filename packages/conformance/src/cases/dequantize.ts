import { dequantizeGoldens } from "../goldens/dequantize.ts";
import { blockTypes, exact, f32, type OpCases, tensor } from "../opCases.ts";

export const dequantize: OpCases<"dequantize"> = {
  tolerance: { f32: exact },
  cases: [
    ...dequantizeGoldens,
    ...blockTypes.map((dtype) => ({ name: dtype, inputs: [tensor(dtype, 2, 512)] })),
    { name: "bf16", inputs: [tensor("bf16", 67)] },
    { name: "f16 scalar", inputs: [tensor("f16")] },
    { name: "no rows", inputs: [tensor("q8_0", 0, 32)] },
  ],
  wrong: [
    { name: "f32", inputs: [f32(2)], error: "DTypeError", message: /x in a block type or f16 or bf16, got f32 \[2\]/ },
    { name: "i8", inputs: [tensor("i8", 2)], error: "DTypeError", message: /got i8/ },
    { name: "bool", inputs: [tensor("bool", 2)], error: "DTypeError", message: /got bool/ },
  ],
};
