import { type AnyOp, isFused, type OpName, type ParamsOf } from "@centella/core";
import { type GpuKernel, gpuKernels } from "@centella/gpu-kernels";
import { definitionOf } from "../gpu/definition.ts";
import type { KernelDefinition } from "../kernel.ts";
import { abs } from "./abs.ts";
import { add } from "./add.ts";
import { argmax } from "./argmax.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { ceil } from "./ceil.ts";
import { clip } from "./clip.ts";
import { conv2d } from "./conv2d.ts";
import { copysign } from "./copysign.ts";
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
import { sigmoid } from "./sigmoid.ts";
import { sign } from "./sign.ts";
import { silu } from "./silu.ts";
import { sinh } from "./sinh.ts";
import { softmax } from "./softmax.ts";
import { softplus } from "./softplus.ts";
import { sqrt } from "./sqrt.ts";
import { sub } from "./sub.ts";
import { sum } from "./sum.ts";
import { tanh } from "./tanh.ts";
import { trunc } from "./trunc.ts";

/** Kernels by op name: the annotation is the registration. */
export type Kernels = { readonly [N in OpName]?: KernelDefinition<ParamsOf<N>> };

// `fromEntries` forgets whose parameters each kernel takes; the table that it is made of is typed by op.
/** Of ops that have no text of their own here: the kernels that all GPUs share. */
const shared = Object.fromEntries(
  Object.entries(gpuKernels).map(([name, kernel]) => [name, definitionOf(kernel as GpuKernel)]),
) as unknown as Kernels;

/** The kernels, by op. */
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
  sinh,
  softmax,
  softplus,
  sqrt,
  sub,
  sum,
  tanh,
  trunc,
};

const fused: KernelDefinition = fusedKernel({ formOf: (op) => kernelNamed(op)?.element, definitionOf: kernelNamed }) as KernelDefinition;

/** The kernel of an op (one that came with it too) or of a fused group, or undefined where there is none. */
export function kernelOf(op: AnyOp): KernelDefinition | undefined {
  if (op.kernels !== undefined) return op.kernels.wgsl && customKernel(op, op.kernels.wgsl);
  return isFused(op) ? fused : kernelNamed(op.name);
}

function kernelNamed(op: string): KernelDefinition | undefined {
  return Object.hasOwn(kernels, op) ? kernels[op as OpName] : undefined;
}
