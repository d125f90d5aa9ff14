import { activationVariants } from "../../elementwise/expressions/activationVariants.ts";
import { conversion } from "../../elementwise/expressions/conversion.ts";
import { exponential } from "../../elementwise/expressions/exponential.ts";
import { numeric } from "../../elementwise/expressions/numeric.ts";
import type { ExpressionTable } from "../../elementwise/expressions/table.ts";
import { trigonometric } from "../../elementwise/expressions/trigonometric.ts";
import { expressionKernels } from "../../elementwise/kernel.ts";
import type { Kernels } from "../../kernel.ts";
import { arange } from "../arange.ts";
import { argsort } from "../argsort.ts";
import { cumprod } from "../cumprod.ts";
import { cumsum } from "../cumsum.ts";
import { dequantize } from "../dequantize.ts";
import { dot } from "../dot.ts";
import { eye } from "../eye.ts";
import { full } from "../full.ts";
import { gather } from "../gather.ts";
import { layerNorm } from "../layerNorm.ts";
import { logSoftmax } from "../logSoftmax.ts";
import { normL1 } from "../normL1.ts";
import { normL2 } from "../normL2.ts";
import { normLinf } from "../normLinf.ts";
import { pad } from "../pad.ts";
import { quantize } from "../quantize.ts";
import { random } from "../random.ts";
import { scatter } from "../scatter.ts";
import { softmax } from "../softmax.ts";
import { sort } from "../sort.ts";
import { stack } from "../stack.ts";
import { sumKahan } from "../sumKahan.ts";
import { takeAlongAxis } from "../takeAlongAxis.ts";
import { topK } from "../topK.ts";
import { topKIndices } from "../topKIndices.ts";
import { variance } from "../variance.ts";

export const expressions: ExpressionTable = { ...activationVariants, ...conversion, ...exponential, ...numeric, ...trigonometric };

/** Array ops: norms of vectors, layer norms, scans, sorting, indexing, creation, random numbers, and less common functions. */
export const kernels: Kernels = {
  ...expressionKernels(expressions),
  arange,
  argsort,
  cumprod,
  cumsum,
  dequantize,
  dot,
  eye,
  full,
  gather,
  layerNorm,
  logSoftmax,
  normL1,
  normL2,
  normLinf,
  pad,
  quantize,
  random,
  scatter,
  softmax,
  sort,
  stack,
  sumKahan,
  takeAlongAxis,
  topK,
  topKIndices,
  variance,
};
