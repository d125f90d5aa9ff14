import { createProgram, NotLoadedError } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { WasmBackend } from "../src/backend.ts";
import { wasm } from "../src/index.ts";

// As in a page, where code is loaded over a network. In its own test file, because loaded code stays loaded.
let backend: WasmBackend;

beforeAll(async () => {
  vi.stubGlobal("process", undefined);
  try {
    backend = (await wasm({ threads: 1 }).open()) as WasmBackend;
  } finally {
    vi.unstubAllGlobals();
  }
});

afterAll(() => backend.dispose());

const x = Float32Array.from({ length: 32 }, (_, i) => i - 16);

test("in a page, sync calls can use ops that language models rarely need", () => {
  const program = createProgram();
  program.output("y", program.cumsum(program.input("x", "f32", [3])));
  expect(backend.compileSync!(program).runSync!({ x: Float32Array.of(1, 2, 4) }).y).toEqual(Float32Array.of(1, 3, 7));
});

function quantizing(): ProgramGraph {
  const program = createProgram();
  program.output("y", program.quantize(program.input("x", "f32", [32]), { dtype: "q8_0" }));
  return program;
}

function choosing(): ProgramGraph {
  const program = createProgram();
  const experts = program.constant(
    Float32Array.from({ length: 64 }, (_, i) => i >> 5),
    "f32",
    [2, 1, 32],
  );
  program.output("y", program.moeMatmul(program.input("x", "f32", [1, 32]), experts, program.input("ids", "i32", [1, 1])));
  return program;
}

function convolving(): ProgramGraph {
  const program = createProgram();
  program.output("y", program.conv2d(program.input("image", "f32", [1, 1, 4, 8]), program.input("taps", "f32", [1, 1, 1, 2])));
  return program;
}

test.each([
  ["blocks that are quantized", quantizing, { x }],
  ["convolutions", convolving, { image: x, taps: Float32Array.of(1, -1) }],
  ["products with experts", choosing, { x, ids: Int32Array.of(1) }],
])("in a page %s are waited for once", async (_what, record, inputs) => {
  expect(() => backend.compileSync!(record())).toThrow(NotLoadedError);
  expect(() => backend.compileSync!(record())).toThrow(/is loaded asynchronously; compile a program that needs it first/);
  const plan = await backend.compile(record());
  expect(backend.compileSync!(record()).runSync!(inputs).y).toEqual(await plan.run(inputs).y!.data());
});
