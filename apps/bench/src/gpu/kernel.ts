import type { Activations, ConcreteSpec, DType, Program, TypedArray, Value } from "@centella/core";
import { layoutOf, typedArrayOf } from "@centella/core/backend";
import { uniform } from "../stats/random.ts";

/** Groups of kernels, each of which can be measured alone. */
export type KernelGroup = "products" | "memory" | "convolution" | "attention" | "sampling";

/** A tensor that a kernel reads, in its stored form. */
export interface Operand {
  readonly spec: ConcreteSpec;
  readonly data: TypedArray;
  /** Whether all calls of a run read the same tensor, so that caches hold it. Default: each call has a copy of its own. */
  readonly isShared?: boolean;
}

/** The unit that does a kernel's arithmetic at best. */
export type Unit = "f32" | "tensor";

/** One op on fixed shapes, on random data. */
export interface GpuKernel {
  readonly group: KernelGroup;
  readonly name: string;
  /** Fewest bytes that a call moves: inputs and output once. */
  readonly bytes: number;
  readonly flops: number;
  readonly unit: Unit;
  operands(): readonly Operand[];
  call(program: Program, operands: readonly Value[]): Value;
  /** Operands of a smaller call on the reference, whose results are those at `at` of the whole. */
  sample(operands: readonly Operand[]): Sample;
  /** Largest relative error, as a quotient of norms. */
  readonly limit: number;
  /** The same work for a peer. Absent if no peer does it. */
  readonly peer?: PeerTask;
}

export interface Sample {
  readonly operands: readonly Operand[];
  /** Index in the kernel's result of each element of the smaller call's result. */
  at(index: number): number;
}

/** What the script of the PyTorch peer computes. */
export type PeerTask =
  | {
      readonly op: "matmul";
      readonly m: number;
      readonly n: number;
      readonly k: number;
      readonly dtype: "f16" | "f32";
      /** Whether all calls of a run multiply the same rows. */
      readonly isShared: boolean;
    }
  | {
      readonly op: "attention";
      readonly tokens: number;
      readonly keys: number;
      readonly heads: number;
      readonly kvHeads: number;
      readonly size: number;
    }
  | {
      readonly op:
        | "relu"
        | "add"
        | "concat"
        | "sum"
        | "softmax"
        | "rmsNorm"
        | "layerNorm"
        | "argmax"
        | "cumsum"
        | "topK"
        | "copy"
        | "transpose"
        | "slice"
        | "gather";
      readonly shape: readonly [number, number];
    }
  /** Along the last axis but one; of `groupNorm`, in 32 groups of the second axis. */
  | {
      readonly op: "sumColumns" | "softmaxColumns" | "argmaxColumns" | "cumsumColumns" | "groupNorm";
      readonly shape: readonly number[];
    };

/** Sizes of kernels: those that fill a GPU, or tiny ones that a software GPU computes in moments. */
export type Scale = "full" | "tiny";

/** The mode of activations in which models on a backend multiply with weights of a type. */
export type ModeOf = (weights: DType) => Activations;

/** Largest relative error of results, by mode: sums of f32; operands rounded to halves; activations rounded to 8 bits. */
export const limits: Readonly<Record<Activations, number>> = { f32: 1e-4, half: 5e-3, ggml: 3e-2 };

/** A random operand of a shape. */
export function matrix(seed: number, ...shape: readonly number[]): Operand {
  const count = shape.reduce((product, extent) => product * extent, 1);
  return { spec: { dtype: "f32", shape }, data: uniform(seed, count) };
}

/** Rows of a tensor: the given ones of its first axis. */
export function rowsOf({ spec: { dtype, shape }, data }: Operand, rows: readonly number[]): Operand {
  const [, ...rest] = shape;
  const { elements, bytes } = layoutOf(dtype);
  const rowBytes = (rest.reduce((a, b) => a * b, 1) / elements) * bytes;
  const all = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const taken = new Uint8Array(rows.length * rowBytes);
  for (const [i, row] of rows.entries()) taken.set(all.subarray(row * rowBytes, (row + 1) * rowBytes), i * rowBytes);
  return { spec: { dtype, shape: [rows.length, ...rest] }, data: new (typedArrayOf(dtype))(taken.buffer) };
}

/** Up to `count` indices from 0 to below `length`, the first and the last among them. */
export function spread(length: number, count: number): readonly number[] {
  if (length <= count) return Array.from({ length }, (_, i) => i);
  return Array.from({ length: count }, (_, i) => Math.round((i * (length - 1)) / (count - 1)));
}

/** The bytes of a tensor in its stored form. */
export function bytesOf(data: TypedArray): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
