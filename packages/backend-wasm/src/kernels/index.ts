import { expressions } from "../elementwise/expressions/index.ts";
import { expressionKernels } from "../elementwise/kernel.ts";
import type { Kernels } from "../kernel.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { element } from "./element.ts";
import { embedding } from "./embedding.ts";
import { kvWrite } from "./kvWrite.ts";
import { matmul } from "./matmul.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";

/** Kernels that are loaded with the backend: those that language models commonly use. The remaining ones are lazy. */
export const kernels: Kernels = {
  ...expressionKernels(expressions),
  assign,
  attention,
  element,
  embedding,
  kvWrite,
  matmul,
  rmsNorm,
  rope,
};
