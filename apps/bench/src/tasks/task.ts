import { roundActivations } from "@centella/quant";
import { randomBlocks, type WeightType } from "../model/blocks.ts";
import { decodeBlocks } from "../model/decodeBlocks.ts";
import type { Side } from "../runner/subject.ts";
import { uniform } from "../stats/random.ts";

/** Matrix product of f32 `a [m, k]` and `b [k, n]`. */
export interface MatmulTask {
  readonly kind: "matmul";
  readonly m: number;
  readonly k: number;
  readonly n: number;
  /** `b` is a weight: known when the program is compiled, the same in each call on its buffer set. */
  readonly hasWeights: boolean;
}

/** Product of f32 `a [m, k]` and quantised weights `b [n, k]`, activations rounded to 8 bits as ggml does. */
export interface QuantMatmulTask {
  readonly kind: "quantMatmul";
  readonly type: Exclude<WeightType, "f16">;
  readonly m: number;
  readonly k: number;
  readonly n: number;
}

const binaryOps: readonly string[] = ["add", "mul", "dot"];
const reductions: readonly string[] = ["sum", "max", "min", "dot"];

/**
 * One op over f32 tensors of one shape. add, mul and dot take two tensors, layerNorm also a scale and a bias, all others one. softmax and
 * layerNorm are over the last axis, reductions over all axes.
 */
export interface OpTask {
  readonly kind: "op";
  readonly op: "add" | "mul" | "relu" | "sigmoid" | "gelu" | "softmax" | "layerNorm" | "sum" | "max" | "min" | "dot";
  readonly shape: readonly number[];
}

/** Added to the variance in layerNorm. */
export const layerNormEps = 1e-5;

/** `x = (x + a) * b`, `length / 2` times, over vectors of `n`: many small ops in one plan. */
export interface ChainTask {
  readonly kind: "chain";
  readonly length: number;
  readonly n: number;
}

/** `op(x₁) + op(x₂) + …`, `count` calls on vectors of `n` of their own (add, dot: on pairs of them): the op as a part of a plan. */
export interface SeriesTask {
  readonly kind: "series";
  readonly op: "add" | "relu" | "max" | "sum" | "dot";
  readonly count: number;
  readonly n: number;
}

/** Piece of work that is the same for ours and for peers. */
export type Task = MatmulTask | QuantMatmulTask | OpTask | ChainTask | SeriesTask;

/** The operands of each call of a series, of all operands in order. */
export function callsOf<T>({ op, count }: SeriesTask, operands: readonly T[]): readonly (readonly T[])[] {
  const arity = binaryOps.includes(op) ? 2 : 1;
  return Array.from({ length: count }, (_, i) => operands.slice(arity * i, arity * (i + 1)));
}

/** Contents of a buffer set: f32 tensors in the order of the task's operands, then the blocks of quantised weights. */
export interface TaskInputs {
  readonly tensors: readonly Float32Array<ArrayBuffer>[];
  readonly blocks?: Uint8Array<ArrayBuffer>;
}

/** Random inputs of one buffer set, the same for every subject. */
export function inputsOf(task: Task, set: number): TaskInputs {
  const seed = (operand: number): number => 7919 * (set + 1) + 104729 * operand;
  const tensors = operandShapes(task).map((shape, operand) => uniform(seed(operand), sizeOf(shape)));
  if (task.kind !== "quantMatmul") return { tensors };
  return { tensors, blocks: randomBlocks(task.type, task.n * task.k, seed(9), 1 / Math.sqrt(task.k)) };
}

/** Shapes of the f32 operands. */
export function operandShapes(task: Task): readonly (readonly number[])[] {
  switch (task.kind) {
    case "matmul":
      return [
        [task.m, task.k],
        [task.k, task.n],
      ];
    case "quantMatmul":
      return [[task.m, task.k]];
    case "op":
      if (task.op === "layerNorm") return [task.shape, task.shape.slice(-1), task.shape.slice(-1)];
      return binaryOps.includes(task.op) ? [task.shape, task.shape] : [task.shape];
    case "series":
      return Array.from({ length: task.count * (binaryOps.includes(task.op) ? 2 : 1) }, () => [task.n]);
    case "chain":
      return [[task.n], [task.n], [task.n]];
  }
}

