import { uniform } from "@centella/conformance";
import { type Backend, createProgram, reference } from "@centella/core";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

const [heads, width, slots] = [4, 64, 64];

/** A prompt and a token after it, whose keys and values each run writes itself. Positions are given, or computed by the run. */
async function outputs(backend: Backend, isGiven: boolean): Promise<readonly Float32Array[]> {
  const program = createProgram();
  const T = program.dim("T", 24);
  const given = program.input("positions", "i32", [T]);
  const positions = isGiven ? given : program.add(given, program.constant(Int32Array.of(1), "i32", [1]));
  const empty = program.persistent("cache", { dtype: "f16", shape: [slots, 1, 2 * width] }, { init: "zeros" });
  const written = program.kvWrite(empty, program.input("k", "f32", [T, 1, width]), program.input("v", "f32", [T, 1, width]), positions);
  const tables = [program.input("seqOf", "i32", [T]), program.input("table", "i32", [1, 2]), program.input("lengths", "i32", [1])] as const;
  const q = program.input("q", "f32", [T, heads, width]);
  const y = program.attention(q, written, positions, ...tables, { scale: 0.5, blockSize: 32, activations: "half" });
  program.output("y", y);
  const plan = await backend.compile(program);
  const found: Float32Array[] = [];
  for (const [first, tokens] of [
    [0, 24],
    [24, 1],
  ] as const) {
    const run = plan.run({
      q: uniform(first + 1, tokens * heads * width),
      k: uniform(first + 2, tokens * width),
      v: uniform(first + 3, tokens * width),
      positions: Int32Array.from({ length: tokens }, (_, i) => first + i - (isGiven ? 0 : 1)),
      seqOf: new Int32Array(tokens),
      table: Int32Array.of(0, 1),
      lengths: Int32Array.of(first + tokens),
    });
    found.push((await run.y!.data()) as Float32Array);
  }
  await backend.dispose();
  return found;
}

// The interpreter reports what is read before the wait for the launch that writes it.
test.each([true, false])("keys and values of the same run are read after the wait for them; positions given: %s", async (isGiven) => {
  const [got, want] = [await outputs(new CudaBackend(new InterpretedDriver()), isGiven), await outputs(await reference().open(), isGiven)];
  for (const [run, y] of want.entries()) for (const [i, value] of y.entries()) expect(Math.abs(value - got[run]![i]!)).toBeLessThan(4e-3);
});
