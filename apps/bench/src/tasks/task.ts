import { randomBlocks, type WeightType } from "../model/blocks.ts";
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

/** Random f32 tensors of one buffer set, in the order of the task's operands: the same for every subject. */
export function inputsOf(task: Task, set: number): readonly Float32Array<ArrayBuffer>[] {
  return operandShapes(task).map((shape, operand) => uniform(seedOf(set, operand), sizeOf(shape)));
}

/** Random blocks of the weights of one buffer set. */
export function blocksOf({ type, n, k }: QuantMatmulTask, set: number): Uint8Array<ArrayBuffer> {
  return randomBlocks(type, n * k, seedOf(set, 9), 1 / Math.sqrt(k));
}

function seedOf(set: number, operand: number): number {
  return 7919 * (set + 1) + 104729 * operand;
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

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}