export function outputShape(task: Task): readonly number[] {
  switch (task.kind) {
    case "matmul":
    case "quantMatmul":
      return [task.m, task.n];
    case "op":
      return reductions.includes(task.op) ? [] : task.shape;
    case "series":
      return reductions.includes(task.op) ? [] : [task.n];
    case "chain":
      return [task.n];
  }
}

/**
 * Describes the defect of the output on buffer set 0; undefined for a correct one. In quantised products ours must round
 * activations as ggml does; peers are held to the exact product, with room for a rounding of their own.
 */
export function verifyTask(task: Task, got: ArrayLike<number>, side: Side): string | undefined {
  const size = sizeOf(outputShape(task));
  if (got.length !== size) return `expected ${size} elements, got ${got.length}`;
  const { tensors, blocks } = inputsOf(task, 0);
  switch (task.kind) {
    case "matmul":
      return verifyProduct(task, tensors[0]!, (k, j) => tensors[1]![k * task.n + j]!, got, 2e-5);
    case "quantMatmul": {
      const { m, k, type } = task;
      const rows = tensors[0]!.slice();
      const isOurs = side === "ours";
      for (let i = 0; isOurs && i < m; i++) roundActivations(type, rows.subarray(i * k, (i + 1) * k), rows.subarray(i * k, (i + 1) * k));
      const weights = decodeBlocks(type, blocks!);
      return verifyProduct(task, rows, (p, j) => weights[j * k + p]!, got, isOurs ? 2e-5 : 4e-4);
    }
    case "op":
      return verifyOp(task, tensors, got);
    case "chain":
      return verifyChain(task, tensors, got);
    case "series":
      return verifySeries(task, tensors, got);
  }
}

/**
 * Checks `y = a x b`: Freivalds' test `y v = a (b v)` touches every element, and a sample of elements is computed in f64.
 * f32 sums of k products of size 1 err by about `2^-24 sqrt(k)`.
 */
function verifyProduct(
  { m, k, n }: { readonly m: number; readonly k: number; readonly n: number },
  a: Float32Array,
  b: (p: number, j: number) => number,
  y: ArrayLike<number>,
  tolerance: number,
): string | undefined {
  const v = uniform(5, n);
  const bv = new Float64Array(k);
  for (let p = 0; p < k; p++) for (let j = 0; j < n; j++) bv[p]! += b(p, j) * v[j]!;
  const limit = tolerance * Math.sqrt(k);
  for (let i = 0; i < m; i++) {
    let got = 0;
    let want = 0;
    for (let j = 0; j < n; j++) got += y[i * n + j]! * v[j]!;
    for (let p = 0; p < k; p++) want += a[i * k + p]! * bv[p]!;
    if (!(Math.abs(got - want) <= limit * Math.sqrt(n)))
      return `row ${i} times a random vector: expected ${want}, got ${got}, limit ${limit * Math.sqrt(n)}`;
  }
  const samples = Math.min(m * n, 512);
  for (let s = 0; s < samples; s++) {
    const at = Math.floor((s * m * n) / samples);
    const [i, j] = [Math.floor(at / n), at % n];
    let want = 0;
    for (let p = 0; p < k; p++) want += a[i * k + p]! * b(p, j);
    const problem = differs(y[at]!, want, 0, limit);
    if (problem !== undefined) return `[${i}, ${j}]: ${problem}`;
  }
  return undefined;
}

