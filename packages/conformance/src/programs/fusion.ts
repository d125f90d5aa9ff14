import { type Backend, createProgram, type OpName, type Value } from "@centella/core";
import { type AnyOp, completeParams, elementAt, elementCount, ops } from "@centella/core/backend";
import { cases } from "../cases/index.ts";
import { expectThat } from "../compare.ts";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";
import { contentsOf, uniform } from "../data.ts";
import type { Tolerance } from "../opCases.ts";
import { fusedProducts } from "./fusedProducts.ts";
import { expectExplained, expectLikeReference, type Run, runOnce, withPlan } from "./scenario.ts";

/** Each elementwise op followed by another one, so that it is computed inside a group. */
async function everyOp(backend: Backend): Promise<void> {
  const program = createProgram();
  const shape = [5, 7];
  const names = ["a", "b", "c"] as const;
  const inputs: readonly Value[] = names.map((name) => program.input(name, "f32", shape));
  for (const [name, { cases: list }] of Object.entries(cases)) {
    const op: AnyOp = ops[name as OpName];
    if (op.elementwise !== true || list[0]?.inputs.some(({ dtype }) => dtype !== "f32") !== false) continue;
    const params = completeParams(op, list[0].params ?? {});
    const used = inputs.slice(0, op.inputs.length);
    const specs = used.map(({ spec }) => spec);
    const output = op.infer(specs, params);
    if (output.dtype !== "f32" || backend.unsupported(op, specs, params, output) !== undefined) continue;
    program.output(name, program.scale(program.record(op, used, params), { by: 0.75 }));
  }
  expectThat(program.outputs.length > 10, `expected more than 10 elementwise ops, got ${program.outputs.length}`);
  const data = { a: uniform(50, 35), b: uniform(51, 35), c: uniform(52, 35) };
  const special = Float32Array.of(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, 1, -1);
  const a = data.a.slice();
  a.set(special);
  await expectLikeReference("elementwise ops in groups", backend, program, {}, [{ inputs: data }, { inputs: { ...data, a } }]);
}

/** Each elementwise op alone, as the last reader of its inputs: backends that write in place do so here. */
async function everyOpInPlace(backend: Backend): Promise<void> {
  const program = createProgram();
  const shape = [3, 7];
  const names = ["a", "b", "c"] as const;
  // A copy that cannot join a group.
  const rows = program.constant(Int32Array.of(2, 0, 1), "i32", [3]);
  const copy = (x: Value): Value => program.embedding(x, rows);
  for (const [name, { cases: list }] of Object.entries(cases)) {
    const op: AnyOp = ops[name as OpName];
    if (op.elementwise !== true || list[0]?.inputs.some(({ dtype }) => dtype !== "f32") !== false) continue;
    const params = completeParams(op, list[0].params ?? {});
    const specs = op.inputs.map(() => ({ dtype: "f32", shape }) as const);
    const output = op.infer(specs, params);
    if (output.dtype !== "f32" || backend.unsupported(op, specs, params, output) !== undefined) continue;
    // All calls differ, so none is merged with another.
    const own = names.slice(0, op.inputs.length).map((input) => program.input(`${name} ${input}`, "f32", shape));
    program.output(name, copy(program.record(op, own.map(copy), params)));
  }
  expectThat(program.outputs.length > 10, `expected more than 10 elementwise ops, got ${program.outputs.length}`);
  const inputs = Object.fromEntries([...program.inputs.keys()].map((name, i) => [name, uniform(i, 21)]));
  await expectLikeReference("elementwise ops in place", backend, program, {}, [{ inputs }]);
}

/** One group that reads a tensor, a row, a column, a plane and a scalar. */
async function broadcasts(backend: Backend): Promise<void> {
  const program = createProgram();
  const T = program.dim("T", 9);
  const x = program.input("x", "f32", [2, T, 5]);
  const sum = [program.input("row", "f32", [5]), program.input("column", "f32", [T, 1]), program.input("plane", "f32", [2, 1, 1])].reduce(
    (left, right) => program.add(left, right),
    x,
  );
  const scaled = program.mul(program.tanh(sum), program.input("s", "f32", []));
  program.output("y", program.sub(scaled, program.input("row2", "f32", [1, 1, 5])));
  const runs = [9, 1, 4, 0].map((rows) => ({
    inputs: {
      x: uniform(1, 10 * rows),
      row: uniform(2, 5),
      column: uniform(3, rows),
      plane: uniform(4, 2),
      s: Float32Array.of(0.5),
      row2: uniform(5, 5),
    },
    dims: { T: rows },
  }));
  await expectLikeReference("a group with broadcasting", backend, program, {}, runs);
}

