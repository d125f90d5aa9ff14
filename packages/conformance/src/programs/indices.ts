import { ArgumentError, type Backend, createProgram } from "@centella/core";
import { named } from "@centella/quant/checks";
import { expectEqual, expectRejection } from "../compare.ts";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";
import { uniform } from "../data.ts";
import { runOnce, withPlan } from "./scenario.ts";

const huge = [-1, -(2 ** 31), 2 ** 31 - 1];

/** The reference names a bad index. Kernels, which cannot throw, return zeros and never read outside the table. */
async function ids(backend: Backend): Promise<void> {
  const program = createProgram();
  const table = program.input("table", "f32", [3, 4]);
  program.output("y", program.embedding(table, program.input("ids", "i32", [5])));
  const rows = uniform(1, 12);
  const inputs = { table: rows, ids: Int32Array.of(2, 3, ...huge) };
  await withPlan(backend, program, {}, async (plan) => {
    if (backend.name === "reference") {
      await expectRejection("an id outside the table", () => runOnce(plan, inputs), ArgumentError, /ids from 0 to 2, got 3 at 1/);
      return;
    }
    const y = named(await runOnce(plan, inputs), "y");
    expectEqual(`${backend.name}: ids outside the table`, y.data, [...rows.subarray(8), ...new Array<number>(16).fill(0)]);
  });
}

async function slots(backend: Backend): Promise<void> {
  const program = createProgram();
  const cache = program.persistent("cache", { dtype: "f32", shape: [3, 1, 2] }, { init: "zeros" });
  const part = (name: string) => program.input(name, "f32", [5, 1, 1]);
  program.kvWrite(cache, part("k"), part("v"), program.input("slots", "i32", [5]));
  const inputs = { k: Float32Array.of(1, 2, 3, 4, 5), v: Float32Array.of(6, 7, 8, 9, 10), slots: Int32Array.of(1, 3, ...huge) };
  await withPlan(backend, program, {}, async (plan) => {
    plan.run(inputs);
    if (backend.name !== "reference") await runOnce(plan, inputs);
    expectEqual(`${backend.name}: slots outside the cache`, await plan.save("cache"), [0, 0, 1, 6, 0, 0]);
  });
}

export const indices: readonly ConformanceTest[] = [
  programTest("ids outside the table", ids),
  programTest("slots outside the cache", slots),
];
