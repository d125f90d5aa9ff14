import {
  ArgumentError,
  type Backend,
  createProgram,
  type InputData,
  type Plan,
  type Profile,
  type Program,
  UnsupportedError,
} from "@centella/core";
import { explain, hostTensor } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { expectEqual, expectRejection, expectThat } from "../compare.ts";
import { type ConformanceTest, NotApplicable, programTest } from "../conformanceTest.ts";
import { runOnce, withPlan } from "./scenario.ts";

/** A layer with a fused chain, a view, a reduction and a counter of runs. */
function layer(): Program {
  const program = createProgram();
  const T = program.dim("T", 8);
  const x = program.input("x", "f32", [T, 4]);
  const w = program.persistent("w", { dtype: "f32", shape: [3, 4] });
  const product = program.relu(program.matmul(x, w, { transposeB: true }));
  program.output("flat", program.softmax(program.reshape(program.scale(product, { by: 2 }), { shape: [T, 1, 3] })), { to: "device" });
  program.output("sum", program.sum(product));
  const count = program.persistent("count", { dtype: "f32", shape: [1] }, { init: "zeros" });
  program.output("count", program.assign(count, program.add(count, program.constant(Float32Array.of(1), "f32", [1]))));
  return program;
}

const w = Float32Array.from({ length: 12 }, (_, i) => i);
const x = Float32Array.of(1, 0, 0, 0, 0, 1, 0, 0);

/** Names and ops of the steps that `explain` lists. */
function listedSteps(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const [, results, op] = /^(\S.*) = (\w+)\(.*\) {2}\((?!view\))/.exec(line) ?? [];
    if (results === undefined || op === undefined) return [];
    const names = [...results.matchAll(/(\S+): /g)].map(([, name]) => name).join(", ");
    return [`${names} = ${op}`];
  });
}

/** @throws {NotApplicable} where the device has no timestamps */
async function profileOrSkip(plan: Plan, inputs: Readonly<Record<string, InputData>>): Promise<Profile> {
  try {
    return await plan.profile(inputs);
  } catch (error) {
    if (error instanceof UnsupportedError) throw new NotApplicable(error.message);
    throw error;
  }
}

function checkTimes({ steps, total }: Profile): void {
  for (const { name, microseconds } of steps)
    expectThat(Number.isFinite(microseconds) && microseconds >= 0, `${name}: expected a time from 0, got ${microseconds} µs`);
  const sum = steps.reduce((so, { microseconds }) => so + microseconds, 0);
  expectThat(Math.abs(sum - total) <= 1e-6 * sum, `total: expected ${sum} µs, the sum of the steps, got ${total} µs`);
}

async function steps(backend: Backend): Promise<void> {
  const program = layer();
  await withPlan(backend, program, { w }, async (plan) => {
    const profile = await profileOrSkip(plan, { x });
    const got = profile.steps.map(({ name, op }) => `${name} = ${op}`);
    const listed = listedSteps(explain(program, backend));
    expectThat(listed.length > 0 && got.join("; ") === listed.join("; "), `steps: expected ${listed.join("; ")}, got ${got.join("; ")}`);
    checkTimes(profile);
    for (const { name, launches } of profile.steps) {
      if (backend.device.kind === "cpu") expectThat(launches === undefined, `${name}: expected no launches on a CPU, got ${launches}`);
      else expectThat(launches !== undefined && launches > 0, `${name}: expected launches, got ${launches}`);
    }
  });
}

/** A profile is a run: in its turn, with its inputs as at the call, and with its effects on persistents. */
async function effects(backend: Backend): Promise<void> {
  await withPlan(backend, layer(), { w }, async (plan) => {
    const first = runOnce(plan, { x });
    const given = x.slice();
    const profiled = profileOrSkip(plan, { x: given });
    given.fill(Number.NaN);
    const third = runOnce(plan, { x });
    checkTimes(await profiled);
    expectEqual(`${backend.name}: runs before`, named(await first, "count").data, [1]);
    const after = await third;
    expectEqual(`${backend.name}: runs before and the profile`, named(after, "count").data, [3]);
    expectEqual(`${backend.name}: sum`, named(after, "sum").data, named(await first, "sum").data);
    expectEqual(`${backend.name}: runs in all`, named(await runOnce(plan, { x }), "count").data, [4]);
  });
}

/** Without timers between the steps: one time of the run. */
async function wholeRun(backend: Backend): Promise<void> {
  await withPlan(backend, layer(), { w }, async (plan) => {
    await profileOrSkip(plan, { x });
    const { steps: none, total } = await plan.profile({ x }, { perStep: false });
    expectThat(none.length === 0, `steps: expected none, got ${none.length}`);
    expectThat(Number.isFinite(total) && total >= 0, `total: expected a time from 0, got ${total} µs`);
    expectEqual(`${backend.name}: runs in all`, named(await runOnce(plan, { x }), "count").data, [3]);
    await expectRejection("a wrong option", () => plan.profile({ x }, { perStep: 1 as never }), ArgumentError, /profile: expected perStep/);
  });
}

/** The driver's copies, on devices with memory of their own. */
async function copies(backend: Backend): Promise<void> {
  if (backend.timeCopies === undefined) return;
  using tensor = backend.upload({ dtype: "f32", shape: [8] }, x);
  const time = await backend.timeCopies(tensor, 3);
  expectThat(Number.isFinite(time) && time > 0, `${backend.name}: expected a time, got ${time} µs`);
  const elsewhere = hostTensor({ dtype: "f32", shape: [8] }, x);
  await expectRejection(
    "a tensor of another backend",
    () => backend.timeCopies!(elsewhere, 1),
    ArgumentError,
    /timeCopies: expected a tensor/,
  );
}

/** Inputs that are tensors, and extents of 0. */
async function tensors(backend: Backend): Promise<void> {
  await withPlan(backend, layer(), { w }, async (plan) => {
    using tensor = backend.upload({ dtype: "f32", shape: [2, 4] }, x);
    checkTimes(await profileOrSkip(plan, { x: tensor }));
    checkTimes(await profileOrSkip(plan, { x: new Float32Array(0) }));
    expectEqual(`${backend.name}: runs in all`, named(await runOnce(plan, { x: tensor }), "count").data, [3]);
  });
}

export const profiles: readonly ConformanceTest[] = [
  programTest("profile: the steps that explain lists", steps),
  programTest("profile: effects of a run", effects),
  programTest("profile: tensors as inputs, and no rows", tensors),
  programTest("profile: whole runs", wholeRun),
  programTest("profile: the driver's copies", copies),
];
