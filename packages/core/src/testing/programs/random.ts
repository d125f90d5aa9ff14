import { createProgram, type Program, type Ref } from "../../program.ts";
import { type Dim, elementCount, type Shape, sameShape } from "../../spec.ts";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";
import { random, uniform } from "../data.ts";
import { arithmetic, type Candidate, drawOther, impossible, type Known, transcendental } from "./randomOps.ts";
import { expectLikeReference, type Run, type Weights } from "./scenario.ts";

/** A program with what it takes to run it and how far results may be apart. */
export interface RandomProgram {
  readonly program: Program;
  readonly weights: Weights;
  readonly runs: readonly Run[];
  /** A bound on the absolute error of every output, from the errors of the ops and how they grow on the way. */
  readonly atol: number;
}

/** Values stay below this, and their errors below that: ops that would break it are not drawn. */
const limits = { bound: 64, error: 5e-4 };

/**
 * A program of 1 to 60 random ops on random shapes, the same for the same seed: elementwise chains and DAGs with broadcasting,
 * repeated calls, foldable scalars, reductions, products of one tensor with two matrices, views, and writes to a persistent with reads before and after. With
 * `allFamilies` also choices, norms, scans, orders and movement, which not every backend has kernels for.
 */
export function randomProgram(seed: number, { allFamilies = false }: { readonly allFamilies?: boolean } = {}): RandomProgram {
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
    const value = [0.5, 1, -1, 0, -0, 2, 0.3][draw(7)]!;
    return { ref: program.constant(Float32Array.of(value), "f32", draw(2) === 0 ? [] : [1]), bound: Math.abs(value), error: 0 };
  };
  const pick = (): Known => {
    const kind = draw(12);
    if (kind === 0) return constant();
    if (kind === 1) return state;
    // Mostly recent values: chains.
    return known[Math.max(0, known.length - 1 - (draw(3) === 0 ? draw(known.length) : draw(3)))]!;
  };

  const ops = 1 + draw(60);
  for (let attempts = 0; program.nodes.length < ops && attempts < 20 * ops; attempts++) {
    const isOther = allFamilies && draw(2) === 0;
    const candidate = isOther ? drawOther(program, draw, pick, matrices[0]!) : drawCall(program, draw, next, pick, matrices, cols);
    if (candidate.bound > limits.bound || candidate.error > limits.error) continue;
    const last = { ref: candidate.record(), bound: candidate.bound, error: candidate.error };
    known.push(last);
    if (draw(10) === 0) {
      const value = program.scale(program.add(state.ref, program.constant(Float32Array.of(0.25), "f32", [])), { by: 0.5 });
      state = { ...state, ref: program.assign(state.ref, value) };
    }
  }
  const outputs = [known.at(-1)!, known[draw(known.length)]!, known[draw(known.length)]!];
  outputs.forEach(({ ref }, i) => {
    program.output(`y${i}`, ref);
  });
  program.output("state", state.ref);
  const runs = [6, 1, 1 + draw(6)].map((rows, run): Run => {
    const inputs = [...program.inputs].map(([name, id], i) => {
      const { shape } = program.values[id]!.spec;
      return [name, uniform(seed + 100 * run + i, elements(shape, rows))] as const;
    });
    return { inputs: Object.fromEntries(inputs), dims: { T: rows } };
  });
  const weights = { w: uniform(seed + 7, cols * cols), v: uniform(seed + 8, cols * cols) };
  return { program, weights, runs, atol: 1e-6 + Math.max(state.error, ...outputs.map(({ error }) => error)) };
}

