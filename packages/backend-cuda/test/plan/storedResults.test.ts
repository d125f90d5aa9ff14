import { sourceOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type OpRecorder, type Program, reference, type ScalarType, type TypedArray } from "@centella/core";
import { lower, typedArrayOf } from "@centella/core/backend";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { fusion, kernelTable } from "../../src/kernels/index.ts";
import { hopper } from "../../src/kernels/shared/gpu.ts";
import { maxStoredBytes } from "../../src/plan/hostOutputs.ts";
import { planVariant, type VariantPlan, variantSource } from "../../src/plan/variant.ts";
import { PtxEmitter } from "../../src/ptx/emitter.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

let driver: InterpretedDriver;
let backend: CudaBackend;
beforeEach(() => {
  driver = new InterpretedDriver();
  backend = new CudaBackend(driver);
});
afterEach(() => backend.dispose());

type Inputs = Readonly<Record<string, TypedArray>>;

/** Runs with the same persistents on a backend, in order and all queued at once. */
async function outputsOf(on: Backend, record: () => Program, weights: Inputs, runs: readonly Inputs[]): Promise<readonly Inputs[]> {
  const plan = await on.compile(record());
  for (const [name, data] of Object.entries(weights)) await plan.load(name, sourceOf(data));
  await on.idle();
  const tensors = runs.map((inputs) => plan.run(inputs));
  const outputs: Record<string, TypedArray>[] = tensors.map(() => ({}));
  for (const [i, each] of tensors.entries()) for (const [name, tensor] of Object.entries(each)) outputs[i]![name] = await tensor.data();
  return outputs;
}

/** Compares runs with the reference. Returns the copies of graphs to the host. */
async function copiesOf(record: () => Program, runs: readonly Inputs[], weights: Inputs = {}): Promise<number> {
  const want = await outputsOf(await reference().open(), record, weights, runs);
  const before = driver.submitted.fromDevice;
  expect(await outputsOf(backend, record, weights, runs)).toEqual(want);
  return driver.submitted.fromDevice - before;
}

function planOf(program: OpRecorder, dims: Readonly<Record<string, number>> = {}): VariantPlan {
  const lowered = lower(program, "cuda", kernelTable.unsupported, { fusion });
  return planVariant(variantSource(lowered, { gpu: hopper, unitsOf: () => undefined }), dims, new Set());
}

/** Each launch by its op and the regions that it writes. */
function writes({ launches }: VariantPlan): readonly string[] {
  return launches.map(({ op, args }) => {
    const written = args.filter(({ isWritten }) => isWritten);
    return `${op} -> ${written.map(({ region }) => region.kind)}`;
  });
}

const negation = (count: number) => (): Program => {
  const program = createProgram();
  program.output("y", program.neg(program.input("x", "f32", [count])));
  return program;
};

test.each([
  [maxStoredBytes, 0],
  [maxStoredBytes + 4, 3],
])("three runs with results of %i bytes have %i copies to the host", async (bytes, copies) => {
  const runs = [1, 2, 3].map((seed) => ({ x: uniform(seed, bytes / 4) }));
  expect(await copiesOf(negation(bytes / 4), runs)).toBe(copies);
});

test("the sum of all results counts, at the extents of the run", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 1024)]);
  program.output("a", program.neg(x));
  program.output("b", program.relu(x));
  expect(planOf(program, { T: 512 })).toMatchObject({ readbackBytes: 4096, storesResults: true });
  const large = planOf(program, { T: 1024 });
  expect(large.storesResults).toBe(false);
  expect(writes(large).join()).not.toContain("results");
  // Nothing to store.
  expect(planOf(program, { T: 0 })).toMatchObject({ readbackBytes: 0, storesResults: false });
});

