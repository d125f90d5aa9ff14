import { ArgumentError, type Backend, createProgram, type Program, type Value } from "@centella/core";
import { expectRejection } from "../compare.ts";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";
import { uniform } from "../data.ts";
import { exact } from "../opCases.ts";
import { expectLikeReference, type Run, runOnce, type Weights, withPlan } from "./scenario.ts";

const max = 40;
const [width, heads, kvHeads, dK, dV, vocabulary] = [24, 4, 2, 8, 6, 11];

/** A transformer layer that outputs the rows in `outRows`, as in the plan of an LLM. */
function layer(): Program {
  const program = createProgram();
  const T = program.dim("T", max);
  const out = program.dim("nOut", max);
  const weight = (name: string, ...shape: number[]) => program.persistent(name, { dtype: "f32", shape });
  const x = program.input("x", "f32", [T, width]);
  const positions = program.input("positions", "i32", [T]);
  const seqOf = program.input("seqOf", "i32", [T]);
  const h = program.rmsNorm(x, weight("norm", width), { eps: 1e-5 });
  const project = (name: string, count: number, size: number) =>
    program.reshape(program.matmul(h, weight(name, count * size, width), { transposeB: true }), { shape: [T, count, size] });
  const q = program.rope(project("wq", heads, dK), positions, { ropeType: "neox" });
  const k = program.rope(project("wk", kvHeads, dK), positions, { ropeType: "neox" });
  const cache = program.persistent("cache", { dtype: "f32", shape: [max, kvHeads, dK + dV] }, { init: "zeros" });
  const written = program.kvWrite(cache, k, project("wv", kvHeads, dV), positions);
  const attended = program.attention(
    q,
    written,
    positions,
    seqOf,
    program.constant(Int32Array.of(0), "i32", [1, 1]),
    program.input("seqLens", "i32", [1]),
    { scale: dK ** -0.5, blockSize: max },
  );
  const mixed = program.matmul(program.reshape(attended, { shape: [T, heads * dV] }), weight("wo", heads * dV, vocabulary));
  const y = program.softmax(mixed);
  program.output("all", y);
  program.output("y", program.embedding(y, program.input("outRows", "i32", [out])));
  program.output("best", program.argmax(y));
  return program;
}

const weights: Weights = {
  norm: uniform(1, width),
  wq: uniform(2, heads * dK * width),
  wk: uniform(3, kvHeads * dK * width),
  wv: uniform(4, kvHeads * dV * width),
  wo: uniform(5, heads * dV * vocabulary),
};

function runOf(tokens: number, rows: readonly number[]): Run {
  return {
    inputs: {
      x: uniform(100 + tokens, tokens * width),
      positions: Int32Array.from({ length: tokens }, (_, i) => i),
      seqOf: new Int32Array(tokens),
      seqLens: Int32Array.of(tokens),
      outRows: Int32Array.from(rows),
    },
  };
}

/** Sizes around the powers of two that backends bucket by, ascending and descending, with no, one and all rows in the output. */
async function sizes(backend: Backend): Promise<void> {
  const tokens = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 39, 40, 1, 17, 0, 8];
  const runs = tokens.map((T, i) => {
    const all = Array.from({ length: T }, (_, row) => T - 1 - row);
    return runOf(T, i % 3 === 0 ? [] : i % 3 === 1 ? all.slice(0, 1) : all);
  });
  await expectLikeReference("layer at every size", backend, layer(), weights, runs);
}

async function tooLarge(backend: Backend): Promise<void> {
  await withPlan(backend, layer(), weights, async (plan) => {
    const { inputs } = runOf(max + 1, [0]);
    await expectRejection("T above its maximum", () => plan.run(inputs), ArgumentError, /dim T from 0 to 40, got 41/);
    await runOnce(plan, runOf(max, [0]).inputs);
  });
}

/** Explicit values for dims that shapes leave open, and two symbolic axes in one tensor. */
async function explicitDims(backend: Backend): Promise<void> {
  const program = createProgram();
  const [M, N] = [program.dim("M", 9), program.dim("N", 9)];
  const x = program.input("x", "f32", [M, N]);
  program.output("y", program.softmax(program.scale(x, { by: 3 }), { axis: 0 }));
  program.output("sum", program.sum(x, { axis: 1 }));
  program.output("flat", program.relu(program.reshape(x, { shape: [N, M] })));
  const run = (m: number, n: number): Run => ({ inputs: { x: uniform(m * 10 + n, m * n) }, dims: { M: m, N: n } });
  await expectLikeReference("two symbolic axes", backend, program, {}, [run(3, 5), run(9, 9), run(1, 8), run(0, 4), run(4, 0), run(5, 3)]);
}

