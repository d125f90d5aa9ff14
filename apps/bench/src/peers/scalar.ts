import { elementAt, tupleOf } from "@centella/quant/checks";
import { Skip, type Subject } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import { callsOf, inputsOf, layerNormEps, type OpTask, outputShape, type SeriesTask, sizeOf, type Task } from "../tasks/task.ts";
import type { PeerAdapter } from "./peer.ts";

type F32 = Float32Array<ArrayBuffer>;

/**
 * Straightforward code: plain loops over `Float32Array`, compiled by the JavaScript engine. This file is the pinned baseline of
 * `budgets.json` and of the predecessor's tables. Do not tune it: a faster loop would break every figure that is compared with it.
 */
export const scalar: PeerAdapter = {
  name: "scalar",
  kind: "cpu",
  async open() {
    return {
      version: "plain JavaScript loops",
      competitor: { name: "scalar", side: "peer", threads: 1, prepare: async (task, sets) => prepare(task, sets) },
      dispose: () => undefined,
    };
  },
};

function prepare(task: Task, sets: number): Subject {
  const compute = loopOf(task);
  const operands = Array.from({ length: sets }, (_, set) => inputsOf(task, set));
  const y = new Float32Array(sizeOf(outputShape(task)));
  return {
    sample: timed((set) => compute(elementAt(operands, set % sets), y)),
    async result() {
      compute(elementAt(operands, 0), y);
      return y;
    },
    dispose: () => undefined,
  };
}

type Loop = (operands: readonly F32[], y: F32) => void;

function loopOf(task: Task): Loop {
  switch (task.kind) {
    case "matmul":
      return binary((a, b, y) => matmul(a, b, y, task.m, task.k, task.n));
    case "quantMatmul":
      throw new Skip("has no quantised weights");
    case "chain":
      return ternary((x, a, b, y) => chain(x, a, b, y, task.length));
    case "op":
      return opLoop(task);
    case "series":
      return series(task);
  }
}

function unary(loop: (x: F32, y: F32) => void): Loop {
  return (operands, y) => loop(...tupleOf(operands, 1), y);
}

function binary(loop: (a: F32, b: F32, y: F32) => void): Loop {
  return (operands, y) => loop(...tupleOf(operands, 2), y);
}

function ternary(loop: (a: F32, b: F32, c: F32, y: F32) => void): Loop {
  return (operands, y) => loop(...tupleOf(operands, 3), y);
}

/** Rows of `b` are read in order: i-k-j. */
function matmul(a: F32, b: F32, y: F32, m: number, k: number, n: number): void {
  y.fill(0);
  for (let i = 0; i < m; i++) {
    for (let p = 0; p < k; p++) {
      const factor = a[i * k + p]!;
      for (let j = 0; j < n; j++) y[i * n + j]! += factor * b[p * n + j]!;
    }
  }
}

function chain(x: F32, a: F32, b: F32, y: F32, length: number): void {
  y.set(x);
  for (let step = 0; step < length; step++) {
    if (step % 2 === 0) for (let i = 0; i < y.length; i++) y[i] = y[i]! + a[i]!;
    else for (let i = 0; i < y.length; i++) y[i] = y[i]! * b[i]!;
  }
}

/** Op after op, and their sum. */
function series(task: SeriesTask): Loop {
  const shape = [task.n];
  const call = opLoop({ kind: "op", op: task.op, shape });
  const one = new Float32Array(sizeOf(outputShape(task)));
  return (operands, y) => {
    y.fill(0);
    for (const own of callsOf(task, operands)) {
      call(own, one);
      for (let i = 0; i < y.length; i++) y[i] = y[i]! + one[i]!;
    }
  };
}

function opLoop({ op, shape }: OpTask): Loop {
  const width = shape.at(-1) ?? 1;
  switch (op) {
    case "add":
      return binary((a, b, y) => {
        for (let i = 0; i < y.length; i++) y[i] = a[i]! + b[i]!;
      });
    case "mul":
      return binary((a, b, y) => {
        for (let i = 0; i < y.length; i++) y[i] = a[i]! * b[i]!;
      });
    case "relu":
      return unary((x, y) => {
        for (let i = 0; i < y.length; i++) y[i] = Math.max(x[i]!, 0);
      });
    case "sigmoid":
      return unary((x, y) => {
        for (let i = 0; i < y.length; i++) y[i] = 1 / (1 + Math.exp(-x[i]!));
      });
    case "gelu":
      return unary(gelu);
    case "softmax":
      return unary((x, y) => {
        for (let row = 0; row < y.length; row += width) softmaxRow(x, y, row, width);
      });
    case "layerNorm":
      return ternary((x, scale, bias, y) => {
        for (let row = 0; row < y.length; row += width) layerNormRow(x, scale, bias, y, row, width);
      });
    default:
      return reductionLoop(op);
  }
}

function reductionLoop(op: "sum" | "max" | "min" | "dot"): Loop {
  switch (op) {
    case "sum":
      return unary((x, y) => {
        let sum = 0;
        for (let i = 0; i < x.length; i++) sum += x[i]!;
        y[0] = sum;
      });
    case "max":
      return unary((x, y) => {
        let largest = Number.NEGATIVE_INFINITY;
        for (let i = 0; i < x.length; i++) if (x[i]! > largest) largest = x[i]!;
        y[0] = largest;
      });
    case "min":
      return unary((x, y) => {
        let smallest = Number.POSITIVE_INFINITY;
        for (let i = 0; i < x.length; i++) if (x[i]! < smallest) smallest = x[i]!;
        y[0] = smallest;
      });
    case "dot":
      return binary((a, b, y) => {
        let sum = 0;
        for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
        y[0] = sum;
      });
  }
}

function gelu(x: F32, y: F32): void {
  const slope = Math.sqrt(2 / Math.PI);
  for (let i = 0; i < y.length; i++) {
    const v = x[i]!;
    y[i] = 0.5 * v * (1 + Math.tanh(slope * (v + 0.044715 * v * v * v)));
  }
}

function softmaxRow(x: F32, y: F32, row: number, width: number): void {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = row; i < row + width; i++) if (x[i]! > largest) largest = x[i]!;
  let sum = 0;
  for (let i = row; i < row + width; i++) {
    const e = Math.exp(x[i]! - largest);
    y[i] = e;
    sum += e;
  }
  for (let i = row; i < row + width; i++) y[i] = y[i]! / sum;
}

function layerNormRow(x: F32, scale: F32, bias: F32, y: F32, row: number, width: number): void {
  let sum = 0;
  for (let i = row; i < row + width; i++) sum += x[i]!;
  const mean = sum / width;
  let squares = 0;
  for (let i = row; i < row + width; i++) squares += (x[i]! - mean) ** 2;
  const factor = 1 / Math.sqrt(squares / width + layerNormEps);
  for (let i = 0; i < width; i++) y[row + i] = (x[row + i]! - mean) * factor * scale[i]! + bias[i]!;
}
