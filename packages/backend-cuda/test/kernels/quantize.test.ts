import { uniform } from "@centella/conformance";
import { createProgram } from "@centella/core";
import { dequantize, quantize, rowBytes } from "@centella/quant";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

test.each(["q4_0", "q4_1", "q5_0", "q5_1", "q8_0"] as const)(
  "%s: blocks with a value that is not finite have NaN as their scale",
  async (dtype) => {
    const backend = new CudaBackend(new InterpretedDriver());
    const program = createProgram();
    program.output("y", program.quantize(program.input("x", "f32", [4, 32]), { dtype }));
    const plan = await backend.compile(program);
    const x = uniform(1, 4 * 32);
    const finite = x.slice(96);
    x[5] = Number.NaN;
    x[40] = Number.POSITIVE_INFINITY;
    x[95] = Number.NEGATIVE_INFINITY;
    const blocks = (await plan.run({ x }).y!.data()) as Uint8Array;
    const decoded = new Float32Array(x.length);
    dequantize(dtype, blocks, decoded);
    expect([0, 32, 64].map((first) => decoded.subarray(first, first + 32).every(Number.isNaN))).toEqual([true, true, true]);
    expect(blocks.subarray(rowBytes(dtype, 96))).toEqual(quantize(dtype, finite));
    await backend.dispose();
  },
);
