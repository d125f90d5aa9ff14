import type { Program, Value } from "@centella/core";
import { tupleOf } from "@centella/quant/checks";
import { uniform } from "../stats/random.ts";
import { type GpuKernel, limits, matrix, type Operand, rowsOf, type Scale, spread } from "./kernel.ts";

const rowShapes: Readonly<Record<Scale, readonly [number, number]>> = { full: [8192, 8192], tiny: [16, 128] };
/** Elements of single rows: of softmax, of `rmsNorm` and running sums, and of the choice of the largest. */
const longRows: Readonly<Record<Scale, { readonly softmax: number; readonly norm: number; readonly top: number }>> = {
  full: { softmax: 3.2e7, norm: 1e7, top: 1e6 },
  tiny: { softmax: 2000, norm: 2000, top: 2000 },
};
/** Elements of the sums that the predecessor published. */
const sumCounts: Readonly<Record<Scale, readonly number[]>> = { full: [1e6, 1e7, 3.2e7], tiny: [2000] };
const logitCounts: Readonly<Record<Scale, number>> = { full: 128256, tiny: 500 };

/** An op over rows, and what it reads besides `x [rows, columns]`. */
interface RowOp {
  readonly op: "relu" | "add" | "concat" | "sum" | "softmax" | "rmsNorm" | "layerNorm";
  /** Tensors of the shape of `x`. */
  readonly matrices?: number;
  /** Vectors of a row's length. */
  readonly vectors?: number;
  readonly call: (program: Program, operands: readonly Value[]) => Value;
}

const layerNorm: RowOp["call"] = (program, operands) => {
  const [x, w, bias] = tupleOf(operands, 3);
  return program.layerNorm(x, w, { bias, eps: 1e-5 });
};

const sumOp: RowOp = { op: "sum", call: (program, operands) => program.sum(...tupleOf(operands, 1)) };

const softmaxOp: RowOp = { op: "softmax", call: (program, operands) => program.softmax(...tupleOf(operands, 1)) };
const rmsNormOp: RowOp = {
  op: "rmsNorm",
  vectors: 1,
  call: (program, operands) => program.rmsNorm(...tupleOf(operands, 2), { eps: 1e-5 }),
};

const rowOps: readonly RowOp[] = [
  { op: "relu", call: (program, operands) => program.relu(...tupleOf(operands, 1)) },
  { op: "add", matrices: 2, call: (program, operands) => program.add(...tupleOf(operands, 2)) },
  // The copy of a kernel of ours.
  { op: "concat", matrices: 2, call: (program, operands) => program.concat(operands, { axis: 0 }) },
  sumOp,
  softmaxOp,
  rmsNormOp,
  { op: "layerNorm", vectors: 2, call: layerNorm },
];

/** Ops that are bounded by memory, on tensors of 256 MiB; then single long rows. */
export function memoryKernels(scale: Scale): readonly GpuKernel[] {
  const [rows, columns] = rowShapes[scale];
  const { softmax, norm, top } = longRows[scale];
  return [
    ...rowOps.map((op) => rowKernel(op, rows, columns)),
    ...sumCounts[scale].map((count) => rowKernel(sumOp, 1, count)),
    rowKernel(softmaxOp, 1, softmax),
    rowKernel(rmsNormOp, 1, norm),
    longRowKernel("cumsum", norm, norm, (program, [x]) => program.cumsum(x!, { axis: 1 })),
    longRowKernel("topK", top, topCount, (program, [x]) => program.topK(x!, { k: topCount })),
  ];
}

/** Number of elements that `topK` chooses. */
const topCount = 32;

/** An op on one row of `count` elements that has `results` results. */
function longRowKernel(op: "cumsum" | "topK", count: number, results: number, call: GpuKernel["call"]): GpuKernel {
  return {
    group: "memory",
    name: `${op} 1×${count}`,
    bytes: 4 * (count + results),
    flops: count,
    unit: "f32",
    operands: () => [matrix(3, 1, count)],
    call,
    sample: (operands) => ({ operands, at: (index) => index }),
    limit: limits.f32,
    peer: { op, shape: [1, count] },
  };
}

function rowKernel({ op, matrices = 1, vectors = 0, call }: RowOp, rows: number, columns: number): GpuKernel {
  const size = rows * columns;
  const results = op === "sum" ? 1 : op === "concat" ? matrices * size : size;
  return {
    group: "memory",
    name: `${op} ${rows}×${columns}`,
    bytes: 4 * (matrices * size + vectors * columns + results),
    flops: size,
    unit: "f32",
    operands: () => [
      ...Array.from({ length: matrices }, (_, i) => matrix(3 + i, rows, columns)),
      ...Array.from({ length: vectors }, (_, i): Operand => ({ spec: { dtype: "f32", shape: [columns] }, data: uniform(13 + i, columns) })),
    ],
    call,
    sample(operands) {
      if (op === "sum") return { operands, at: () => 0 };
      const taken = spread(rows, 3);
      // The rows of a second matrix follow those of the first.
      const rowAt = (row: number): number => Math.floor(row / taken.length) * rows + taken[row % taken.length]!;
      return {
        operands: operands.map((operand, i) => (i < matrices ? rowsOf(operand, taken) : operand)),
        at: (index) => rowAt(Math.floor(index / columns)) * columns + (index % columns),
      };
    },
    // The sum of random numbers around 0 is small against its terms.
    limit: op === "sum" ? 1e-2 : limits.f32,
    peer: { op, shape: [rows, columns] },
  };
}

/** Choices from the logits of one token. */
export function samplingKernels(scale: Scale): readonly GpuKernel[] {
  const count = logitCounts[scale];
  return [
    {
      group: "sampling",
      name: `argmax ${count}`,
      bytes: 4 * count,
      flops: count,
      unit: "f32",
      operands: () => [matrix(5, 1, count)],
      call: (program, operands) => program.argmax(...tupleOf(operands, 1)),
      sample: (operands) => ({ operands, at: (index) => index }),
      limit: 0,
      peer: { op: "argmax", shape: [1, count] },
    },
    {
      group: "sampling",
      name: `sample ${count}, default options`,
      bytes: 4 * count,
      flops: 20 * count,
      unit: "f32",
      operands: () => [logitsOf(count), ...defaultOptions],
      call: (program, [logits, position, seed, temperature, topK, topP, minP]) =>
        program.sample(logits!, position!, seed!, temperature!, topK!, topP!, minP!),
      sample: (operands) => ({ operands, at: (index) => index }),
      limit: 0,
    },
  ];
}

/** Options of `sample` as `generate` has them, for one row: position, seed, temperature, top-k, top-p, min-p. */
const defaultOptions: readonly Operand[] = [
  { spec: { dtype: "i32", shape: [1] }, data: Int32Array.of(77) },
  { spec: { dtype: "i32", shape: [1, 2] }, data: Int32Array.of(5, 6) },
  { spec: { dtype: "f32", shape: [1] }, data: Float32Array.of(0.8) },
  { spec: { dtype: "i32", shape: [1] }, data: Int32Array.of(40) },
  { spec: { dtype: "f32", shape: [1] }, data: Float32Array.of(0.95) },
  { spec: { dtype: "f32", shape: [1] }, data: Float32Array.of(0.05) },
];

/** Logits from -10 to 10. */
function logitsOf(count: number): Operand {
  return { spec: { dtype: "f32", shape: [1, count] }, data: uniform(9, count).map((value) => 10 * value) };
}
