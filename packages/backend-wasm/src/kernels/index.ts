import { expressions } from "../elementwise/expressions/index.ts";
import { expressionKernels } from "../elementwise/kernel.ts";
import type { Kernels } from "../kernel.ts";
import { argmax } from "./argmax.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { element } from "./element.ts";
import { embedding } from "./embedding.ts";
import { kvWrite } from "./kvWrite.ts";
import { matmul } from "./matmul.ts";
import { max } from "./max.ts";
import { mean } from "./mean.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";
import { sum } from "./sum.ts";

/** Kernels that are loaded with the backend: those that language models commonly use. The remaining ones are lazy. */
export const kernels: Kernels = {
  ...expressionKernels(expressions),
  argmax,
  assign,
  attention,
  element,
  embedding,
  kvWrite,
  matmul,
  max,
  mean,
  rmsNorm,
  rope,
  sum,
};
