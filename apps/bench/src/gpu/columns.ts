import type { Program, Value } from "@centella/core";
import { elementAt, tupleOf } from "@centella/quant/checks";
import { type GpuKernel, limits, matrix, type Operand, type PeerTask, type Scale, spread } from "./kernel.ts";

/** An op along the last axis but one. */
interface ColumnOp {
  readonly op: "sum" | "softmax" | "argmax" | "cumsum";
  /** Whether the axis has one result. */
  readonly isReduction: boolean;
  readonly limit: number;
  readonly call: (program: Program, x: Value) => Value;
}

const axis = -2;
const sum: ColumnOp = { op: "sum", isReduction: true, limit: limits.f32, call: (program, x) => program.sum(x, { axis }) };
const argmax: ColumnOp = { op: "argmax", isReduction: true, limit: 0, call: (program, x) => program.argmax(x, { axis }) };
const softmax: ColumnOp = { op: "softmax", isReduction: false, limit: limits.f32, call: (program, x) => program.softmax(x, { axis }) };
const cumsum: ColumnOp = { op: "cumsum", isReduction: false, limit: limits.f32, call: (program, x) => program.cumsum(x, { axis }) };

/** A matrix; the channels of images; many rows of few columns; an image whose channels are in groups. */
const shapes = {
  full: { matrix: [8192, 8192], image: [16, 64, 2 ** 16], tall: [2 ** 20, 64], groups: [1, 64, 160, 1024] },
  tiny: { matrix: [48, 128], image: [2, 21, 66], tall: [300, 8], groups: [1, 64, 3, 8] },
} as const satisfies Readonly<Record<Scale, Readonly<Record<string, readonly number[]>>>>;

/** Ops along an axis that is not the last, and norms of groups of channels. */
export function columnKernels(scale: Scale): readonly GpuKernel[] {
  const { matrix: square, image, tall, groups } = shapes[scale];
  return [
    columnKernel(sum, square),
    columnKernel(argmax, square),
    columnKernel(argmax, image),
    columnKernel(softmax, square),
    columnKernel(softmax, image),
    columnKernel(cumsum, tall),
    groupNormKernel(groups),
  ];
}

function columnKernel({ op, isReduction, limit, call }: ColumnOp, shape: readonly number[]): GpuKernel {
  const [rows, columns] = tupleOf(shape.slice(-2), 2);
  const size = shape.reduce((product, extent) => product * extent, 1);
  const taken = spread(columns, 5);
  return {
    group: "memory",
    name: `${op} over axis ${shape.length - 2} of ${shape.join("×")}`,
    bytes: 4 * (size + (isReduction ? size / rows : size)),
    flops: size,
    unit: "f32",
    operands: () => [matrix(3, ...shape)],
    call: (program, operands) => call(program, ...tupleOf(operands, 1)),
    sample: ([x]) => ({ operands: [columnsOf(x!, taken)], at: (index) => columnAt(index, taken, columns) }),
    limit,
    peer: { op: `${op}Columns`, shape } satisfies PeerTask,
  };
}

/** The columns `taken` of a tensor. */
function columnsOf({ spec, data }: Operand, taken: readonly number[]): Operand {
  const columns = spec.shape.at(-1)!;
  const some = Float32Array.from({ length: (data.length / columns) * taken.length }, (_, i) =>
    elementAt(data, columnAt(i, taken, columns)),
  );
  return { spec: { dtype: "f32", shape: [...spec.shape.slice(0, -1), taken.length] }, data: some };
}

/** Index among all columns of element `index` of the taken ones. */
function columnAt(index: number, taken: readonly number[], columns: number): number {
  return Math.floor(index / taken.length) * columns + elementAt(taken, index % taken.length);
}

function groupNormKernel(shape: readonly [number, number, number, number]): GpuKernel {
  const size = shape.reduce((product, extent) => product * extent, 1);
  const channels = shape[1];
  return {
    group: "memory",
    name: `groupNorm ${shape.join("×")}, 32 groups`,
    bytes: 4 * (2 * size + 2 * channels),
    flops: size,
    unit: "f32",
    operands: () => [matrix(3, ...shape), matrix(4, channels), matrix(5, channels)],
    call(program, operands) {
      const [x, w, bias] = tupleOf(operands, 3);
      return program.groupNorm(x, w, { bias, groups: 32, eps: 1e-5 });
    },
    sample: (operands) => ({ operands, at: (index) => index }),
    limit: limits.f32,
    peer: { op: "groupNorm", shape },
  };
}
