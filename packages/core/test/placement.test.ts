import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { random, sourceOf, uniform } from "../../conformance/src/headless.ts";
import { randomProgram } from "../../conformance/src/programs/random.ts";
import { expectOutputs, runAll, runOnce } from "../../conformance/src/programs/scenario.ts";
import type { Backend } from "../src/backend/backend.ts";
import {
  ArgumentError,
  type BackendFactory,
  createProgram,
  createRuntime,
  type Placement,
  type Plan,
  type Program,
  type Runtime,
  reference,
} from "../src/index.ts";
import { splitByPlacement } from "../src/runtime/placement.ts";
import { fakeFactory } from "./support/fakeBackend.ts";

let runtime: Runtime;
let backends: Readonly<Record<string, Backend>>;
/** The reference under another name. */
const named = (name: string): BackendFactory => ({ name, open: async () => Object.assign(await reference().open(), { name }) });

beforeEach(async () => {
  runtime = await createRuntime({ backends: [named("far"), named("near")] });
  backends = Object.fromEntries(runtime.backends.map((backend) => [backend.name, backend]));
});
afterEach(() => runtime.dispose());

const f32 = (...shape: number[]) => ({ dtype: "f32", shape }) as const;

/** A program of layers `tanh(x w)` with a residual, each with a state that counts its runs. */
function layers(count: number): Program {
  const program = createProgram();
  let x = program.input("x", "f32", [program.dim("T", 4), 3]);
  for (let layer = 0; layer < count; layer++) {
    const state = program.persistent(`state.${layer}`, f32(3), { init: "zeros" });
    const next = program.assign(state, program.add(state, program.constant(Float32Array.of(0.125), "f32", [])));
    x = program.add(x, program.tanh(program.add(program.matmul(x, program.persistent(`w.${layer}`, f32(3, 3))), next)));
  }
  program.output("y", program.softmax(x));
  return program;
}

const layerDevices = (count: number, deviceOf: (layer: number) => string): Placement =>
  Object.fromEntries(
    Array.from({ length: count }, (_, layer) => [`w.${layer}`, `state.${layer}`].map((name) => [name, deviceOf(layer)] as const)).flat(),
  );

async function loadAll(plan: Plan, count: number): Promise<void> {
  for (let layer = 0; layer < count; layer++) await plan.load(`w.${layer}`, sourceOf(uniform(layer, 9)));
}