/** Epilogues of a norm, a softmax or a reduction that read scalars, rows, a column, another tensor, and the op's own inputs. */
async function rows(backend: Backend): Promise<void> {
  const program = createProgram();
  const T = program.dim("T", 9);
  const x = program.input("x", "f32", [T, 6]);
  const w = program.input("w", "f32", [6]);
  const column = program.input("column", "f32", [T, 1]);
  const s = program.input("s", "f32", []);
  program.output("rmsNorm", program.add(program.mul(program.rmsNorm(x, w, { eps: 1e-5 }), w), x));
  program.output("layerNorm", program.silu(program.mul(program.layerNorm(x, w, { eps: 1e-5, bias: w }), column)));
  program.output("softmax", program.sub(program.scale(program.softmax(x), { by: 3 }), s));
  program.output("columns", program.tanh(program.add(program.softmax(x, { axis: 0 }), column)));
  program.output("logSoftmax", program.clip(program.logSoftmax(x), { min: -1.5, max: 0 }));
  program.output("sum", program.mul(program.sum(x, { axis: 1, keepDims: true }), column));
  program.output("mean", program.relu(program.sub(program.mean(x), s)));
  program.output("max", program.add(program.scale(program.max(x, { axis: 0 }), { by: 0.5 }), w));
  program.output("sumOfProducts", program.sum(program.mul(program.tanh(x), w), { axis: 1 }));
  program.output("largest", program.max(program.add(program.mul(x, column), s), { axis: 0 }));
  program.output("meanSquare", program.mean(program.mul(x, x)));
  program.output("min", program.neg(program.min(x, { axis: -1 })));
  program.output("normOfSum", program.rmsNorm(program.add(program.mul(x, column), w), w, { eps: 1e-5 }));
  program.output("normOfActivation", program.layerNorm(program.silu(program.scale(x, { by: 2 })), w, { eps: 1e-5, bias: w }));
  program.output("softmaxOfScores", program.softmax(program.sub(x, column)));
  const runs = [9, 1, 4].map((count) => ({
    inputs: { x: uniform(count, 6 * count), w: uniform(1, 6), column: uniform(2, count), s: Float32Array.of(0.25) },
    dims: { T: count },
  }));
  await expectLikeReference("rows with epilogues", backend, program, {}, runs);
}

/** Elementwise calls before and after norms, softmax and reductions whose long rows or columns several groups share. */
async function sharedRows(backend: Backend): Promise<void> {
  const program = createProgram();
  const n = 33_000;
  const [x, w, s] = [program.input("x", "f32", [2, n]), program.input("w", "f32", [n]), program.input("s", "f32", [])];
  const columns = program.input("columns", "f32", [3000, 12]);
  const kept = program.mul(x, w);
  program.output("kept", kept);
  program.output("softmaxOfKept", program.softmax(kept));
  program.output("softmaxOfSum", program.softmax(program.add(x, s)));
  program.output("softmaxThenScale", program.scale(program.softmax(x), { by: 1000 }));
  program.output("logSoftmax", program.mul(program.logSoftmax(program.sub(x, w)), w));
  program.output("rmsNormOfSum", program.rmsNorm(program.add(x, w), w, { eps: 1e-5 }));
  program.output("rmsNormThenSum", program.add(program.rmsNorm(x, w, { eps: 1e-5 }), x));
  program.output("layerNormOfProduct", program.layerNorm(program.scale(x, { by: 2 }), w, { eps: 1e-5, bias: w }));
  program.output("layerNormThenRelu", program.relu(program.layerNorm(x, w, { eps: 1e-5 })));
  const shifted = program.sub(columns, s);
  program.output("shifted", shifted);
  program.output("largestOfShifted", program.max(shifted, { axis: 0 }));
  program.output("meanOfSquares", program.mean(program.mul(columns, columns), { axis: 0 }));
  program.output("sumThenTanh", program.tanh(program.scale(program.sum(columns, { axis: 0, keepDims: true }), { by: 0.01 })));
  const inputs = { x: uniform(1, 2 * n), w: uniform(2, n), s: Float32Array.of(0.25), columns: uniform(3, 3000 * 12) };
  await expectLikeReference("rows that groups share, in fused groups", backend, program, {}, [{ inputs }]);
}

