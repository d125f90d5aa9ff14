import { elementAt } from "@centella/quant/checks";
import { uniform } from "../stats/random.ts";

/** One op on f32 tensors, or a chain of them, that projects with WebGPU backends compute in a page. */
export interface BrowserTask {
  readonly kind: "matmul" | "softmax" | "conv2d" | "chain";
  /** Rows and columns of the matrices; an image of `conv2d` has a quarter of both. */
  readonly n: number;
}

/** Ops of a chain, by turns `add` and `mul`. */
export const chainOps = 10;

/** Channels of `conv2d`, in and out. */
const channels = 32;
const window = 3;

/** A tensor that a task reads, with the axes in the order of `shape`: those of images are N, C, H, W; those of weights O, C, h, w. */
export interface PageOperand {
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
}

export function nameOf({ kind, n }: BrowserTask): string {
  switch (kind) {
    case "conv2d":
      return `conv2d 3×3, ${channels} channels of ${n / 4}²`;
    case "chain":
      return `${chainOps} elementwise ops on ${n}²`;
    default:
      return `${kind} ${n}²`;
  }
}

function shapesOf({ kind, n }: BrowserTask): readonly (readonly number[])[] {
  switch (kind) {
    case "matmul":
      return [
        [n, n],
        [n, n],
      ];
    case "softmax":
      return [[n, n]];
    case "conv2d":
      return [
        [1, channels, n / 4, n / 4],
        [channels, channels, window, window],
      ];
    case "chain":
      return [
        [n, n],
        [n, n],
        [n, n],
      ];
  }
}

/** Random operands, the same for every project. */
export function operandsOf(task: BrowserTask): readonly PageOperand[] {
  return shapesOf(task).map((shape, i) => ({
    shape,
    data: uniform(
      7 + 2 * i,
      shape.reduce((a, b) => a * b, 1),
    ),
  }));
}

/** Largest difference of a result from f64 at some places, as a share of the largest number there. */
export function errorOf(task: BrowserTask, operands: readonly PageOperand[], result: Float32Array): number {
  const places = Array.from({ length: 16 }, (_, i) => Math.floor((i * (result.length - 1)) / 15));
  const want = places.map((place) => elementOf(task, operands, place));
  const largest = Math.max(...want.map(Math.abs));
  return Math.max(...places.map((place, i) => Math.abs(elementAt(want, i) - (result[place] ?? Number.NaN)))) / largest;
}

/** An element of a task's result in f64. */
function elementOf({ kind, n }: BrowserTask, operands: readonly PageOperand[], place: number): number {
  const [x, y = new Float32Array(), z = new Float32Array()] = operands.map(({ data }) => data) as [
    Float32Array,
    Float32Array?,
    Float32Array?,
  ];
  const [row, column] = [Math.floor(place / n), place % n];
  switch (kind) {
    case "matmul": {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += x[row * n + k]! * y[k * n + column]!;
      return sum;
    }
    case "softmax": {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += Math.exp(x[row * n + k]!);
      return Math.exp(x[place]!) / sum;
    }
    case "conv2d":
      return convolved(n / 4, x, y, place);
    case "chain": {
      let value = x[place]!;
      for (let step = 0; step < chainOps; step++) value = step % 2 === 0 ? value + y[place]! : value * z[place]!;
      return value;
    }
  }
}

function convolved(size: number, x: Float32Array, w: Float32Array, place: number): number {
  const [channel, row, column] = [Math.floor(place / size / size), Math.floor(place / size) % size, place % size];
  let sum = 0;
  for (let c = 0; c < channels; c++) {
    for (let i = 0; i < window; i++) {
      for (let j = 0; j < window; j++) {
        const [h, v] = [row + i - 1, column + j - 1];
        if (h < 0 || v < 0 || h >= size || v >= size) continue;
        sum += x[(c * size + h) * size + v]! * w[((channel * channels + c) * window + i) * window + j]!;
      }
    }
  }
  return sum;
}
