import type { OpName, ParamsOf } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
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
import { sigmoid } from "./sigmoid.ts";
import { silu } from "./silu.ts";
import { softmax } from "./softmax.ts";
import { sub } from "./sub.ts";
import { sum } from "./sum.ts";
import { tanh } from "./tanh.ts";

/** Kernels by op name: the annotation is the registration. */
export type Kernels = { readonly [N in OpName]?: KernelDefinition<ParamsOf<N>> };

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

const fused: KernelDefinition = fusedKernel((op) => kernelOf(op)?.element) as KernelDefinition;

/** The kernel of an op or of a fused group, or undefined where there is none. */
export function kernelOf(op: string): KernelDefinition | undefined {
  if (op === "fused") return fused;
  return Object.hasOwn(kernels, op) ? kernels[op as OpName] : undefined;
}