/** Elementwise results that a norm, a softmax or a reduction reads and later ops read again: as temporaries and outputs, in short and long rows. */
async function residuals(backend: Backend): Promise<void> {
  const program = createProgram();
  const T = program.dim("T", 9);
  const [x, y] = ["x", "y"].map((name) => program.input(name, "f32", [T, 6])) as [Value, Value];
  const w = program.input("w", "f32", [6]);
  const column = program.input("column", "f32", [T, 1]);
  const square = program.input("square", "f32", [6, 6]);
  const sum = program.add(x, y);
  const normed = program.matmul(program.rmsNorm(sum, w, { eps: 1e-5 }), square);
  const second = program.add(program.mul(sum, column), normed);
  program.output("second", second);
  program.output("normed", program.layerNorm(second, w, { eps: 1e-5, bias: w }));
  const scores = program.sub(x, column);
  program.output("weights", program.softmax(scores));
  program.output("columns", program.logSoftmax(program.neg(scores), { axis: 0 }));
  program.output("scores", scores);
  const products = program.mul(x, w);
  program.output("shares", program.div(products, program.max(products, { axis: 1, keepDims: true })));
  const long = program.tanh(program.input("long", "f32", [2, 20_000]));
  program.output("centred", program.sub(long, program.mean(long, { axis: 1, keepDims: true })));
  program.output("longNorm", program.rmsNorm(program.scale(long, { by: 2 }), program.input("longWeight", "f32", [20_000]), { eps: 1e-5 }));
  const runs = [9, 1, 4].map((count) => ({
    inputs: {
      x: uniform(count, 6 * count),
      y: uniform(count + 20, 6 * count),
      w: uniform(1, 6),
      column: uniform(2, count),
      square: uniform(3, 36),
      long: uniform(4, 40_000),
      longWeight: uniform(5, 20_000),
    },
    dims: { T: count },
  }));
  await expectLikeReference("sums that are read besides", backend, program, {}, runs);
  await expectExplained("sums that are read besides", backend, program, {}, elementAt(runs, 0));
}

/** Elementwise calls after an op whose parameters name a symbolic dim: the inputs do not determine its shape in a run. */
async function symbolicShapes(backend: Backend): Promise<void> {
  const program = createProgram();
  const T = program.dim("T", 7);
  const x = program.input("x", "f32", [T, 5]);
  program.output("expanded", program.tanh(program.expand(program.reshape(x, { shape: [1, T, 5] }), { shape: [2, T, 5] })));
  program.output("filled", program.mul(program.full({ shape: [T, 1], value: 0.5 }), x));
  program.output("counted", program.scale(program.arange({ count: T, start: 1 }), { by: 0.25 }));
  const runs = [7, 1, 3, 0].map((rows) => ({ inputs: { x: uniform(rows, 5 * rows) }, dims: { T: rows } }));
  await expectLikeReference("symbolic shapes in groups", backend, program, {}, runs);
}

async function integers(backend: Backend): Promise<void> {
  const program = createProgram();
  const x = program.input("x", "i32", [3, 4]);
  const row = program.input("row", "i32", [4]);
  program.output("y", program.sub(program.mul(program.add(x, row), x), row));
  const inputs = { x: Int32Array.from({ length: 12 }, (_, i) => (i - 6) * 1e9), row: Int32Array.of(1, 2, 2 ** 31 - 1, -(2 ** 31)) };
  await expectLikeReference("a group of integers", backend, program, {}, [{ inputs }]);
}

