import { createProgram } from "@centella/core";
import type { ProgramGraph } from "@centella/core/backend";
import { afterEach, expect, test, vi } from "vitest";
import { wasm } from "../src/index.ts";

function record(eps: number): ProgramGraph {
  const program = createProgram();
  program.output("y", program.rmsNorm(program.input("x", "f32", [2, 4]), program.input("w", "f32", [4]), { eps }));
  return program;
}

const inputs = { x: Float32Array.of(1, 1, 1, 1, 3, -3, 3, -3), w: Float32Array.of(1, 2, 3, 4) };
const normed = [1, 2, 3, 4, 1, -2, 3, -4];

/** Exports of each module that is compiled while a test runs. */
function watchModules(): (readonly string[])[] {
  const seen: (readonly string[])[] = [];
  const compile = WebAssembly.compile.bind(WebAssembly);
  vi.spyOn(WebAssembly, "compile").mockImplementation(async (bytes) => {
    const module = await compile(bytes as BufferSource);
    seen.push(WebAssembly.Module.exports(module).map(({ name }) => name));
    return module;
  });
  return seen;
}

afterEach(() => void vi.restoreAllMocks());

test.each([1, 2])("only the kernels that a plan calls are emitted, for the first plan that calls them; threads: %i", async (threads) => {
  const seen = watchModules();
  const backend = await wasm({ threads }).open();
  expect(seen.flat()).not.toContain("rmsNorm");
  const plan = await backend.compile(record(0));
  expect(seen.at(-1)).toContain("rmsNorm");
  expect(seen.flat().filter((name) => /groups|attention|rope/.test(name))).toEqual([]);
  const before = seen.length;
  const again = await backend.compile(record(0));
  expect(seen.length).toBe(before);
  for (const { run } of [plan, again].map((each) => ({ run: () => each.run(inputs).y!.data() })))
    expect([...(await run())].map(Math.round)).toEqual(normed);
  await backend.dispose();
});

test("a sync call compiles functions that another plan still waits for, and both are correct", async () => {
  const backend = await wasm({ threads: 2 }).open();
  const compile = WebAssembly.compile.bind(WebAssembly);
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const compiling = vi.spyOn(WebAssembly, "compile").mockImplementation((bytes) => gate.then(() => compile(bytes as BufferSource)));
  const waiting = backend.compile(record(0));
  await vi.waitFor(() => expect(compiling).toHaveBeenCalled());
  const now = backend.compileSync!(record(0));
  expect([...now.runSync!(inputs).y!].map(Math.round)).toEqual(normed);
  open();
  const plan = await waiting;
  for (const each of [plan, now, plan]) expect([...(await each.run(inputs).y!.data())].map(Math.round)).toEqual(normed);
  await backend.dispose();
});