describe("what the device reads is in its own memory, and copied by a launch at the end", () => {
  test("results that later steps read", async () => {
    const record = (): Program => {
      const program = createProgram();
      const best = program.argmax(program.input("x", "f32", [3, 50]));
      program.output("best", best);
      program.output("rows", program.embedding(program.input("table", "f32", [50, 5]), best));
      return program;
    };
    expect(writes(planOf(record()))).toEqual(["argmax -> readback", "embedding -> results", "copy -> results"]);
    const runs = [1, 2, 3, 4, 5, 6].map((seed) => ({ x: uniform(seed, 150), table: uniform(seed + 9, 250) }));
    expect(await copiesOf(record, runs)).toBe(0);
  });

  test("results that are outputs on the device as well, before or after", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const [first, last] = [program.neg(x), program.relu(x)];
    program.output("first kept", first, { to: "device" });
    program.output("first", first);
    program.output("last", last);
    program.output("last kept", last, { to: "device" });
    expect(writes(planOf(program))).toEqual(["neg -> readback", "relu -> readback", "copy -> results", "copy -> results"]);
  });

  test("results that their own kernel reads", () => {
    const program = createProgram();
    program.output("y", program.softmax(program.scale(program.input("x", "f32", [3, 50]), { by: 2 })));
    expect(writes(planOf(program))).toEqual(["fused -> readback", "copy -> results"]);
  });

  test("results of an op of the user", () => {
    const program = createProgram();
    const k = new PtxEmitter("k", { x: "f32", y: "f32", dims: "u32" }, 32);
    const launch = { entry: "k", ptx: k.text(), grid: [1, 1, 1], block: [32, 1, 1] } as const;
    const own = {
      name: "own",
      inputs: ["x"],
      infer: ([x]: readonly unknown[]) => x,
      ptx: { launch: () => launch },
      reference: () => undefined,
    };
    program.output("y", program.custom(own as never, [program.input("x", "f32", [4])]));
    expect(writes(planOf(program))).toEqual(["own -> readback", "copy -> results"]);
  });

  test("inputs, views of them, constants, persistents before and after a write, and one value twice", async () => {
    const record = (): Program => {
      const program = createProgram();
      const x = program.input("x", "f32", [program.dim("T", 40), 3]);
      const state = program.persistent("state", { dtype: "f32", shape: [4] });
      program.output("x", x);
      program.output("before", program.neg(state));
      const next = program.assign(state, program.add(state, program.element(x, { index: 0 })));
      program.output("after", next);
      program.output("view", program.reshape(next, { shape: [2, 2] }));
      const y = program.neg(x);
      program.output("once", y);
      program.output("twice", y);
      program.output("constant", program.constant(Float32Array.of(3, 4), "f32", [2]));
      return program;
    };
    const runs = [1, 7, 20, 1, 2, 13].map((rows, seed) => ({ x: uniform(seed, 3 * rows) }));
    expect(await copiesOf(record, runs, { state: uniform(8, 4) })).toBe(0);
  });
});

test("empty results next to others, and between runs that have some", async () => {
  const record = (): Program => {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 8), 5]);
    program.output("none", program.neg(x));
    program.output("same", x);
    program.output("one", program.sum(program.input("z", "f32", [4])));
    return program;
  };
  const runs = [0, 3, 0, 8].map((rows) => ({ x: uniform(rows, 5 * rows), z: Float32Array.of(1, 2, 3, rows) }));
  expect(await copiesOf(record, runs)).toBe(0);
});

const dtypes: readonly ScalarType[] = ["f32", "f16", "bf16", "i32", "u32", "i8", "u8", "bool"];
test.each(dtypes)("results of %s: stored by their kernel, and copied", async (dtype) => {
  const record = (): Program => {
    const program = createProgram();
    const x = program.input("x", dtype, [program.dim("T", 9), 1]);
    program.output("made", program.concat([x, x, x], { axis: 1 }));
    program.output("copied", x);
    program.output("kept", program.persistent("w", { dtype, shape: [3] }));
    return program;
  };
  const values = (length: number): TypedArray => new (typedArrayOf(dtype))(length).map((_: number, i: number) => (i + length) % 2);
  const runs = [1, 2, 3, 5, 9].map((length) => ({ x: values(length) }));
  expect(await copiesOf(record, runs, { w: values(3) })).toBe(0);
});
