import { expressions } from "../elementwise/expressions/index.ts";
import { expressionKernels } from "../elementwise/kernel.ts";
import type { Kernels } from "../kernel.ts";
import { argmax } from "./argmax.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { concat } from "./concat.ts";
import { element } from "./element.ts";
import { embedding } from "./embedding.ts";
import { kvWrite } from "./kvWrite.ts";
import { layerNorm } from "./layerNorm.ts";
import { logSoftmax } from "./logSoftmax.ts";
import { matmul } from "./matmul.ts";
import { max } from "./max.ts";
import { mean } from "./mean.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";
import { slice } from "./slice.ts";
import { softmax } from "./softmax.ts";
import { sum } from "./sum.ts";
import { transpose } from "./transpose.ts";

/** The kernels that a language model may have, by op; the others are in `lateKernels.ts`. */
export const kernels: Kernels = {
  ...expressionKernels(expressions),
  argmax,
  assign,
  attention,
  concat,
  element,
  embedding,
  kvWrite,
  layerNorm,
  logSoftmax,
  matmul,
  max,
  mean,
  rmsNorm,
  rope,
  slice,
  softmax,
  sum,
  transpose,
};