describe("a placed program", () => {
  test("is cut where the device changes, and reports the parts", () => {
    const program = layers(3);
    const placement = layerDevices(3, (layer) => (layer === 1 ? "far" : "near"));
    expect(program.explain({ placement, backends: [backends.near!, backends.far!] })).toMatchInlineSnapshot(`
      "3 parts, 2 cuts, 96 bytes moved between backends at most
      part 1 on near
      5 steps on near, from 8 recorded ops
      input x: f32 [T≤4, 3]
      persistent state.0: f32 [3], zeros
      persistent w.0: f32 [3, 3], load
      persistent state.2: f32 [3], zeros
      persistent w.2: f32 [3, 3], load
      %3: f32 [3] = add(state.0, 0.125)  (3 flops, 28 bytes, in buffer 0)
      state.0'1: f32 [3] = assign(state.0, %3)  (0 flops, 24 bytes, in state.0)
      %9: f32 [T≤4, 3] = fused(x, w.0, state.0'1)  (108 flops, 144 bytes, in buffer 0)
        .0 = matmul(x, w.0, transposeA: false, transposeB: false, activations: "f32")
        .1 = add(.0, state.0'1)
        .2 = tanh(.1)
        .3 = add(x, .2)
      %21: f32 [3] = add(state.2, 0.125)  (3 flops, 28 bytes, in buffer 1)
      state.2'1: f32 [3] = assign(state.2, %21)  (0 flops, 24 bytes, in state.2)
      output %9 host: %9 to the host
      in all: 114 flops, 248 bytes, 2 buffers of 60 bytes for 72 bytes of temporaries

      part 2 on far
      %9: f32 [T≤4, 3] of part 1 from near to far, 48 bytes
      3 steps on far, from 6 recorded ops
      input %9 host: f32 [T≤4, 3]
      persistent state.1: f32 [3], zeros
      persistent w.1: f32 [3, 3], load
      %12: f32 [3] = add(state.1, 0.125)  (3 flops, 28 bytes, in buffer 0)
      state.1'1: f32 [3] = assign(state.1, %12)  (0 flops, 24 bytes, in state.1)
      %18: f32 [T≤4, 3] = fused(%9 host, w.1, state.1'1)  (108 flops, 144 bytes, in buffer 0)
        .0 = matmul(%9 host, w.1, transposeA: false, transposeB: false, activations: "f32")
        .1 = add(.0, state.1'1)
        .2 = tanh(.1)
        .3 = add(%9 host, .2)
      output %18 host: %18 to the host
      in all: 111 flops, 196 bytes, 1 buffers of 48 bytes for 60 bytes of temporaries

      part 3 on near
      %18: f32 [T≤4, 3] of part 2 from far to near, 48 bytes
      2 steps on near, from 5 recorded ops
      input %18 host: f32 [T≤4, 3]
      persistent w.2: f32 [3, 3], load
      persistent state.2: f32 [3], zeros
      %27: f32 [T≤4, 3] = fused(%18 host, w.2, state.2'1)  (108 flops, 144 bytes, in buffer 0)
        .0 = matmul(%18 host, w.2, transposeA: false, transposeB: false, activations: "f32")
        .1 = add(.0, state.2'1)
        .2 = tanh(.1)
        .3 = add(%18 host, .2)
      %28: f32 [T≤4, 3] = softmax(%27, axis: -1)  (60 flops, 96 bytes, in buffer 1)
      output y: %28 to the host
      in all: 168 flops, 240 bytes, 2 buffers of 96 bytes for 96 bytes of temporaries
      "
    `);
  });

  test("computes the same as on one backend, run after run", async () => {
    const program = layers(5);
    const placed = await runtime.compile(program, { placement: layerDevices(5, (layer) => (layer % 2 === 0 ? "near" : "far")) });
    const whole = await backends.reference!.compile(program);
    await loadAll(placed, 5);
    await loadAll(whole, 5);
    expect(placed.selection.reason).toBe("placed on near, far");
    for (const rows of [4, 1, 0, 2]) {
      const inputs = { x: uniform(rows, 3 * rows) };
      const [got, want] = [await runOnce(placed, inputs), await runOnce(whole, inputs)];
      expect(got).toEqual(want);
    }
    expect(await placed.save("state.1")).toEqual(await whole.save("state.1"));
    placed.reset("state.1");
    expect(await placed.save("state.1")).toEqual(new Float32Array(3));
    expect(placed.program).toBe(program);
    placed.dispose();
    expect(() => placed.run({ x: new Float32Array(3) })).toThrow(/plan: used after dispose/);
  });

  test("frees tensors that went from part to part", async () => {
    const plan = await runtime.compile(layers(3), { placement: layerDevices(3, (layer) => (layer === 1 ? "far" : "near")) });
    await loadAll(plan, 3);
    const { y } = plan.run({ x: uniform(1, 6) });
    await y!.data();
    y!.dispose();
    for (const { name } of runtime.backends) await expect.poll(() => backends[name]!.memory().tensors).toBe(0);
  });

  test("a persistent that is read elsewhere is read before it is written", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const state = program.persistent("state", f32(4), { init: "zeros" });
    const large = program.persistent("large", f32(9, 4), { init: "zeros" });
    // Computed on the device of the larger tensor. The state's old content has to get there before the write.
    const before = program.add(large, program.reshape(state, { shape: [1, 4] }));
    const direct = program.sub(large, state);
    const after = program.assign(state, program.scale(x, { by: 2 }));
    program.output("before", before);
    program.output("direct", direct);
    program.output("after", program.add(large, after));
    program.output("state", after);
    const plan = await runtime.compile(program, { placement: { state: "near", large: "far" } });
    const parts = splitByPlacement(program, { state: "near", large: "far" }, "near");
    expect(parts.map(({ device }) => device)).toEqual(["near", "far", "near", "far"]);
    for (const [value, old] of [
      [1, 0],
      [3, 2],
    ] as const) {
      const outputs = await runOnce(plan, { x: new Float32Array(4).fill(value) });
      expect(new Set(outputs.before!.data)).toEqual(new Set([old]));
      expect(new Set(outputs.direct!.data)).toEqual(new Set([-old]));
      expect(new Set(outputs.after!.data)).toEqual(new Set([2 * value]));
      expect([...outputs.state!.data]).toEqual(new Array(4).fill(2 * value));
    }
  });

  test("a view of a persistent is recreated on the device of a later part that reads it", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const near = program.persistent("near", f32(2, 2));
    const far = program.persistent("far", f32(4));
    const flat = program.reshape(program.reshape(near, { shape: [1, 4] }), { shape: [4] });
    const first = program.add(x, flat);
    program.output("y", program.add(program.mul(first, far), flat));
    const placement = { near: "near", far: "far" };
    const parts = splitByPlacement(program, placement, "near");
    expect(parts.map(({ device, cuts }) => [device, cuts.length])).toEqual([
      ["near", 0],
      ["far", 1],
      ["near", 1],
    ]);
    const plan = await runtime.compile(program, { placement });
    await plan.load("near", sourceOf(Float32Array.of(1, 2, 3, 4)));
    await plan.load("far", sourceOf(Float32Array.of(1, 0, 1, 0)));
    expect([...(await runOnce(plan, { x: Float32Array.of(1, 1, 1, 1) })).y!.data]).toEqual([3, 2, 7, 4]);
  });

  test("a weight that no op writes may be on several backends, and does not decide the device", async () => {
    const program = createProgram();
    let x = program.input("x", "f32", [2]);
    const shared = program.persistent("shared", f32(2));
    for (const name of ["near", "far", "again"]) {
      x = program.mul(program.add(x, program.reshape(shared, { shape: [2] })), program.persistent(name, f32(2)));
    }
    program.output("y", program.add(x, shared));
    const placement = { shared: ["far", "near"], near: "near", far: "far", again: "near" };
    const parts = splitByPlacement(program, placement, "near");
    expect(parts.map(({ device, program: { nodes } }) => [device, nodes.filter(({ op }) => op.alias !== true).length])).toEqual([
      ["near", 3],
      ["far", 2],
      ["near", 2],
    ]);
    const plan = await runtime.compile(program, { placement });
    const progress: number[] = [];
    await plan.load("shared", sourceOf(Float32Array.of(1, 2)), { onProgress: (done) => progress.push(done) });
    expect(progress.at(-1)).toBe(8);
    for (const name of ["near", "far", "again"]) await plan.load(name, sourceOf(Float32Array.of(2, 3)));
    expect([...(await runOnce(plan, { x: Float32Array.of(1, 1) })).y!.data]).toEqual([23, 107]);
    expect([...(await plan.save("shared"))]).toEqual([1, 2]);
    const written = layers(1);
    await expect(runtime.compile(written, { placement: { "state.0": ["near", "far"] } })).rejects.toThrow(
      /one device for state.0, which assign writes/,
    );
    await expect(runtime.compile(written, { placement: { "w.0": [] } })).rejects.toThrow(/a device for w.0, got none/);
  });

  test("with one device is that backend's plan; an unused persistent is only held", async () => {
    const program = layers(1);
    program.persistent("unused", f32(2));
    const plan = await runtime.compile(program, { placement: layerDevices(1, () => "far") });
    await plan.load("unused", sourceOf(Float32Array.of(1, 2)));
    expect([...(await plan.save("unused"))]).toEqual([1, 2]);
    const apart = await runtime.compile(program, { placement: { unused: "near", ...layerDevices(1, () => "far") } });
    await loadAll(apart, 1);
    await apart.load("unused", sourceOf(Float32Array.of(3, 4)));
    await runOnce(apart, { x: uniform(1, 3) });
    expect([...(await apart.save("unused"))]).toEqual([3, 4]);
  });

  test("calls without persistents run on the device of their inputs, or of their consumers", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [2]);
    const prepared = program.tanh(x);
    const y = program.relu(program.add(prepared, program.persistent("w", f32(2))));
    program.output("y", y);
    program.output("sum", program.sum(x));
    const parts = splitByPlacement(program, { w: "far" }, "near");
    expect(parts.map(({ device, program: { nodes } }) => [device, nodes.map(({ op }) => op.name)])).toEqual([
      ["far", ["tanh", "add", "relu"]],
      ["near", ["sum"]],
    ]);
  });

  test("can run within the call if every device can", async () => {
    const program = layers(2);
    const plan = await runtime.compile(program, { placement: layerDevices(2, (layer) => ["near", "far"][layer]!) });
    await loadAll(plan, 2);
    const x = uniform(1, 12);
    const first = plan.runSync!({ x }).y;
    for (const layer of [0, 1]) plan.reset(`state.${layer}`);
    expect((await runOnce(plan, { x })).y!.data).toEqual(first);
    await using slow = await createRuntime({ backends: [fakeFactory({ name: "slow" })] });
    expect((await slow.compile(program, { placement: layerDevices(2, (layer) => ["reference", "slow"][layer]!) })).runSync).toBeUndefined();
  });

  test("a failure in one part rejects reads of the outputs, and the next run succeeds", async () => {
    const plan = await runtime.compile(layers(2), { placement: layerDevices(2, (layer) => ["near", "far"][layer]!) });
    await loadAll(plan, 2);
    const controller = new AbortController();
    const { y } = plan.run({ x: uniform(1, 3) }, { signal: controller.signal });
    controller.abort(new Error("the user left"));
    await expect(y!.data()).rejects.toThrow(/the user left/);
    expect((await runOnce(plan, { x: uniform(1, 3) })).y!.data.length).toBe(3);
  });

  test("shares its memory on every device with programs that are compiled with it", async () => {
    const plan = await runtime.compile(layers(3), { placement: layerDevices(3, (layer) => (layer === 1 ? "far" : "near")) });
    await loadAll(plan, 3);
    await runOnce(plan, { x: uniform(1, 3) });
    const reader = createProgram();
    for (const layer of [0, 1, 2]) {
      const state = reader.persistent(`state.${layer}`, f32(3), { init: "zeros" });
      reader.output(`state.${layer}`, reader.scale(state, { by: 2 }));
    }
    const shared = await runtime.compile(reader, { shareWith: plan });
    const states = await runOnce(shared, {});
    for (const layer of [0, 1, 2]) expect([...states[`state.${layer}`]!.data]).toEqual([0.25, 0.25, 0.25]);
    const one = createProgram();
    one.assign(one.persistent("state.1", f32(3), { init: "zeros" }), one.input("x", "f32", [3]));
    const writer = await runtime.compile(one, { shareWith: plan });
    writer.run({ x: Float32Array.of(4, 5, 6) });
    expect([...(await plan.save("state.1"))]).toEqual([4, 5, 6]);
    expect(shared.selection.reason).toBe("placed as what it shares");
  });

  test("is not profiled, and says why", async () => {
    const plan = await runtime.compile(layers(2), { placement: layerDevices(2, (layer) => (layer === 0 ? "far" : "near")) });
    await expect(plan.profile({ x: new Float32Array(3) })).rejects.toThrow(
      "profile: unsupported: the plan has parts on far, near; compile the program for one of them",
    );
    plan.dispose();
  });

  test("refuses wrong placements with the reason", async () => {
    const program = layers(2);
    await expect(runtime.compile(program, { placement: { "w.0": "moon" } })).rejects.toThrow(
      /placement: expected devices among the open backends far, near, reference, got moon/,
    );
    await expect(runtime.compile(program, { placement: { nothing: "near" } })).rejects.toThrow(
      /names of persistents of the program, got nothing/,
    );
    const whole = await runtime.compile(program);
    await expect(runtime.compile(program, { placement: {}, shareWith: whole })).rejects.toThrow(ArgumentError);
    await using forced = await createRuntime({ backends: [], policy: { force: "reference" } });
    await expect(forced.compile(program, { placement: { "w.0": "wasm" } })).rejects.toThrow(
      /expected reference alone, which is forced, got wasm/,
    );
    const poor = { name: "poor", unsupported: ({ name }: { name: string }) => (name === "tanh" ? "no tanh" : undefined) };
    const placement = layerDevices(2, (layer) => ["near", "poor"][layer]!);
    expect(() => program.explain({ placement, backends: [backends.near!, poor] })).toThrow(/poor: tanh: unsupported: no tanh/);
    expect(() => program.explain({ placement: { "w.0": "moon" }, backends: [backends.near!] })).toThrow(ArgumentError);
    const placed = await runtime.compile(program, { placement: layerDevices(2, (layer) => ["near", "far"][layer]!) });
    expect(() => placed.run({ x: uniform(1, 3) })).toThrow(/every weight to be loaded/);
    expect(() => placed.run({ z: uniform(1, 3) })).toThrow(/inputs among \{x\}, got z/);
    await expect(placed.load("nothing", sourceOf(new Float32Array(1)))).rejects.toThrow(/a persistent of the program, got nothing/);
  });
});

test.each(Array.from({ length: 40 }, (_, i) => 5000 + i))("random programs, placed at random, seed %i", async (seed) => {
  const { program, weights, runs, tolerance } = randomProgram(seed);
  const next = random(seed);
  const names = [...program.persistents.keys()];
  const placement = Object.fromEntries(names.map((name) => [name, ["near", "far", "reference"][Math.floor(3 * next())]!]));
  const plan = await runtime.compile(program, { placement });
  for (const [name, stored] of Object.entries(weights)) await plan.load(name, sourceOf(stored));
  const want = await runAll(await reference({ optimize: false }).open(), program, weights, runs);
  for (const [i, { inputs, dims }] of runs.entries()) {
    expectOutputs(`placed program ${seed}, run ${i}`, await runOnce(plan, inputs, dims), want[i]!, tolerance);
  }
});
