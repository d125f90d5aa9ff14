import { roundActivations } from "@centella/quant";
import { elementAt, lastOf, tupleOf } from "@centella/quant/checks";
import { decodeBlocks } from "../model/decodeBlocks.ts";
import type { Side } from "../runner/subject.ts";
import { uniform } from "../stats/random.ts";
import {
  blocksOf,
  type ChainTask,
  callsOf,
  inputsOf,
  layerNormEps,
  type OpTask,
  outputShape,
  type QuantMatmulTask,
  type SeriesTask,
  sizeOf,
  type Task,
} from "./task.ts";

/**
 * Describes the defect of the output on buffer set 0; undefined for a correct one. In quantised products ours must round
 * activations as ggml does; peers are held to the exact product, with room for a rounding of their own.
 */
export function verifyTask(task: Task, got: ArrayLike<number>, side: Side): string | undefined {
  const size = sizeOf(outputShape(task));
  if (got.length !== size) return `expected ${size} elements, got ${got.length}`;
  const tensors = inputsOf(task, 0);
  switch (task.kind) {
    case "matmul": {
      const [a, b] = tupleOf(tensors, 2);
      return verifyProduct(task, a, (k, j) => b[k * task.n + j]!, got, 2e-5);
    }
    case "quantMatmul":
      return verifyQuantProduct(task, tupleOf(tensors, 1)[0], got, side);
    case "op":
      return verifyOp(task, tensors, got);
    case "chain":
      return verifyChain(task, tensors, got);
    case "series":
      return verifySeries(task, tensors, got);
  }
}

function verifyQuantProduct(task: QuantMatmulTask, a: Float32Array, got: ArrayLike<number>, side: Side): string | undefined {
  const { m, k, type } = task;
  const rows = a.slice();
  const isOurs = side === "ours";
  for (let i = 0; isOurs && i < m; i++) roundActivations(type, rows.subarray(i * k, (i + 1) * k), rows.subarray(i * k, (i + 1) * k));
  const weights = decodeBlocks(type, blocksOf(task, 0));
  return verifyProduct(task, rows, (p, j) => weights[j * k + p]!, got, isOurs ? 2e-5 : 4e-4);
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
  const bv = Float64Array.from({ length: k }, (_, p) => v.reduce((sum, value, j) => sum + b(p, j) * value, 0));
  const limit = tolerance * Math.sqrt(k);
  for (let i = 0; i < m; i++) {
    const got = v.reduce((sum, value, j) => sum + y[i * n + j]! * value, 0);
    const want = bv.reduce((sum, value, p) => sum + a[i * k + p]! * value, 0);
    if (!(Math.abs(got - want) <= limit * Math.sqrt(n)))
      return `row ${i} times a random vector: expected ${want}, got ${got}, limit ${limit * Math.sqrt(n)}`;
  }
  const samples = Math.min(m * n, 512);
  for (let s = 0; s < samples; s++) {
    const at = Math.floor((s * m * n) / samples);
    const [i, j] = [Math.floor(at / n), at % n];
    const want = a.subarray(i * k, (i + 1) * k).reduce((sum, value, p) => sum + value * b(p, j), 0);
    const problem = differs(elementAt(y, at), want, 0, limit);
    if (problem !== undefined) return `[${i}, ${j}]: ${problem}`;
  }
  return undefined;
}

function verifyOp({ op, shape }: OpTask, operands: readonly Float32Array[], got: ArrayLike<number>): string | undefined {
  switch (op) {
    case "add":
    case "mul": {
      const [a, b] = tupleOf(operands, 2);
      return verifyEach(got, a, (value, i) => Math.fround(op === "add" ? value + elementAt(b, i) : value * elementAt(b, i)), 0, 0);
    }
    case "relu":
      return verifyEach(got, tupleOf(operands, 1)[0], (value) => Math.max(0, value), 0, 0);
    case "sigmoid":
      return verifyEach(got, tupleOf(operands, 1)[0], (value) => 1 / (1 + Math.exp(-value)), 1e-5, 1e-7);
    case "gelu": {
      const slope = Math.sqrt(2 / Math.PI);
      const gelu = (value: number): number => 0.5 * value * (1 + Math.tanh(slope * (value + 0.044715 * value ** 3)));
      return verifyEach(got, tupleOf(operands, 1)[0], gelu, 1e-5, 1e-6);
    }
    case "softmax":
      return verifySoftmax(got, tupleOf(operands, 1)[0], lastOf(shape));
    case "layerNorm":
      return verifyLayerNorm(got, tupleOf(operands, 3), lastOf(shape));
    default:
      return verifyReduction(op, operands, elementAt(got, 0));
  }
}

