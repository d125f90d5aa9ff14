import { type Backend, createProgram, DisposedError, DTypeError, type Program, ShapeError } from "@centella/core";
import { named } from "@centella/quant/checks";
import { expectEqual, expectRejection } from "../compare.ts";
import { type ConformanceTest, compileOrSkip, programTest } from "../conformanceTest.ts";
import { sourceOf } from "../sources.ts";
import { runOnce, withPlan } from "./scenario.ts";

function sum(): Program {
  const program = createProgram();
  program.output("y", program.add(program.input("x", "f32", [4]), program.persistent("w", { dtype: "f32", shape: [4] })));
  return program;
}

const w = Float32Array.of(10, 20, 30, 40);
const x = Float32Array.of(1, 2, 3, 4);
const y = Float32Array.of(11, 22, 33, 44);

async function abort(backend: Backend): Promise<void> {
  await withPlan(backend, sum(), { w }, async (plan) => {
    const reason = new Error("the user left");
    const read = async (signal: AbortSignal, meanwhile: () => void = () => undefined) => {
      using output = named(plan.run({ x }, { signal }), "y");
      meanwhile();
      return await output.data();
    };
    await expectRejection("a run with an aborted signal", () => read(AbortSignal.abort(reason)), Error, /the user left/);
    expectEqual(`${backend.name}: the run after an aborted one`, named(await runOnce(plan, { x }), "y").data, y);
    using ahead = named(plan.run({ x }), "y");
    const controller = new AbortController();
    await expectRejection(
      "a queued run that is aborted",
      () => read(controller.signal, () => controller.abort(reason)),
      Error,
      /the user left/,
    );
    expectEqual(`${backend.name}: the run before an aborted one`, await ahead.data(), y);
    expectEqual(`${backend.name}: the run after a queued one was aborted`, named(await runOnce(plan, { x }), "y").data, y);
    expectEqual(`${backend.name}: a run whose signal stays`, await read(new AbortController().signal), y);
  });
}

/** A failing input fails the run's outputs and nothing else. */
async function failedInput(backend: Backend): Promise<void> {
  await withPlan(backend, sum(), { w }, async (plan) => {
    const controller = new AbortController();
    using ahead = named(plan.run({ x }), "y");
    using aborted = named(plan.run({ x }, { signal: controller.signal }), "y");
    using dependent = named(plan.run({ x: aborted }), "y");
    controller.abort(new Error("the user left"));
    await expectRejection("the output of a run on a failed input", () => dependent.data(), Error);
    await expectRejection("waiting for it", () => dependent.ready(), Error);
    await ahead.ready();
    expectEqual(`${backend.name}: the run after`, named(await runOnce(plan, { x }), "y").data, y);
  });
}

async function disposed(backend: Backend): Promise<void> {
  const plan = await compileOrSkip(backend, sum());
  await plan.load("w", sourceOf(w));
  const output = named(plan.run({ x }), "y");
  const copy = await output.data();
  copy.fill(0);
  expectEqual(`${backend.name}: data() is the caller's own copy`, await output.data(), y);
  output.dispose();
  output.dispose();
  await expectRejection("data() of a disposed tensor", () => output.data(), DisposedError);
  await expectRejection("a disposed tensor as an input", () => plan.run({ x: output }), DisposedError);
  const late = named(plan.run({ x }), "y");
  plan.dispose();
  plan.dispose();
  expectEqual(`${backend.name}: queued before plan.dispose()`, await late.data(), y);
  late.dispose();
  await expectRejection("run of a disposed plan", () => plan.run({ x }), DisposedError);
  await expectRejection("load of a disposed plan", () => plan.load("w", sourceOf(w)), DisposedError);
  await expectRejection("save of a disposed plan", () => plan.save("w"), DisposedError);
}

/** The inputs of `run` belong to the caller again as soon as it returns. */
async function inputsAreTaken(backend: Backend): Promise<void> {
  await withPlan(backend, sum(), { w }, async (plan) => {
    const mine = x.slice();
    using first = named(plan.run({ x: mine }), "y");
    mine.fill(100);
    using second = named(plan.run({ x: mine }), "y");
    mine.fill(0);
    expectEqual(`${backend.name}: input changed after run()`, await first.data(), y);
    expectEqual(
      `${backend.name}: the next run`,
      await second.data(),
      w.map((v) => v + 100),
    );
  });
}

/** Results of any place can be written to an array of the caller, as often as it likes. */
async function intoArrays(backend: Backend): Promise<void> {
  for (const to of ["host", "device"] as const) {
    const program = createProgram();
    program.output("y", program.add(program.input("x", "f32", [4]), program.input("w", "f32", [4])), { to });
    await withPlan(backend, program, {}, async (plan) => {
      using output = named(plan.run({ x, w }), "y");
      const target = new Float32Array(6).fill(7);
      const place = target.subarray(1, 5);
      await output.readInto(place);
      await output.readInto(place);
      expectEqual(`${backend.name}: readInto() of a result on the ${to}`, target, Float32Array.of(7, ...y, 7));
      await expectRejection("readInto() of a shorter array", () => output.readInto(place.subarray(1)), ShapeError, /readInto: expected 4/);
      await expectRejection(
        "readInto() of another type",
        () => output.readInto(new Int32Array(4)),
        DTypeError,
        /readInto: expected Float32/,
      );
    });
  }
}

export const lifetime: readonly ConformanceTest[] = [
  programTest("aborted runs", abort),
  programTest("a run on a failed input", failedInput),
  programTest("dispose, twice, and use afterwards", disposed),
  programTest("inputs may be changed after run()", inputsAreTaken),
  programTest("results into arrays of the caller", intoArrays),
];
