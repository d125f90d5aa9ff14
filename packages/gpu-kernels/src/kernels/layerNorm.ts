import { type GpuKernelOf, input } from "../kernel.ts";
import { normalizedRows } from "../rows/normalizedRows.ts";
import { rowsOf } from "../rows/rows.ts";

export const layerNorm: GpuKernelOf<"layerNorm"> = {
  epilogue: true,
  prologue: "again",
  steps: (call, { eps }) => {
    const hasBias = call.inputs[2] !== undefined;
    return normalizedRows(call, {
      rows: rowsOf(call.inputs[0], -1),
      eps,
      form: hasBias ? "bias" : "",
      args: { w: input(call, 1), ...(hasBias && { bias: input(call, 2) }) },
      finish:
        ({ k }) =>
        (value, i) => {
          const scaled = k.mul(value, k.load("w", i));
          return hasBias ? k.add(scaled, k.load("bias", i)) : scaled;
        },
    });
  },
};
