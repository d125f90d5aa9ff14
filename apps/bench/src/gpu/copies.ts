import type { Program, Value } from "@centella/core";
import { tupleOf } from "@centella/quant/checks";
import { uniform } from "../stats/random.ts";
import { type GpuKernel, type Operand, rowsOf, type Scale, spread } from "./kernel.ts";

const shapes: Readonly<Record<Scale, readonly [number, number]>> = { full: [8192, 8192], tiny: [48, 128] };

/** Rows of the input and of the result that are compared. */
const compared = 3;

/** An op that moves the elements of `x [rows, columns]`. */
interface CopyOp {
  readonly op: "copy" | "transpose" | "slice" | "gather";
  readonly call: (program: Program, operands: readonly Value[]) => Value;
}

const copyOps: readonly CopyOp[] = [
  // Nothing else reads one tensor and writes all of it.
  { op: "copy", call: (program, [x]) => program.concat([x!], { axis: 0 }) },
  { op: "transpose", call: (program, [x]) => program.transpose(x!) },
  { op: "slice", call: (program, [x]) => program.slice(x!, { axis: 1, start: 32, end: -32 }) },
  { op: "gather", call: (program, operands) => program.gather(...tupleOf(operands, 2)) },
];

/** Ops that only move elements, on a tensor of 256 MiB. */
export function copyKernels(scale: Scale): readonly GpuKernel[] {
  const [rows, columns] = shapes[scale];
  return copyOps.map((op) => copyKernel(op, rows, columns));
}

function copyKernel({ op, call }: CopyOp, rows: number, columns: number): GpuKernel {
  const width = op === "slice" ? columns - 64 : columns;
  const taken = spread(rows, compared);
  return {
    group: "memory",
    name: `${op} ${rows}×${columns}`,
    bytes: 8 * rows * width + (op === "gather" ? 4 * rows : 0),
    flops: 0,
    unit: "f32",
    operands: () => [
      { spec: { dtype: "f32", shape: [rows, columns] }, data: uniform(3, rows * columns) },
      ...(op === "gather" ? [{ spec: { dtype: "i32", shape: [rows] }, data: mixedRows(rows) } satisfies Operand] : []),
    ],
    call,
    sample([x, indices]) {
      return {
        // All rows of the tensor that is gathered from: indices are into these.
        operands: indices === undefined ? [rowsOf(x!, taken)] : [x!, rowsOf(indices, taken)],
        at: (index) =>
          op === "transpose"
            ? Math.floor(index / taken.length) * rows + taken[index % taken.length]!
            : taken[Math.floor(index / width)]! * width + (index % width),
      };
    },
    limit: 0,
    peer: { op, shape: [rows, columns] },
  };
}

/** All rows in another order. */
function mixedRows(rows: number): Int32Array {
  return Int32Array.from({ length: rows }, (_, i) => (i * 2731) % rows);
}
