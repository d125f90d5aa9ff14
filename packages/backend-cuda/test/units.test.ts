import { contentsOf } from "@centella/conformance";
import { createProgram, type DType } from "@centella/core";
import { describe, expect, test } from "vitest";
import { CudaBackend } from "../src/backend.ts";
import { bytesOf } from "../src/device/deviceTensor.ts";
import { placeOf, unitFormat, unitMatrix, unitRows } from "../src/weights/unitFormat.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";
import { sourceOf } from "./sources.ts";

const types = ["f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_K", "q5_K", "q6_K"] as const;

test.each([1, 2, 4, 8, 16] as const)("codes of %i bits have places of their own", (bits) => {
  const width = bits === 16 ? 64 : 256;
  const taken = new Set<number>();
  for (let row = 0; row < unitRows; row++) {
    for (let k = 0; k < width; k++) {
      const { word, bit } = placeOf(bits, row, k);
      for (let i = 0; i < bits; i++) taken.add(32 * word + bit + i);
    }
  }
  expect(taken.size).toBe(unitRows * width * bits);
  expect(Math.max(...taken)).toBe(unitRows * width * bits - 1);
});

test("units are whole multiples of 128 bytes, with no more padding than that takes", () => {
  const sizes = types.map((dtype) => [dtype, unitFormat(dtype)?.bytes]);
  expect(Object.fromEntries(sizes)).toEqual({
    f16: 2048,
    bf16: 2048,
    q4_0: 2304,
    q4_1: 2560,
    q5_0: 2816,
    q5_1: 3072,
    q8_0: 4352,
    q4_K: 2304,
    q5_K: 2816,
    q6_K: 3456,
  });
  expect(unitMatrix("q4_K", [28672, 4096])?.bytes).toBe((28672 / 16) * 16 * 2304);
  expect(unitFormat("f32")).toBeUndefined();
  expect(unitFormat("iq2_xs")).toBeUndefined();
});

describe.each(types)("a %s matrix in units", (dtype: DType) => {
  const isSuper = dtype.endsWith("_K");
  // Whole tiles and units, and parts of both.
  test.each([
    [32, 512],
    [19, isSuper ? 256 : 288],
  ])("%i x %i", async (rows, columns) => {
    const spec = { dtype, shape: [rows, columns] };
    const { stored, decoded } = contentsOf(spec, 7);
    const backend = new CudaBackend(new InterpretedDriver());
    const program = createProgram();
    const table = program.persistent("table", spec);
    program.output("y", program.embedding(table, program.input("ids", "i32", [rows])));
    const plan = await backend.compile(program);
    await plan.load("table", sourceOf(stored));
    expect(backend.memory().persistents).toBe(unitMatrix(dtype, spec.shape)?.bytes);
    const y = await plan.run({ ids: Int32Array.from({ length: rows }, (_, i) => i) }).y!.data();
    expect(y).toEqual(decoded);
    expect(bytesOf(await plan.save("table"))).toEqual(bytesOf(stored));
    await backend.dispose();
  });
});
