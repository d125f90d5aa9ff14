import { type Backend, createProgram, createRuntime, type Program } from "@centella/core";
import { hostTensor } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { expectEqual, expectThat } from "../compare.ts";
import { type ConformanceTest, compileOrSkip, programTest } from "../conformanceTest.ts";
import { uniform } from "../data.ts";
import { expectLikeReference, runOnce, withPlan } from "./scenario.ts";

const f32 = (...shape: number[]) => ({ dtype: "f32", shape }) as const;

/** relu(x w + b), with two outputs and two inputs so that transfers can be merged. */
function layer(): Program {
  const program = createProgram();
  const x = program.input("x", "f32", [5, 12]);
  const b = program.input("b", "f32", [7]);
  const w = program.persistent("w", f32(12, 7));
  const sum = program.add(program.matmul(x, w), b);
  program.output("sum", sum);
  program.output("y", program.relu(sum));
  return program;
}

const weights = { w: uniform(1, 84) };
const inputs = (seed: number) => ({ x: uniform(seed, 60), b: uniform(seed + 1, 7) });

async function oneOfEach(backend: Backend): Promise<void> {
  await withPlan(backend, layer(), weights, async (plan) => {
    for (const seed of [10, 20, 30]) {
      const { uploads, submits, readbacks } = backend.counters;
      await runOnce(plan, inputs(seed));
      const { counters } = backend;
      expectThat(counters.submits - submits === 1, `${backend.name}: expected one submit per run, got ${counters.submits - submits}`);
      if (backend.device.kind === "cpu") continue;
      expectThat(counters.uploads - uploads === 1, `${backend.name}: expected one upload per run, got ${counters.uploads - uploads}`);
      expectThat(
        counters.readbacks - readbacks === 1,
        `${backend.name}: expected one readback per run, got ${counters.readbacks - readbacks}`,
      );
    }
  });
  await expectLikeReference(
    "layer",
    backend,
    layer(),
    weights,
    [10, 20, 30].map((seed) => ({ inputs: inputs(seed) })),
  );
}

async function outputsSurvive(backend: Backend): Promise<void> {
  const [first, want] = await withPlan(backend, layer(), weights, async (plan) => {
    const alone = await runOnce(plan, inputs(10));
    const outputs = plan.run(inputs(10));
    for (const seed of [20, 30, 40]) await runOnce(plan, inputs(seed));
    return [outputs, alone];
  });
  using y = named(first, "y");
  using sum = named(first, "sum");
  expectEqual(`${backend.name}: y after other runs and plan.dispose()`, await y.data(), named(want, "y").data);
  expectEqual(`${backend.name}: sum, read twice`, await sum.data(), await sum.data());
}

async function deviceOutputs(backend: Backend): Promise<void> {
  const first = createProgram();
  const a = first.input("a", "f32", [first.dim("T", 9), 4]);
  first.output("b", first.scale(a, { by: 2 }), { to: "device" });
  const second = createProgram();
  const b = second.input("b", "f32", [second.dim("N", 16), 4]);
  second.output("c", second.add(b, b));
  const data = uniform(3, 12);
  await withPlan(backend, first, {}, (p) =>
    withPlan(backend, second, {}, async (q) => {
      using mid = named(p.run({ a: data }), "b");
      using uploaded = backend.upload(f32(3, 4), data);
      const got = await runOnce(q, { b: mid });
      expectThat(named(got, "c").spec.shape[0] === 3, "the dim N was not taken from the tensor");
      expectEqual(
        `${backend.name}: device output as an input`,
        named(got, "c").data,
        data.map((x) => 4 * x),
      );
      expectEqual(
        `${backend.name}: uploaded tensor as an input`,
        named(await runOnce(q, { b: uploaded }), "c").data,
        data.map((x) => 2 * x),
      );
      expectEqual(
        `${backend.name}: host tensor as an input`,
        named(await runOnce(q, { b: hostTensor(f32(3, 4), data) }), "c").data,
        data.map((x) => 2 * x),
      );
      expectEqual(
        `${backend.name}: the tensor itself`,
        await mid.data(),
        data.map((x) => 2 * x),
      );
      const early = named(p.run({ a: data }), "b");
      const later = named(q.run({ b: early }), "c");
      early.dispose();
      expectEqual(
        `${backend.name}: input disposed right after run()`,
        await later.data(),
        data.map((x) => 4 * x),
      );
      later.dispose();
    }),
  );
}

