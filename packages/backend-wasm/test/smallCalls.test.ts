import { createProgram, createRuntime, NotLoadedError, type Runtime, UnsupportedError } from "@centella/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { wasm } from "../src/index.ts";

// As in a page that went offline before a call needed the reference.
vi.mock("../../core/src/reference/referencePlan.ts", () => {
  throw new TypeError("Failed to fetch dynamically imported module");
});

const small = Float32Array.of(1, 2, 3, 4);
let runtime: Runtime;

beforeEach(async () => {
  // Calls have measured thresholds on WASM; programs, and so lazy chains, have none.
  const thresholds = { wasm: { program: { min: 1e6, unit: "flops" } } } as const;
  runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { thresholds } });
});

afterEach(() => runtime.dispose());

describe("a call that is too small for wasm, where the reference is not loaded", () => {
  test("is computed within the call", () => {
    const a = runtime.tensor(small, [2, 2]);
    expect([...runtime.sync.matmul(a, a).dataSync()]).toEqual([7, 10, 15, 22]);
    expect([...runtime.sync.add(a, a).dataSync()]).toEqual([2, 4, 6, 8]);
    const { calls } = runtime.report();
    expect(calls.map(({ backend }) => backend)).toEqual(["wasm", "wasm"]);
    expect(calls[0]!.reason).toMatch(/ < .*, the crossover for \w+, but no other backend can run it; reference: it answers later/);
  });

  test("is computed when it is awaited", async () => {
    const a = runtime.tensor(small, [2, 2]);
    expect([...(await (await runtime.matmul(a, a)).data())]).toEqual([7, 10, 15, 22]);
    expect([...(await runtime.lazy(small).scale({ by: 2 }).relu().data())]).toEqual([2, 4, 6, 8]);
    const reasons = runtime.report().calls.filter(({ backend }) => backend === "wasm");
    expect(reasons.map(({ reason }) => reason)).toEqual(Array(2).fill(expect.stringMatching(/reference: its code could not be fetched/)));
  });

  test("is computed as a program", async () => {
    const program = createProgram();
    program.output("y", program.relu(program.input("x", "f32", [4])));
    const plan = await runtime.compile(program);
    expect(plan.selection).toMatchObject({ backend: { name: "wasm" }, reason: expect.stringMatching(/but no other backend can run it$/) });
    expect([...(await plan.run({ x: small }).y!.data())]).toEqual([1, 2, 3, 4]);
  });
});

test("an explicit reference that cannot be loaded is an error", async () => {
  const opened = createRuntime({ backends: [], policy: { force: "reference" } });
  await expect(opened).rejects.toThrow(NotLoadedError);
  await expect(createRuntime({ backends: [] })).rejects.toThrow(UnsupportedError);
  await expect(createRuntime({ backends: [] })).rejects.toThrow(
    /^reference: unsupported: its code could not be fetched \(.*\); check the network$/,
  );
});