function drawCall(
  program: Program,
  draw: (n: number) => number,
  next: () => number,
  pick: () => Known,
  matrices: readonly Ref[],
  cols: number,
): Candidate {
  const x = pick();
  const unary = (record: () => Ref, bound: number, slope: number, precision: number): Candidate => ({
    bound,
    error: slope * x.error + precision * Math.max(bound, 1e-3),
    record,
  });
  switch (draw(22)) {
    case 0:
    case 1:
      return unary(() => program.relu(x.ref), x.bound, 1, 0);
    case 2:
      return unary(() => program.leakyRelu(x.ref, { slope: 0.1 }), x.bound, 1, arithmetic);
    case 3:
      return unary(() => program.elu(x.ref), Math.max(x.bound, 1), 1, transcendental);
    case 4:
      return unary(() => program.sigmoid(x.ref), 1, 0.25, transcendental);
    case 5:
      return unary(() => program.tanh(x.ref), 1, 1, transcendental);
    case 6:
      return unary(() => program.silu(x.ref), x.bound, 1.1, transcendental);
    case 7:
      return unary(() => program.gelu(x.ref), x.bound, 1.2, transcendental);
    case 8:
      return unary(() => program.clip(x.ref, { min: -0.75, max: 0.5 }), Math.min(x.bound, 0.75), 1, 0);
    case 9:
    case 10: {
      const by = [1, 0.5, -2, 1.5][draw(4)]!;
      return unary(() => program.scale(x.ref, { by }), Math.abs(by) * x.bound, Math.abs(by), arithmetic);
    }
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16: {
      const y = pick();
      if (!broadcasts(x.ref.spec.shape, y.ref.spec.shape)) return impossible;
      const kind = draw(4);
      if (kind === 3) {
        const error = x.bound * y.error + y.bound * x.error + x.error * y.error + arithmetic * x.bound * y.bound;
        return { bound: x.bound * y.bound, error, record: () => program.mul(x.ref, y.ref) };
      }
      const bound = x.bound + y.bound;
      const error = x.error + y.error + arithmetic * bound;
      return { bound, error, record: () => (kind === 0 ? program.sub(x.ref, y.ref) : program.add(x.ref, y.ref)) };
    }
    case 17: {
      const { shape } = x.ref.spec;
      if (shape.length !== 2 || shape[1] !== cols) return impossible;
      const bound = cols * x.bound;
      const matrix = matrices[draw(2)]!;
      return { bound, error: cols * x.error + cols * arithmetic * bound, record: () => program.matmul(x.ref, matrix) };
    }
    case 18: {
      // Only outer axes may be symbolic.
      if (x.ref.spec.shape.length === 0 || typeof x.ref.spec.shape.at(-1) !== "number") return impossible;
      const kind = draw(3);
      const keepDims = next() < 0.5;
      if (kind === 0) {
        const bound = cols * x.bound;
        return { bound, error: cols * (x.error + arithmetic * bound), record: () => program.sum(x.ref, { axis: -1, keepDims }) };
      }
      if (kind === 1) return unary(() => program.max(x.ref, { axis: -1, keepDims }), x.bound, 1, 0);
      return unary(() => program.mean(x.ref, { axis: -1, keepDims }), x.bound, 1, cols * arithmetic);
    }
    case 19:
      if (x.ref.spec.shape.length === 0 || typeof x.ref.spec.shape.at(-1) !== "number" || x.bound > 8) return impossible;
      return unary(() => program.softmax(x.ref), 1, 2, 2 * transcendental);
    case 20:
      // A view of the state is stale after the next write.
      if (program.values[x.ref.id]!.persistent !== undefined) return impossible;
      return { ...x, record: () => program.reshape(x.ref, { shape: [1, ...x.ref.spec.shape].slice(x.ref.spec.shape.length > 3 ? 1 : 0) }) };
    default:
      if (x.ref.spec.shape.length === 0) return impossible;
      return { ...x, record: () => program.element(x.ref, { index: 0 }) };
  }
}

function broadcasts(a: Shape, b: Shape): boolean {
  const fits = (p: Dim, q: Dim): boolean => p === 1 || q === 1 || sameShape([p], [q]);
  return a.toReversed().every((dim, i) => fits(dim, b.at(-1 - i) ?? 1));
}

function elements(shape: Shape, rows: number): number {
  return elementCount(shape.map((dim) => (typeof dim === "number" ? dim : rows)));
}

/** The seed is in the test's name and in every message: `randomProgram(seed)` makes the same program again. */
function randomTest(seed: number, allFamilies: boolean): ConformanceTest {
  return programTest(`random ops${allFamilies ? " of all families" : ""}, seed ${seed}`, async (backend) => {
    const { program, weights, runs, atol } = randomProgram(seed, { allFamilies });
    await expectLikeReference(`random program ${seed}`, backend, program, weights, runs, { rtol: 0, atol });
  });
}

export const randomPrograms: readonly ConformanceTest[] = [
  ...Array.from({ length: 24 }, (_, i) => randomTest(1000 + i, false)),
  ...Array.from({ length: 12 }, (_, i) => randomTest(2000 + i, true)),
];