/** Compares each element with `want` of the operand's element. */
function verifyEach(
  got: ArrayLike<number>,
  x: Float32Array | Float64Array,
  want: (value: number, i: number) => number,
  rtol: number,
  atol: number,
): string | undefined {
  for (const [i, value] of x.entries()) {
    const problem = differs(elementAt(got, i), want(value, i), rtol, atol);
    if (problem !== undefined) return `[${i}]: ${problem}`;
  }
  return undefined;
}

function verifySoftmax(got: ArrayLike<number>, x: Float32Array, width: number): string | undefined {
  const sums = rowsOf(x, width).map((row) => row.reduce((sum, value) => sum + Math.exp(value), 0));
  return verifyEach(got, x, (value, i) => Math.exp(value) / elementAt(sums, Math.floor(i / width)), 1e-5, 1e-9);
}

function verifyLayerNorm(
  got: ArrayLike<number>,
  [x, scale, bias]: readonly [Float32Array, Float32Array, Float32Array],
  width: number,
): string | undefined {
  const rows = rowsOf(x, width).map((row) => {
    const mean = row.reduce((sum, value) => sum + value, 0) / width;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    return { mean, factor: 1 / Math.sqrt(variance + layerNormEps) };
  });
  const want = (value: number, i: number): number => {
    const { mean, factor } = elementAt(rows, Math.floor(i / width));
    return (value - mean) * factor * elementAt(scale, i % width) + elementAt(bias, i % width);
  };
  return verifyEach(got, x, want, 1e-5, 1e-5);
}

function rowsOf(x: Float32Array, width: number): readonly Float32Array[] {
  return Array.from({ length: x.length / width }, (_, row) => x.subarray(row * width, (row + 1) * width));
}

function verifyReduction(op: "max" | "min" | "sum" | "dot", operands: readonly Float32Array[], got: number): string | undefined {
  if (op === "max" || op === "min") return differs(got, reduced(op, operands), 0, 0);
  // Errors of f32 partial sums add up; a wrong lane or a lost tail would miss by far more.
  return differs(got, reduced(op, operands), 1e-4, 1e-3 * Math.sqrt(elementAt(operands, 0).length));
}

function reduced(op: "max" | "min" | "sum" | "dot", operands: readonly Float32Array[]): number {
  if (op === "dot") {
    const [a, b] = tupleOf(operands, 2);
    return a.reduce((sum, value, i) => sum + value * elementAt(b, i), 0);
  }
  const [x] = tupleOf(operands, 1);
  if (op === "sum") return x.reduce((sum, value) => sum + value, 0);
  return x.reduce((best, value) => (op === "max" ? Math.max(best, value) : Math.min(best, value)));
}

function verifyChain({ length }: ChainTask, tensors: readonly Float32Array[], got: ArrayLike<number>): string | undefined {
  const [x, a, b] = tupleOf(tensors, 3);
  const want = (value: number, i: number): number => {
    const [offset, factor] = [elementAt(a, i), elementAt(b, i)];
    for (let step = 0; step < length / 2; step++) value = (value + offset) * factor;
    return value;
  };
  return verifyEach(got, x, want, 1e-4, 1e-4);
}

function verifySeries(task: SeriesTask, tensors: readonly Float32Array[], got: ArrayLike<number>): string | undefined {
  const { op, n, count } = task;
  const sums = new Float64Array(got.length);
  const add = (i: number, value: number): void => {
    sums[i] = elementAt(sums, i) + value;
  };
  for (const own of callsOf(task, tensors)) {
    if (op === "add") {
      const [a, b] = tupleOf(own, 2);
      for (const [i, value] of a.entries()) add(i, value + elementAt(b, i));
    } else if (op === "relu") for (const [i, value] of tupleOf(own, 1)[0].entries()) add(i, Math.max(0, value));
    else add(0, reduced(op, own));
  }
  const atol = op === "sum" || op === "dot" ? 1e-3 * Math.sqrt(n * count) : 1e-6 * count;
  return verifyEach(got, sums, (sum) => sum, 1e-4, atol);
}

/** NaN differs from everything. */
function differs(got: number, want: number, rtol: number, atol: number): string | undefined {
  const limit = atol + rtol * Math.abs(want);
  return Math.abs(got - want) <= limit ? undefined : `expected ${want}, got ${got}, limit ${limit}`;
}