function verifyOp({ op, shape }: OpTask, [x, y, z]: readonly Float32Array[], got: ArrayLike<number>): string | undefined {
  const n = sizeOf(shape);
  const [a, b] = [x!, y ?? x!];
  const each = (want: (i: number) => number, rtol: number, atol: number): string | undefined => {
    for (let i = 0; i < n; i++) {
      const problem = differs(got[i]!, want(i), rtol, atol);
      if (problem !== undefined) return `[${i}]: ${problem}`;
    }
    return undefined;
  };
  switch (op) {
    case "add":
      return each((i) => Math.fround(a[i]! + b[i]!), 0, 0);
    case "mul":
      return each((i) => Math.fround(a[i]! * b[i]!), 0, 0);
    case "relu":
      return each((i) => Math.max(0, a[i]!), 0, 0);
    case "sigmoid":
      return each((i) => 1 / (1 + Math.exp(-a[i]!)), 1e-5, 1e-7);
    case "gelu": {
      const slope = Math.sqrt(2 / Math.PI);
      return each((i) => 0.5 * a[i]! * (1 + Math.tanh(slope * (a[i]! + 0.044715 * a[i]! ** 3))), 1e-5, 1e-6);
    }
    case "softmax": {
      const width = shape.at(-1)!;
      const sums = Array.from({ length: n / width }, (_, row) =>
        a.subarray(row * width, (row + 1) * width).reduce((sum, value) => sum + Math.exp(value), 0),
      );
      return each((i) => Math.exp(a[i]!) / sums[Math.floor(i / width)]!, 1e-5, 1e-9);
    }
    case "layerNorm": {
      const width = shape.at(-1)!;
      const rows = Array.from({ length: n / width }, (_, row) => {
        const values = a.subarray(row * width, (row + 1) * width);
        const mean = values.reduce((sum, value) => sum + value, 0) / width;
        const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
        return { mean, scale: 1 / Math.sqrt(variance + layerNormEps) };
      });
      return each(
        (i) => {
          const { mean, scale } = rows[Math.floor(i / width)]!;
          return (a[i]! - mean) * scale * b[i % width]! + z![i % width]!;
        },
        1e-5,
        1e-5,
      );
    }
    case "max":
    case "min":
      return differs(
        got[0]!,
        a.reduce((x, y) => (op === "max" ? Math.max(x, y) : Math.min(x, y))),
        0,
        0,
      );
    case "sum":
    case "dot": {
      let want = 0;
      for (let i = 0; i < n; i++) want += op === "sum" ? a[i]! : a[i]! * b[i]!;
      // Errors of f32 partial sums add up; a wrong lane or a lost tail would miss by far more.
      return differs(got[0]!, want, 1e-4, 1e-3 * Math.sqrt(n));
    }
  }
}

function verifyChain({ length }: ChainTask, [x, a, b]: readonly Float32Array[], got: ArrayLike<number>): string | undefined {
  for (let i = 0; i < got.length; i++) {
    let want = x![i]!;
    for (let step = 0; step < length / 2; step++) want = (want + a![i]!) * b![i]!;
    const problem = differs(got[i]!, want, 1e-4, 1e-4);
    if (problem !== undefined) return `[${i}]: ${problem}`;
  }
  return undefined;
}

function verifySeries(task: SeriesTask, tensors: readonly Float32Array[], got: ArrayLike<number>): string | undefined {
  const { op, n, count } = task;
  const wants = new Float64Array(got.length);
  for (const [a, b] of callsOf(task, tensors)) {
    if (op === "max") wants[0]! += a!.reduce((x, y) => Math.max(x, y));
    else if (op === "sum") wants[0]! += a!.reduce((x, y) => x + y, 0);
    else if (op === "dot") wants[0]! += a!.reduce((x, y, i) => x + y * b![i]!, 0);
    else for (let i = 0; i < n; i++) wants[i]! += op === "add" ? a![i]! + b![i]! : Math.max(0, a![i]!);
  }
  const atol = op === "sum" || op === "dot" ? 1e-3 * Math.sqrt(n * count) : 1e-6 * count;
  for (let i = 0; i < got.length; i++) {
    const problem = differs(got[i]!, wants[i]!, 1e-4, atol);
    if (problem !== undefined) return `[${i}]: ${problem}`;
  }
  return undefined;
}

/** NaN differs from everything. */
function differs(got: number, want: number, rtol: number, atol: number): string | undefined {
  const limit = atol + rtol * Math.abs(want);
  return Math.abs(got - want) <= limit ? undefined : `expected ${want}, got ${got}, limit ${limit}`;
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}
