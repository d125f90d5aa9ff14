import { type AnyOp, elementCount, type FusionLimits, isFused, maxSpec, type OpName, type ParamsOf, type TensorSpec } from "@centella/core";
import { type GpuKernel, gpuKernels } from "@centella/gpu-kernels";
import { kernelFrom } from "../gpu/kernel.ts";
import { abs } from "./abs.ts";
import { add } from "./add.ts";
import { argmax } from "./argmax.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { ceil } from "./ceil.ts";
import { clip } from "./clip.ts";
import { conv2d } from "./conv2d.ts";
import { copysign } from "./copysign.ts";
import { cos } from "./cos.ts";
import { cosh } from "./cosh.ts";
import { div } from "./div.ts";
import { dot } from "./dot.ts";
import { element } from "./element.ts";
import { elu } from "./elu.ts";
import { embedding } from "./embedding.ts";
import { exp } from "./exp.ts";
import { floor } from "./floor.ts";
import { fract } from "./fract.ts";
import { fusedKernel } from "./fused.ts";
import { gelu } from "./gelu.ts";
import { geluErf } from "./geluErf.ts";
import { hardswish } from "./hardswish.ts";
import { kvWrite } from "./kvWrite.ts";
import { layerNorm } from "./layerNorm.ts";
import { leakyRelu } from "./leakyRelu.ts";
import { log } from "./log.ts";
import { log2 } from "./log2.ts";
import { log10 } from "./log10.ts";
import { logSoftmax } from "./logSoftmax.ts";
import { matmul } from "./matmul.ts";
import { max } from "./max.ts";
import { maximum } from "./maximum.ts";
import { mean } from "./mean.ts";
import { min } from "./min.ts";
import { minimum } from "./minimum.ts";
import { mish } from "./mish.ts";
import { mul } from "./mul.ts";
import { neg } from "./neg.ts";
import { reciprocal } from "./reciprocal.ts";
import { relu } from "./relu.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";
import { round } from "./round.ts";
import { rsqrt } from "./rsqrt.ts";
import { scale } from "./scale.ts";
import { selu } from "./selu.ts";
import { customKernel } from "./shared/custom.ts";
import type { Kernel } from "./shared/kernel.ts";
import { sigmoid } from "./sigmoid.ts";
import { sign } from "./sign.ts";
import { silu } from "./silu.ts";
import { sin } from "./sin.ts";
import { sinh } from "./sinh.ts";
import { softmax } from "./softmax.ts";
import { softplus } from "./softplus.ts";
import { sqrt } from "./sqrt.ts";
import { sub } from "./sub.ts";
import { sum } from "./sum.ts";
import { tan } from "./tan.ts";
import { tanh } from "./tanh.ts";
import { trunc } from "./trunc.ts";

/** The kernels that there are, by op. An alias op needs none. */
export type Kernels = { readonly [N in OpName]?: Kernel<ParamsOf<N>> };

// `fromEntries` forgets whose parameters each kernel takes; the table that it is made of is typed by op.
/** Of ops that have no text of their own here: the kernels that all GPUs share. */
const shared = Object.fromEntries(
  Object.entries(gpuKernels).map(([name, kernel]) => [name, kernelFrom(name, kernel as GpuKernel)]),
) as unknown as Kernels;

export const kernels: Kernels = {
  ...shared,
  abs,
  add,
  argmax,
  assign,
  attention,
  ceil,
  clip,
  conv2d,
  copysign,
  cos,
  cosh,
  div,
  dot,
  element,
  elu,
  embedding,
  exp,
  floor,
  fract,
  gelu,
  geluErf,
  hardswish,
  kvWrite,
  layerNorm,
  leakyRelu,
  log,
  log10,
  log2,
  logSoftmax,
  matmul,
  max,
  maximum,
  mean,
  min,
  minimum,
  mish,
  mul,
  neg,
  reciprocal,
  relu,
  rmsNorm,
  rope,
  round,
  rsqrt,
  scale,
  selu,
  sigmoid,
  sign,
  silu,
  sin,
  sinh,
  softmax,
  softplus,
  sqrt,
  sub,
  sum,
  tan,
  tanh,
  trunc,
};

const byName: Readonly<Record<string, Kernel>> = { ...(kernels as Readonly<Record<string, Kernel>>) };
const fused: Kernel = fusedKernel((op) => byName[op]) as Kernel;

/** The kernel of an op (one that came with it too) or of a fused group, its parameter type erased as the op's is. */
export function kernelOf(op: AnyOp): Kernel | undefined {
  if (op.kernels !== undefined) return op.kernels.ptx && customKernel(op, op.kernels.ptx);
  return isFused(op) ? fused : byName[op.name];
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
  if (kernel === undefined)
    return op.kernels === undefined ? `there is no kernel for ${op.name} yet` : `${op.name} came without a kernel for cuda`;
  const large = [...inputs, output].find((spec) => spec !== undefined && elementCount(maxSpec(spec).shape) > maxElements);
  if (large !== undefined) return `a tensor of more than ${maxElements} elements`;
  return kernel.unsupported?.(inputs, params, output);
}