/** One below, at and one above each power of two, in both dims at once. */
async function borders(backend: Backend): Promise<void> {
  const program = createProgram();
  const [M, N] = [program.dim("M", 9), program.dim("N", 17)];
  const x = program.input("x", "f32", [M, 3]);
  const y = program.input("y", "f32", [N, 3]);
  program.output("products", program.relu(program.matmul(x, y, { transposeB: true })));
  program.output("sum", program.sum(program.add(x, program.mean(y, { axis: 0 })), { axis: 1 }));
  const extents = [
    [1, 1],
    [1, 17],
    [2, 3],
    [3, 2],
    [4, 5],
    [5, 4],
    [7, 9],
    [8, 8],
    [9, 7],
    [9, 15],
    [8, 16],
    [9, 17],
    [2, 16],
  ] as const;
  const runs = extents.map(([m, n]): Run => ({ inputs: { x: uniform(m, 3 * m), y: uniform(n + 50, 3 * n) } }));
  await expectLikeReference("two dims at the borders of buckets", backend, program, {}, runs);
}

export const dims: readonly ConformanceTest[] = [
  programTest("a transformer layer at T = 0, 1, 2, ... 40", sizes),
  programTest("a dim above its maximum is refused", tooLarge),
  programTest("two symbolic axes with explicit dims", explicitDims),
  programTest("two dims at the borders of buckets", borders),
  programTest("ops that move elements at several extents", async (backend) => {
    await expectLikeReference("moves", backend, moves(), {}, [0, 1, 5, max].map(movesOf), exact);
  }),
  programTest("ops along symbolic axes that groups share", async (backend) => {
    // Shares of 33 rows go beyond row 1281.
    const runs = [1281, 1, 0].map(alongOf);
    await expectLikeReference("along symbolic axes", backend, along(), {}, runs, { rtol: 1e-4, atol: 1e-4 });
  }),
  programTest("products whose depth is that of a run", async (backend) => {
    await expectLikeReference("deep", backend, deep(), {}, [0, 1, 3, 8, 32, 33, max].map(deepOf), { rtol: 1e-5, atol: 1e-5 });
  }),
  programTest("ops along an axis before symbolic ones", async (backend) => {
    // No column, one, some lanes of a tile, whole tiles, and a part of the last one.
    const runs = [0, 1, 2, 31, 64, 65, 150].map(beforeOf);
    await expectLikeReference("before symbolic axes", backend, before(), {}, runs, { rtol: 1e-4, atol: 1e-4 });
  }),
];

/** Products of a few rows and of many, of depths that are symbolic, with operands stored in each way. */
function deep(): Program {
  const program = createProgram();
  const K = program.dim("K", max);
  for (const rows of [2, 20]) {
    const a = program.input(`a${rows}`, "f32", [rows, K]);
    const b = program.input(`b${rows}`, "f32", [K, 12]);
    program.output(`product of ${rows} rows`, program.matmul(a, b));
    const turned = program.matmul(b, a, { transposeA: true, transposeB: true });
    program.output(`turned product of ${rows} columns`, program.relu(turned));
  }
  return program;
}

/** Inputs of {@link deep} of depth `k`. */
function deepOf(k: number): Run {
  const inputs = [2, 20].flatMap((rows) => [[`a${rows}`, uniform(k, rows * k)] as const, [`b${rows}`, uniform(k + 1, 12 * k)] as const]);
  return { inputs: Object.fromEntries(inputs), dims: { K: k } };
}

const maxColumns = 150;
const shapesBefore = { single: [2, 9], vectors: [5], shared: [300], pair: [1] } as const;