/** Casts between float types in loops and after norms and products: each rounds where it is recorded. */
async function casts(backend: Backend): Promise<void> {
  const program = createProgram();
  const T = program.dim("T", 5);
  const x = program.input("x", "f32", [T, 32]);
  const [half, bfloat] = [program.input("half", "f16", [T, 32]), program.input("bfloat", "bf16", [32])];
  const to = (value: Value, dtype: "f32" | "f16" | "bf16"): Value => program.cast(value, { dtype });
  for (const dtype of ["f16", "bf16"] as const) {
    program.output(`doubled ${dtype}`, program.scale(to(to(program.scale(x, { by: 0.5 }), dtype), "f32"), { by: 2 }));
    program.output(`stored ${dtype}`, to(program.scale(x, { by: 4 }), dtype));
  }
  program.output("other type", to(program.scale(to(half, "f32"), { by: 2 }), "bf16"));
  program.output("through", to(to(half, "bf16"), "f16"));
  program.output("sum", program.add(to(half, "f32"), program.scale(to(bfloat, "f32"), { by: -1 })));
  await expectLikeReference("casts in loops", backend, program, {}, [castInputs(5), castInputs(1), castInputs(2)], { rtol: 0, atol: 0 });

  const model = createProgram();
  const rows = model.input("x", "f32", [model.dim("T", 5), 32]);
  const w = model.persistent("w", { dtype: "f16", shape: [32, 32] });
  const v = model.persistent("v", { dtype: "bf16", shape: [32, 32] });
  const rounded = (value: Value, { spec: { dtype } }: Value): Value =>
    model.cast(model.cast(value, { dtype: dtype as "f16" | "bf16" }), { dtype: "f32" });
  const times = (value: Value, weight: Value): Value => model.matmul(rounded(value, weight), weight, { transposeB: true });
  const normed = model.rmsNorm(rows, model.constant(uniform(3, 32), "f32", [32]), { eps: 1e-5 });
  const gated = model.mul(model.silu(times(normed, w)), times(normed, w));
  model.output("y", model.add(times(gated, v), rows));
  const weights = {
    w: contentsOf({ dtype: "f16", shape: [32, 32] }, 1).stored,
    v: contentsOf({ dtype: "bf16", shape: [32, 32] }, 2).stored,
  };
  const runs = [5, 1].map((count) => ({ inputs: { x: uniform(count, 32 * count) } }));
  // A value whose last bit differs may be rounded to the neighbour.
  await expectLikeReference("casts around norms and products", backend, model, weights, runs, { rtol: 0.02, atol: 0.1 });
}

/** Ropes of keys before writes to caches, alone or with the rope of queries, in all layouts of caches and pairs. */
async function cacheWrites(backend: Backend): Promise<void> {
  const program = createProgram();
  const T = program.dim("T", 6);
  const [positions, slots] = [program.input("positions", "i32", [T]), program.input("slots", "i32", [T])];
  const factors = program.input("factors", "f32", [8]);
  const layers = [
    { dtype: "f32", dK: 16, dV: 5, params: { ropeType: "norm", freqFactors: factors }, queries: 3 },
    { dtype: "f16", dK: 32, dV: 32, params: { ropeType: "neox", dims: 16, base: 500 }, queries: 4 },
    { dtype: "f16", dK: 10, dV: 3, params: { ropeType: "neox" }, queries: 0 },
    { dtype: "f16", dK: 20, dV: 6, params: { ropeType: "norm", dims: 16, scale: 0.5, freqFactors: factors }, queries: 1 },
    { dtype: "q8_0", dK: 48, dV: 16, params: { ropeType: "norm", dims: 32 }, queries: 0 },
    { dtype: "q8_0", dK: 32, dV: 32, params: { ropeType: "neox" }, queries: 2 },
  ] as const;
  layers.forEach(({ dtype, dK, dV, params, queries }, i) => {
    const input = (name: string, heads: number, width: number): Value => program.input(`${name}${i}`, "f32", [T, heads, width]);
    const q = queries === 0 ? undefined : program.rope(input("q", queries, dK), positions, params);
    const cache = program.persistent(`cache${i}`, { dtype, shape: [9, 2, dK + dV] }, { init: "zeros" });
    const k = program.rope(input("k", 2, dK), positions, params);
    program.output(`written${i}`, program.kvWrite(cache, k, input("v", 2, dV), slots));
    if (q !== undefined) program.output(`rotated${i}`, program.scale(q, { by: 2 }));
  });
  const runs = [6, 1, 4].map((rows, run): Run => {
    const tensors = [...program.inputs].flatMap(([name, id], i) => {
      const { dtype, shape } = elementAt(program.values, id).spec;
      const rowElements = elementCount((shape as readonly number[]).slice(1));
      return dtype === "i32" || name === "factors" ? [] : [[name, uniform(10 * run + i, rows * rowElements)] as const];
    });
    const indices = Array.from({ length: rows }, (_, t) => t);
    const given = {
      positions: Int32Array.from(indices, (t) => 1000 * run + 3 * t),
      slots: Int32Array.from(indices, (t) => (2 * t + 5 * run) % 9),
      factors: uniform(1, 8).map((x) => 2 + x),
    };
    return { inputs: { ...Object.fromEntries(tensors), ...given } };
  });
  const tolerance = (output: string): Tolerance => {
    const { dtype } = elementAt(layers, Number(output.at(-1)));
    if (output.startsWith("rotated") || dtype === "f32") return { rtol: 1e-4, atol: 2e-5 };
    // A value whose last bit differs may be rounded to the neighbour.
    return dtype === "f16" ? { rtol: 2 ** -10, atol: 2e-5 } : { rtol: 0, atol: 0.02 };
  };
  await expectLikeReference("ropes before writes to caches", backend, program, {}, runs, tolerance);
  await expectExplained("ropes before writes to caches", backend, program, {}, elementAt(runs, 0));
}

