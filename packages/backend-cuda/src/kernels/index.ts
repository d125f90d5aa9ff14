import { type AnyOp, elementCount, type FusionLimits, maxSpec, type OpName, type ParamsOf, type TensorSpec } from "@centella/core";
import { add } from "./add.ts";
import { argmax } from "./argmax.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { clip } from "./clip.ts";
import { conv2d } from "./conv2d.ts";
import { div } from "./div.ts";
import { dot } from "./dot.ts";
import { element } from "./element.ts";
import { elu } from "./elu.ts";
import { embedding } from "./embedding.ts";
import { fusedKernel } from "./fused.ts";
import { gelu } from "./gelu.ts";
import { kvWrite } from "./kvWrite.ts";
import { leakyRelu } from "./leakyRelu.ts";
import { logSoftmax } from "./logSoftmax.ts";
import { matmul } from "./matmul.ts";
import { max } from "./max.ts";
import { mean } from "./mean.ts";
import { min } from "./min.ts";
import { mul } from "./mul.ts";
import { relu } from "./relu.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";
import { scale } from "./scale.ts";
import type { Kernel } from "./shared/kernel.ts";
import { sigmoid } from "./sigmoid.ts";
import { silu } from "./silu.ts";
import { softmax } from "./softmax.ts";
import { sub } from "./sub.ts";
import { sum } from "./sum.ts";
import { tanh } from "./tanh.ts";

/** The kernels that there are, by op. An alias op needs none. */
export type Kernels = { readonly [N in OpName]?: Kernel<ParamsOf<N>> };

export const kernels: Kernels = {
  add,
  argmax,
  assign,
  attention,
  clip,
  conv2d,
  div,
  dot,
  element,
  elu,
  embedding,
  gelu,
  kvWrite,
  leakyRelu,
  logSoftmax,
  matmul,
  max,
  mean,
  min,
  mul,
  relu,
  rmsNorm,
  rope,
  scale,
  sigmoid,
  silu,
  softmax,
  sub,
  sum,
  tanh,
};

const byName: Readonly<Record<string, Kernel>> = { ...(kernels as Readonly<Record<string, Kernel>>) };
const fused: Kernel = fusedKernel((op) => byName[op]?.element) as Kernel;

/** The kernel of an op or of a fused group, its parameter type erased as the op's is. */
export function kernelOf(op: AnyOp): Kernel | undefined {
  return op.name === "fused" ? fused : byName[op.name];
}

/** Bodies beyond this are split: registers run out long before. */
export const fusion: FusionLimits = { maxInputs: 64, maxCalls: 256 };

/** Kernels count elements in 32 bits. */
const maxElements = 2 ** 31 - 1;

/** Why there is no kernel for a call; undefined if there is. See `Backend.unsupported`. */
export function unsupported(
  op: AnyOp,
  inputs: readonly (TensorSpec | undefined)[],
  params: object,
  output: TensorSpec,
): string | undefined {
  if (op.alias === true) return undefined;
  const kernel = kernelOf(op);
  if (kernel === undefined) return `there is no kernel for ${op.name} yet`;
  const large = [...inputs, output].find((spec) => spec !== undefined && elementCount(maxSpec(spec).shape) > maxElements);
  if (large !== undefined) return `a tensor of more than ${maxElements} elements`;
  return kernel.unsupported?.(inputs, params, output);
}