async function eagerCalls(backend: Backend): Promise<void> {
  const { name } = backend;
  const runtime = await createRuntime({ backends: [{ name, open: async () => backend }], policy: { force: name } });
  const x = uniform(4, 6);
  const tensor = runtime.tensor(x, [2, 3]);
  using doubled = await runtime.scale(tensor, { by: 2 });
  using sum = await runtime.add(doubled, tensor);
  using flat = await runtime.reshape(sum, { shape: [6] });
  using relu = await runtime.relu(flat);
  expectEqual(
    `${backend.name}: eager chain`,
    await relu.data(),
    x.map((v) => Math.max(0, Math.fround(2 * v) + v)),
  );
}

async function passedThrough(backend: Backend): Promise<void> {
  const program = createProgram();
  const x = program.input("x", "f32", [5]);
  const w = program.persistent("w", f32(3));
  program.output("x", x);
  program.output("again", x);
  program.output("w", w);
  program.output("constant", program.constant(Int32Array.of(7, -8), "i32", [2]));
  program.output("view", program.reshape(x, { shape: [5, 1] }), { to: "device" });
  const weight = uniform(5, 3);
  const data = uniform(6, 5);
  await withPlan(backend, program, { w: weight }, async (plan) => {
    const got = await runOnce(plan, { x: data });
    expectEqual(`${backend.name}: input as an output`, named(got, "x").data, data);
    expectEqual(`${backend.name}: the same input again`, named(got, "again").data, data);
    expectEqual(`${backend.name}: persistent as an output`, named(got, "w").data, weight);
    expectEqual(`${backend.name}: constant as an output`, named(got, "constant").data, [7, -8]);
    expectEqual(`${backend.name}: view of an input as an output`, named(got, "view").data, data);
  });
}

async function deadCode(backend: Backend): Promise<void> {
  const program = createProgram();
  const x = program.input("x", "f32", [4]);
  const state = program.persistent("state", f32(4), { init: "zeros" });
  program.tanh(x);
  program.assign(state, x);
  program.output("y", program.relu(x));
  const data = uniform(7, 4);
  await withPlan(backend, program, {}, async (plan) => {
    const before = backend.counters.ops.tanh ?? 0;
    await runOnce(plan, { x: data });
    expectThat((backend.counters.ops.tanh ?? 0) === before, `${backend.name}: an op that nothing depends on was executed`);
    expectEqual(`${backend.name}: write without an output`, await plan.save("state"), data);
  });
}

async function sync(backend: Backend): Promise<void> {
  const plan = await compileOrSkip(backend, onlyInputs());
  try {
    expectThat(backend.syncAvailable === (plan.runSync !== undefined), `${backend.name}: runSync and syncAvailable disagree`);
    if (plan.runSync === undefined) return;
    const x = uniform(8, 6);
    expectEqual(
      `${backend.name}: runSync`,
      named(plan.runSync({ x }), "y"),
      x.map((v) => Math.max(0, v)),
    );
    expectEqual(
      `${backend.name}: run after runSync`,
      named(await runOnce(plan, { x }), "y").data,
      x.map((v) => Math.max(0, v)),
    );
  } finally {
    plan.dispose();
  }
}

function onlyInputs(): Program {
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [6])));
  return program;
}

/** A value that many ops read while memory is reused. Detects wrong lifetimes. */
async function longLived(backend: Backend): Promise<void> {
  const program = createProgram();
  const x = program.input("x", "f32", [3, 33]);
  const early = program.scale(x, { by: 0.5 });
  let y = program.sigmoid(x);
  for (let i = 0; i < 12; i++) y = i % 3 === 2 ? program.mul(y, early) : program.add(program.tanh(y), x);
  program.output("y", program.add(y, early));
  program.output("early", early);
  await expectLikeReference("long chain", backend, program, {}, [{ inputs: { x: uniform(9, 99) } }, { inputs: { x: uniform(10, 99) } }]);
}

export const basics: readonly ConformanceTest[] = [
  programTest("relu(x w + b), compiled once, run three times: one upload, submit and readback each", oneOfEach),
  programTest("outputs survive later runs and the plan", outputsSurvive),
  programTest("tensors as inputs: of another plan, uploaded, of the host", deviceOutputs),
  programTest("eager calls", eagerCalls),
  programTest("inputs, constants, persistents and views as outputs", passedThrough),
  programTest("dead code is dropped, writes are kept", deadCode),
  programTest("runSync where there is one", sync),
  programTest("memory of temporaries is not reused too early", longLived),
];