/** Ops along an axis before a symbolic one: alone, beside an axis of four, shared by groups, and of one element. */
function before(): Program {
  const program = createProgram();
  const columns = program.dim("columns", maxColumns);
  for (const [name, shape] of Object.entries(shapesBefore)) {
    const inner = name === "vectors" ? [columns, 4] : [columns];
    const x = program.input(name, "f32", [...shape, ...inner]);
    const along = { axis: shape.length - 1 };
    const isPositive = program.greater(x, program.constant(Float32Array.of(0), "f32", []));
    const results: Readonly<Record<string, Value>> = {
      sum: program.relu(program.sum(program.scale(x, { by: 2 }), along)),
      argmax: program.argmax(x, along),
      softmax: program.scale(program.softmax(program.scale(x, { by: 3 }), along), { by: 2 }),
      cumsum: program.cumsum(x, along),
      variance: program.variance(x, along),
      sumKahan: program.sumKahan(x, along),
      all: program.all(isPositive, along),
      any: program.any(isPositive, along),
    };
    for (const [op, result] of Object.entries(results)) program.output(`${op} of ${name}`, result);
  }
  return program;
}

/** Inputs of {@link before} with `count` columns. */
function beforeOf(count: number): Run {
  const sizes = Object.entries(shapesBefore).map(([name, shape]) => [name, product(shape) * count * (name === "vectors" ? 4 : 1)] as const);
  return { inputs: Object.fromEntries(sizes.map(([name, size], i) => [name, uniform(10 * count + i, size)])), dims: { columns: count } };
}

function product(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

const [maxRows, columns, maxLength] = [1300, 128, 20_000];

/** Ops along the first axis of a matrix, and along a vector. */
function along(): Program {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("rows", maxRows), columns]);
  const length = program.dim("length", maxLength);
  const v = program.input("v", "f32", [length]);
  for (const [name, tensor] of Object.entries({ x, v })) {
    program.output(`sum of ${name}`, program.sum(tensor, { axis: 0 }));
    program.output(`argmin of ${name}`, program.argmin(tensor, { axis: 0 }));
    program.output(`softmax of ${name}`, program.softmax(program.scale(tensor, { by: 3 }), { axis: 0 }));
    program.output(`cumsum of ${name}`, program.cumsum(tensor, { axis: 0 }));
  }
  program.output("variance of v", program.variance(v));
  const image = program.input("image", "f32", [1, 2, length]);
  program.output("groupNorm", program.groupNorm(image, program.constant(Float32Array.of(2, 3), "f32", [2]), { groups: 1, eps: 1e-5 }));
  return program;
}

/** Inputs of {@link along} with `rows` rows, and as much of the longest vector. */
function alongOf(rows: number): Run {
  const length = Math.floor((rows / maxRows) * maxLength);
  return { inputs: { x: uniform(rows, rows * columns), v: uniform(rows + 1, length), image: uniform(rows + 2, 2 * length) } };
}

/** Ops that only move elements, by 16 bytes where extents allow it, with symbolic axes. */
function moves(): Program {
  const program = createProgram();
  const T = program.dim("T", max);
  const x = program.input("x", "f32", [T, 3, 8]);
  const y = program.input("y", "f32", [T, 3, 5]);
  program.output("columns", program.concat([x, y, x], { axis: 2 }));
  program.output("aligned", program.concat([x, x], { axis: -1 }));
  program.output("stacked", program.stack([x, x], { axis: 1 }));
  program.output("heads", program.transpose(x, { axes: [1, 0, 2] }));
  program.output("turned", program.transpose(x, { axes: [2, 1, 0] }));
  program.output("matrices", program.transpose(program.input("m", "f32", [T, 18, 20]), { axes: [0, 2, 1] }));
  program.output("part", program.slice(x, { axis: 2, start: 4 }));
  program.output(
    "padded",
    program.pad(x, {
      pads: [
        [0, 0],
        [1, 0],
        [0, 0],
      ],
      value: 2,
    }),
  );
  program.output("gathered", program.gather(x, program.input("at", "i32", [T])));
  program.output("expanded", program.expand(program.reshape(x, { shape: [T, 1, 24] }), { shape: [T, 2, 24] }));
  return program;
}

/** Inputs of {@link moves} with `count` places along the symbolic axis. */
function movesOf(count: number): Run {
  return {
    inputs: {
      x: uniform(count, count * 24),
      y: uniform(count + 1, count * 15),
      m: uniform(count + 2, count * 360),
      at: Int32Array.from({ length: count }, (_, i) => count - 1 - i),
    },
  };
}
