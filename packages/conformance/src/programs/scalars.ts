import { type Backend, createProgram, type Tensor } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { expectEqual } from "../compare.ts";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";
import { uniform } from "../data.ts";
import { expectLikeReference, runOnce, withPlan } from "./scenario.ts";

async function hostScalar(backend: Backend): Promise<void> {
  const program = createProgram();
  const x = program.input("x", "f32", [3, 11]);
  program.output("y", program.mul(x, program.input("s", "f32", [])));
  const run = (s: number) => ({ inputs: { x: uniform(1, 33), s: Float32Array.of(s) } });
  await expectLikeReference("host scalar", backend, program, {}, [run(2), run(-0.5), run(0)]);
}

async function deviceScalar(backend: Backend): Promise<void> {
  const program = createProgram();
  const x = program.input("x", "f32", [7]);
  const factors = program.persistent("factors", { dtype: "f32", shape: [3] });
  program.output("y", program.mul(x, program.element(factors, { index: 1 })));
  program.output("z", program.sub(program.element(x, { index: 6 }), x));
  await expectLikeReference("device scalar", backend, program, { factors: Float32Array.of(5, -3, 7) }, [{ inputs: { x: uniform(2, 7) } }]);
}

/** Greedy decoding whose token and position never leave the device; several runs are queued before any is read. */
async function counterLoop(backend: Backend): Promise<void> {
  const vocabulary = 13;
  const width = 8;
  const program = createProgram();
  const ids = program.persistent("ids", { dtype: "i32", shape: [1] });
  const position = program.persistent("position", { dtype: "i32", shape: [1] }, { init: "zeros" });
  const table = program.persistent("table", { dtype: "f32", shape: [vocabulary, width] });
  const weight = program.persistent("weight", { dtype: "f32", shape: [width, vocabulary] });
  const one = program.constant(Int32Array.of(1), "i32", [1]);
  const x = program.reshape(program.embedding(table, ids), { shape: [1, 1, width] });
  const turned = program.reshape(program.rope(x, position, { ropeType: "neox" }), { shape: [1, width] });
  const next = program.argmax(program.matmul(turned, weight));
  program.output("id", program.element(program.assign(ids, next), { index: 0 }));
  program.output("position", program.assign(position, program.add(position, one)));
  const weights = { ids: Int32Array.of(4), table: uniform(3, vocabulary * width), weight: uniform(4, vocabulary * width) };
  const got = await withPlan(backend, program, weights, async (plan) => {
    const queued = Array.from({ length: 8 }, () => plan.run({}));
    const sequence: number[][] = [];
    const scalar = async (outputs: Readonly<Record<string, Tensor>>, name: string) => elementAt(await named(outputs, name).data(), 0);
    for (const outputs of queued) sequence.push([await scalar(outputs, "id"), await scalar(outputs, "position")]);
    for (const output of queued.flatMap((outputs): Tensor[] => Object.values(outputs))) output.dispose();
    return sequence;
  });
  expectEqual(`${backend.name}: ids and positions of queued runs`, got.flat(), simulate(weights, vocabulary, width, got.length).flat());
}

function simulate(
  { ids, table, weight }: { readonly ids: Int32Array; readonly table: Float32Array; readonly weight: Float32Array },
  vocabulary: number,
  width: number,
  steps: number,
): number[][] {
  let id = elementAt(ids, 0);
  return Array.from({ length: steps }, (_, position) => {
    const half = width / 2;
    const x = Array.from({ length: width }, (_, d) => {
      const angle = position * 10000 ** ((-2 * (d % half)) / width);
      const at = id * width + (d % half);
      const [p, q] = [elementAt(table, at), elementAt(table, at + half)];
      return d < half ? p * Math.cos(angle) - q * Math.sin(angle) : p * Math.sin(angle) + q * Math.cos(angle);
    });
    const logits = Array.from({ length: vocabulary }, (_, j) =>
      x.reduce((sum, v, d) => sum + v * elementAt(weight, d * vocabulary + j), 0),
    );
    id = logits.indexOf(Math.max(...logits));
    return [id, position + 1];
  });
}

/** A scalar taken before a write keeps its value. */
async function scalarBeforeWrite(backend: Backend): Promise<void> {
  const program = createProgram();
  const state = program.persistent("state", { dtype: "f32", shape: [2] }, { init: "zeros" });
  const old = program.element(state, { index: 1 });
  const next = program.assign(state, program.input("x", "f32", [2]));
  program.output("old", old);
  program.output("sum", program.add(next, old));
  await withPlan(backend, program, {}, async (plan) => {
    const first = await runOnce(plan, { x: Float32Array.of(1, 2) });
    const second = await runOnce(plan, { x: Float32Array.of(3, 4) });
    const oldValues = [first, second].map((outputs) => elementAt(named(outputs, "old").data, 0));
    expectEqual(`${backend.name}: old values`, oldValues, [0, 2]);
    expectEqual(`${backend.name}: sums`, [...named(first, "sum").data, ...named(second, "sum").data], [1, 2, 5, 6]);
  });
}

export const scalars: readonly ConformanceTest[] = [
  programTest("a scalar of the host", hostScalar),
  programTest("a scalar of the device", deviceScalar),
  programTest("a decoding loop that stays on the device", counterLoop),
  programTest("a scalar taken before a write", scalarBeforeWrite),
];
