import { expressions } from "../elementwise/expressions/index.ts";
import { expressionKernel } from "../elementwise/kernel.ts";
import type { Kernel, Kernels } from "../kernel.ts";
import { all } from "./all.ts";
import { any } from "./any.ts";
import { argmax } from "./argmax.ts";
import { argmin } from "./argmin.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { batchNorm } from "./batchNorm.ts";
import { conv2d } from "./conv2d.ts";
import { cumprod } from "./cumprod.ts";
import { cumsum } from "./cumsum.ts";
import { dot } from "./dot.ts";
import { element } from "./element.ts";
import { embedding } from "./embedding.ts";
import { groupNorm } from "./groupNorm.ts";
import { kvWrite } from "./kvWrite.ts";
import { layerNorm } from "./layerNorm.ts";
import { logSoftmax } from "./logSoftmax.ts";
import { matmul } from "./matmul.ts";
import { max } from "./max.ts";
import { mean } from "./mean.ts";
import { min } from "./min.ts";
import { normL1 } from "./normL1.ts";
import { normL2 } from "./normL2.ts";
import { normLinf } from "./normLinf.ts";
import { prod } from "./prod.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";
import { softmax } from "./softmax.ts";
import { sum } from "./sum.ts";

import { sumKahan } from "./sumKahan.ts";

import { variance } from "./variance.ts";

/** The kernels, by op. */
export const kernels: Kernels = {
  ...Object.fromEntries(Object.keys(expressions).map((op): [string, Kernel] => [op, expressionKernel(op)])),
  argmax,
  variance,
  sumKahan,
  prod,
  normLinf,
  normL2,
  normL1,
  groupNorm,
  cumsum,
  cumprod,
  batchNorm,
  argmin,
  any,
  all,
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