/** Values that f16 and bf16 round: ties, overflows, denormals. */
function castInputs(rows: number): Run {
  const special = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    0,
    -0,
    1 + 2 ** -11,
    1 + 3 * 2 ** -11,
    1 + 2 ** -8,
    65519,
    65520,
    -70000,
    2 ** -24,
    1e-7,
  ];
  const x = uniform(rows, 32 * rows);
  x.set(special);
  const half = contentsOf({ dtype: "f16", shape: [rows, 32] }, 4).stored;
  return { inputs: { x, half, bfloat: contentsOf({ dtype: "bf16", shape: [32] }, 5).stored } };
}

/** More inputs than a kernel may bind, more calls than it may hold. */
async function large(backend: Backend): Promise<void> {
  const program = createProgram();
  let wide = program.input("x0", "f32", [6]);
  for (let i = 1; i < 70; i++) wide = program.add(wide, program.input(`x${i}`, "f32", [6]));
  program.output("wide", wide);
  let deep = program.scale(wide, { by: 0.01 });
  for (let i = 0; i < 300; i++)
    deep = i % 2 === 0 ? program.relu(deep) : program.add(deep, program.constant(Float32Array.of(i), "f32", []));
  program.output("deep", program.scale(deep, { by: 1e-5 }));
  const inputs = Object.fromEntries([...program.inputs.keys()].map((name, i) => [name, uniform(i, 6)]));
  await expectLikeReference("large groups", backend, program, {}, [{ inputs }]);
  await expectExplained("large groups", backend, program, {}, { inputs });
}

/** `relu → scale → add`: one submission, and one step where the backend fuses. */
async function transfers(backend: Backend): Promise<void> {
  const program = createProgram();
  const x = program.input("x", "f32", [8]);
  program.output("y", program.add(program.scale(program.relu(x), { by: 2 }), program.input("b", "f32", [8])));
  const { uploads, submits, readbacks } = backend.counters;
  const steps = (): number => Object.values(backend.counters.ops).reduce((sum, n) => sum + n, 0);
  const before = steps();
  await withPlan(backend, program, {}, (plan) => runOnce(plan, { x: uniform(1, 8), b: uniform(2, 8) }));
  const { counters } = backend;
  expectThat(counters.submits - submits === 1, `${backend.name}: expected one submission, got ${counters.submits - submits}`);
  expectThat(counters.uploads - uploads <= 2, `${backend.name}: expected an upload per input at most, got ${counters.uploads - uploads}`);
  expectThat(counters.readbacks - readbacks <= 1, `${backend.name}: expected one readback, got ${counters.readbacks - readbacks}`);
  const expected = program.explain(backend).startsWith("1 steps") ? 1 : 3;
  expectThat(steps() - before === expected, `${backend.name}: expected ${expected} steps, got ${steps() - before}`);
}

export const fusion: readonly ConformanceTest[] = [
  programTest("each elementwise op inside a group", everyOp),
  programTest("each elementwise op on temporaries that die", everyOpInPlace),
  programTest("a group that broadcasts in every way", broadcasts),
  ...fusedProducts,
  programTest("groups that finish norms, softmax and reductions", rows),
  programTest("groups around rows and columns that several groups of lanes share", sharedRows),
  programTest("what norms, softmax and reductions read and others besides", residuals),
  programTest("groups around a call that names a symbolic dim", symbolicShapes),
  programTest("a group of integers wraps", integers),
  programTest("a group with casts between float types", casts),
  programTest("groups that rotate keys and write them to a cache", cacheWrites),
  programTest("groups beyond a kernel's limits", large),
  programTest("relu, scale, add: one submission", transfers),
];
