import { createProgram, type Program, type Shape } from "@centella/core";
import { elementAt, elementCount, lastOf } from "@centella/core/backend";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";
import { random, uniform } from "../data.ts";
import { arithmetic, drawCall, type Known } from "./randomOps.ts";
import { expectLikeReference, type Run, type Tolerances, type Weights } from "./scenario.ts";

/** A program with its inputs and tolerances. */
export interface RandomProgram {
  readonly program: Program;
  readonly weights: Weights;
  readonly runs: readonly Run[];
  /** Derived from the errors of the ops and their growth along the program. */
  readonly tolerance: Tolerances;
}

/** Bounds on values and on their errors. Ops that would exceed them are not drawn. */
const limits = { bound: 64, error: 5e-4 };

/**
 * A program of 1 to 60 random ops on random shapes, the same for the same seed. It has elementwise chains and DAGs with broadcasting,
 * repeated calls, foldable scalars, reductions, products of one tensor with two matrices, views, and writes to a persistent with reads
 * before and after. Every backend has kernels for these ops; {@link mixedProgram} adds the remaining ones.
 */
export function randomProgram(seed: number): RandomProgram {
  const next = random(seed);
  const draw = (n: number): number => Math.floor(next() * n);
  const program = createProgram();
  const T = program.dim("T", 6);
  const cols = 1 + draw(9);
  const shapes: readonly Shape[] = [[T, cols], [cols], [T, 1], [2, T, cols], [], [1, cols]];
  const known: Known[] = [];
  shapes.forEach((shape, i) => {
    const ref = program.input(`x${i}`, "f32", shape);
    known.push({ ref, bound: 1, error: 0 });
  });
  const matrices = ["w", "v"].map((name) => program.persistent(name, { dtype: "f32", shape: [cols, cols] }));
  const stateShape = [3, cols];
  // Each write halves the distance to 0.25, so neither values nor errors grow from run to run.
  let state: Known = {
    ref: program.persistent("state", { dtype: "f32", shape: stateShape }, { init: "zeros" }),
    bound: 0.25,
    error: 2 * arithmetic,
  };

  const constant = (): Known => {
    const value = elementAt([0.5, 1, -1, 0, -0, 2, 0.3], draw(7));
    return { ref: program.constant(Float32Array.of(value), "f32", draw(2) === 0 ? [] : [1]), bound: Math.abs(value), error: 0 };
  };
  const pick = (): Known => {
    const kind = draw(12);
    if (kind === 0) return constant();
    if (kind === 1) return state;
    // Mostly recent values: chains.
    return elementAt(known, Math.max(0, known.length - 1 - (draw(3) === 0 ? draw(known.length) : draw(3))));
  };

  const ops = 1 + draw(60);
  for (let attempts = 0; program.nodes.length < ops && attempts < 20 * ops; attempts++) {
    const candidate = drawCall(program, draw, next, pick, matrices);
    if (candidate.bound > limits.bound || candidate.error > limits.error) continue;
    const last = { ref: candidate.record(), bound: candidate.bound, error: candidate.error };
    known.push(last);
    if (draw(10) === 0) {
      const value = program.scale(program.add(state.ref, program.constant(Float32Array.of(0.25), "f32", [])), { by: 0.5 });
      state = { ...state, ref: program.assign(state.ref, value) };
    }
  }
  const outputs = [lastOf(known), elementAt(known, draw(known.length)), elementAt(known, draw(known.length))];
  outputs.forEach(({ ref }, i) => {
    program.output(`y${i}`, ref);
  });
  program.output("state", state.ref);
  const runs = [6, 1, 1 + draw(6)].map((rows, run): Run => {
    const inputs = [...program.inputs].map(([name, id], i) => {
      const { shape } = elementAt(program.values, id).spec;
      return [name, uniform(seed + 100 * run + i, elements(shape, rows))] as const;
    });
    return { inputs: Object.fromEntries(inputs), dims: { T: rows } };
  });
  const weights = { w: uniform(seed + 7, cols * cols), v: uniform(seed + 8, cols * cols) };
  const atol = 1e-6 + Math.max(state.error, ...outputs.map(({ error }) => error));
  return { program, weights, runs, tolerance: { rtol: 0, atol } };
}

function elements(shape: Shape, rows: number): number {
  return elementCount(shape.map((dim) => (typeof dim === "number" ? dim : rows)));
}

/** The seed is in the test's name and in every message: `randomProgram(seed)` reproduces the program. */
function randomTest(seed: number): ConformanceTest {
  return programTest(`random ops, seed ${seed}`, async (backend) => {
    const { program, weights, runs, tolerance } = randomProgram(seed);
    await expectLikeReference(`random program ${seed}`, backend, program, weights, runs, tolerance);
  });
}

export const randomPrograms: readonly ConformanceTest[] = Array.from({ length: 24 }, (_, i) => randomTest(1000 + i));
