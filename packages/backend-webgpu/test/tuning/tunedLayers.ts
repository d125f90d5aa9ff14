import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Activations, createProgram, type DType, type Plan, type Program } from "@centella/core";
import { expect } from "vitest";
import type { Capabilities } from "../../src/device/capabilities.ts";
import { hasForms, Tuning } from "../../src/tuning/tuning.ts";
import { Dispatches } from "../wgsl/kernelTexts.ts";

/** A program of two layers of one shape. */
export interface LayersForm {
  readonly dtype: DType;
  readonly activations: Activations;
  /** Rows of a run, at most. */
  readonly most: number;
  readonly depth: number;
}

export const layerColumns = 24;

export function layers({ dtype, activations, most, depth }: LayersForm): Program {
  const program = createProgram();
  const T = most === 1 ? 1 : program.dim("T", most);
  for (const i of [0, 1]) {
    const x = program.input(`x${i}`, "f32", [T, depth]);
    const w = program.persistent(`w${i}`, { dtype, shape: [layerColumns, depth] });
    program.output(`y${i}`, program.relu(program.matmul(x, w, { transposeB: true, activations })));
  }
  return program;
}

export async function load(plan: Plan): Promise<Plan> {
  for (const [i, { name, spec }] of [...plan.program.persistents.values()].entries())
    await plan.load(name, sourceOf(contentsOf(spec, i).stored));
  return plan;
}

export async function results(plan: Plan, rows: number): Promise<readonly Float32Array[]> {
  const { shape } = plan.program.values[plan.program.inputs.get("x0")!]!.spec;
  const elements = rows * (shape[1] as number);
  const outputs = plan.run({ x0: uniform(1, elements), x1: uniform(2, elements) });
  return Promise.all(["y0", "y1"].map(async (name) => (await outputs[name]!.data()) as Float32Array));
}

export function expectClose(got: readonly Float32Array[], expected: readonly Float32Array[]): void {
  const largest = Math.max(...expected.flatMap((values) => [...values].map(Math.abs)));
  const errors = expected.flatMap((values, i) => [...values].map((value, at) => Math.abs(value - got[i]![at]!)));
  expect(largest).toBeGreaterThan(0);
  expect(Math.max(...errors)).toBeLessThan(1e-4 * largest);
}

/** Names of the other forms of a program's dispatches, by their keys in the store of an adapter. */
export function otherFormsOf(program: Program, capabilities: Capabilities, adapter: string): ReadonlyMap<string, readonly string[]> {
  const tuning = new Tuning(new Map(), adapter);
  const formed = new Dispatches(capabilities).ofProgram(program).map(({ dispatch }) => dispatch);
  return new Map(formed.filter(hasForms).map((dispatch) => [tuning.keyOf(dispatch), dispatch.forms().others]));
}
