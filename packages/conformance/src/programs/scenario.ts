import {
  type Backend,
  type ConcreteSpec,
  type DimValues,
  type InputData,
  type Plan,
  type Program,
  reference,
  type TypedArray,
} from "@centella/core";
import { type CompileOptions, decode, elementAt, type ProgramGraph } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { expectClose, expectThat } from "../compare.ts";
import { compileOrSkip } from "../conformanceTest.ts";
import type { Tolerance } from "../opCases.ts";
import { sourceOf } from "../sources.ts";

/** The arguments of one run. */
export interface Run {
  readonly inputs: Readonly<Record<string, TypedArray>>;
  readonly dims?: DimValues;
}

/** Outputs of one run, decoded. */
export type Outputs = Readonly<Record<string, { readonly spec: ConcreteSpec; readonly data: TypedArray }>>;

/** Weights by name, in stored form. */
export type Weights = Readonly<Record<string, TypedArray>>;

/** One tolerance for all outputs of a program, or one per output. */
export type Tolerances = Tolerance | ((output: string) => Tolerance);

/** Tolerance of chains of f32 ops on values of size 1. */
export const chained: Tolerance = { rtol: 1e-4, atol: 2e-5 };

/** Compiles, loads the weights and hands the plan to `use`; disposes it afterwards. */
export async function withPlan<T>(
  backend: Backend,
  program: ProgramGraph,
  weights: Weights,
  use: (plan: Plan) => Promise<T>,
  options?: CompileOptions,
): Promise<T> {
  const plan = await compileOrSkip(backend, program, options);
  try {
    for (const [name, stored] of Object.entries(weights)) await plan.load(name, sourceOf(stored));
    return await use(plan);
  } finally {
    plan.dispose();
  }
}

/** One run, read and freed. */
export async function runOnce(plan: Plan, inputs: Readonly<Record<string, InputData>>, dims?: DimValues): Promise<Outputs> {
  const outputs = Object.entries(plan.run(inputs, dims === undefined ? {} : { dims }));
  try {
    return Object.fromEntries(
      await Promise.all(
        outputs.map(async ([name, tensor]) => [name, { spec: tensor.spec, data: decode(tensor.spec, await tensor.data()) }] as const),
      ),
    );
  } finally {
    for (const [, tensor] of outputs) tensor.dispose();
  }
}

/** All runs in order on a freshly compiled plan. */
export async function runAll(backend: Backend, program: ProgramGraph, weights: Weights, runs: readonly Run[]): Promise<readonly Outputs[]> {
  return withPlan(backend, program, weights, async (plan) => {
    const results: Outputs[] = [];
    for (const { inputs, dims } of runs) results.push(await runOnce(plan, inputs, dims));
    return results;
  });
}

/** Checks that the same runs agree on a backend and on the reference, which computes the recorded program unoptimised. @throws {Error} */
export async function expectLikeReference(
  what: string,
  backend: Backend,
  program: ProgramGraph,
  weights: Weights,
  runs: readonly Run[],
  tolerance: Tolerances = chained,
): Promise<readonly Outputs[]> {
  const got = await runAll(backend, program, weights, runs);
  const want = await runAll(await reference({ optimize: false }).open(), program, weights, runs);
  want.forEach((outputs, i) => {
    expectOutputs(`${backend.name} ${what}, run ${i}`, elementAt(got, i), outputs, tolerance);
  });
  return got;
}

/** Checks that `explain` of an open backend lists the steps that a run executes, groups as groups. @throws {Error} */
export async function expectExplained(what: string, backend: Backend, program: Program, weights: Weights, run: Run): Promise<void> {
  const listing = program.explain(backend);
  const before = { ...backend.counters.ops };
  await runAll(backend, program, weights, [run]);
  const ran = Object.entries(backend.counters.ops).map(([op, count]) => [op, count - (before[op] ?? 0)] as const);
  const steps = ran.reduce((sum, [, count]) => sum + count, 0);
  const groups = ran.find(([op]) => op === "fused")?.[1] ?? 0;
  const listed = [...listing.matchAll(/^[^ ].* = fused\(/gm)].length;
  const said = `${what} on ${backend.name}: explain says "${listing.slice(0, listing.indexOf("\n"))}", ${listed} of them groups`;
  const isTrue = listing.startsWith(`${steps} steps on ${backend.name},`) && listed === groups;
  expectThat(isTrue, `${said}; a run has ${steps} steps, ${groups} of them groups`);
}

/** @throws {Error} unless both have the same outputs within the tolerance */
export function expectOutputs(what: string, got: Outputs, want: Outputs, tolerances: Tolerances): void {
  for (const [name, { spec, data }] of Object.entries(want)) {
    const tolerance = typeof tolerances === "function" ? tolerances(name) : tolerances;
    expectClose({ what: `${what}, output ${name}`, spec, got: named(got, name).data, want: data, tolerance });
  }
}
