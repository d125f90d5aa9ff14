import { uniform } from "@centella/conformance";
import { type Backend, createProgram, type TypedArray, type Value } from "@centella/core";
import { explain, type ProgramGraph } from "@centella/core/backend";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wasm } from "../src/index.ts";
import { targets } from "./shared.ts";

const cases = targets.flatMap(({ relaxed }) => [1, 2].map((threads) => ({ relaxed, threads })));

describe.each(cases)("a scan fused with the write of its state, relaxed: $relaxed, threads: $threads", (options) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await wasm(options).open();
  });
  afterAll(() => backend.dispose());

  // Heads, channels, groups, elements, decays; sizes that do and do not fill lanes.
  test.each([
    [64, 1, 1, 16, 16],
    [6, 5, 3, 7, 1],
    [3, 2, 1, 1, 1],
  ])("gives the bits of the two one by one: %i heads, %i channels, %i groups, %i elements", async (H, P, G, N, decays) => {
    const together = record(H, P, G, N, decays, false);
    const apart = record(H, P, G, N, decays, true);
    expect(explain(together, backend)).toMatch(/\.1 = ssmScanWrite/);
    expect(explain(apart, backend)).not.toMatch(/\.1 = ssmScanWrite/);
    await expectSameRuns(backend, [together, apart], (seed, T) => ({
      x: uniform(seed, T * H * P),
      dt: uniform(seed + 10, T * H).map(Math.abs),
      b: uniform(seed + 20, T * G * N),
      c: uniform(seed + 30, T * G * N),
    }));
  });
});

/** Runs both programs over sequences that go on and begin again, with the inputs of T tokens, and expects the same results and states. */
async function expectSameRuns(
  backend: Backend,
  [together, apart]: readonly [ProgramGraph, ProgramGraph],
  inputsOf: (seed: number, T: number) => Record<string, TypedArray>,
): Promise<void> {
  const [one, two] = [await backend.compile(together), await backend.compile(apart)];
  // A prompt of one sequence and a token of another, then a token of each, then nothing, then a new sequence in an
  // old row.
  const runs = [
    { positions: [0, 1, 2, 3, 0], rows: [2, 2, 2, 2, 0] },
    { positions: [4, 1], rows: [2, 0] },
    { positions: [], rows: [] },
    { positions: [0, 1], rows: [2, 2] },
  ];
  for (const [seed, { positions, rows }] of runs.entries()) {
    const inputs = { ...inputsOf(seed, positions.length), positions: Int32Array.from(positions), rows: Int32Array.from(rows) };
    const [a, b] = [one.run(inputs), two.run(inputs)];
    for (const name of ["y", "state"]) expect(await a[name]!.data(), `${name} of run ${seed}`).toEqual(await b[name]!.data());
  }
  expect(await one.save("state")).toEqual(await two.save("state"));
  one.dispose();
  two.dispose();
}

/** `isApart`: another step reads the results before the state is written. */
function record(H: number, P: number, G: number, N: number, decays: number, isApart: boolean): ProgramGraph {
  const program = createProgram();
  const T = program.dim("T", 8);
  const state = program.persistent("state", { dtype: "f32", shape: [3, H, P, N] }, { init: "zeros" });
  const x = program.input("x", "f32", [T, H, P]);
  const dt = program.input("dt", "f32", [T, H]);
  const a = program.constant(
    uniform(1, H * decays).map((value) => -Math.abs(value)),
    "f32",
    [H, decays],
  );
  const [b, c] = [program.input("b", "f32", [T, G, N]), program.input("c", "f32", [T, G, N])];
  const [positions, rows] = [program.input("positions", "i32", [T]), program.input("rows", "i32", [T])];
  const y = program.ssmScan(x, dt, a, b, c, state, positions, rows);
  if (isApart) program.output("early", program.relu(y));
  program.output("state", program.ssmScanWrite(state, x, dt, a, b, positions, rows));
  program.output("y", y);
  return program;
}

describe.each(cases)("a delta rule fused with the write of its state, relaxed: $relaxed, threads: $threads", (options) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await wasm(options).open();
  });
  afterAll(() => backend.dispose());

  // Heads, elements of keys, channels, decays; sizes that do and do not fill lanes.
  test.each([
    [8, 16, 12, 1],
    [3, 7, 5, 7],
    [2, 1, 1, 1],
  ])("gives the bits of the two one by one: %i heads, keys of %i, %i channels, %i decays", async (H, K, V, decays) => {
    const together = recordDelta(H, K, V, decays, false);
    const apart = recordDelta(H, K, V, decays, true);
    expect(explain(together, backend)).toMatch(/\.1 = deltaScanWrite/);
    expect(explain(apart, backend)).not.toMatch(/\.1 = deltaScanWrite/);
    await expectSameRuns(backend, [together, apart], (seed, T) => ({
      q: uniform(seed, T * H * K),
      k: uniform(seed + 10, T * H * K),
      v: uniform(seed + 20, T * H * V),
      decay: uniform(seed + 30, T * H * decays).map(Math.abs),
      a: uniform(seed + 40, T * H * K),
      b: uniform(seed + 50, T * H * K).map((value) => value / K),
    }));
  });
});

/** `isApart`: another step reads the results before the state is written. */
function recordDelta(H: number, K: number, V: number, decays: number, isApart: boolean): ProgramGraph {
  const program = createProgram();
  const T = program.dim("T", 8);
  const state = program.persistent("state", { dtype: "f32", shape: [3, H, V, K] }, { init: "zeros" });
  const keys = (name: string): Value => program.input(name, "f32", [T, H, K]);
  const [q, k, v, decay] = [keys("q"), keys("k"), program.input("v", "f32", [T, H, V]), program.input("decay", "f32", [T, H, decays])];
  const [a, b] = [keys("a"), keys("b")];
  const [positions, rows] = [program.input("positions", "i32", [T]), program.input("rows", "i32", [T])];
  const y = program.deltaScan(q, k, v, decay, a, b, state, positions, rows);
  if (isApart) program.output("early", program.relu(y));
  program.output("state", program.deltaScanWrite(state, k, v, decay, a, b, positions, rows));
  program.output("y", y);
  return program;
}
