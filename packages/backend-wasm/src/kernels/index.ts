import { expressions } from "../elementwise/expressions/index.ts";
import { expressionKernel } from "../elementwise/kernel.ts";
import type { Kernel, Kernels } from "../kernel.ts";
import { argmax } from "./argmax.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { conv2d } from "./conv2d.ts";
import { dot } from "./dot.ts";
import { element } from "./element.ts";
import { embedding } from "./embedding.ts";
import { kvWrite } from "./kvWrite.ts";
import { layerNorm } from "./layerNorm.ts";
import { logSoftmax } from "./logSoftmax.ts";
import { matmul } from "./matmul.ts";
import { max } from "./max.ts";
import { mean } from "./mean.ts";
import { min } from "./min.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";
import { softmax } from "./softmax.ts";
import { sum } from "./sum.ts";

/** The kernels, by op. */
export const kernels: Kernels = {
  ...Object.fromEntries(Object.keys(expressions).map((op): [string, Kernel] => [op, expressionKernel(op)])),
  argmax,
  assign,
  attention,
  conv2d,
  dot,
  element,
  embedding,
  kvWrite,
  layerNorm,
  logSoftmax,
  matmul,
  max,
  mean,
  min,
  rmsNorm,
  rope,
  softmax,
  sum,
};
