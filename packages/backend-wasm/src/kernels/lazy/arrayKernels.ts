import { activationVariants } from "../../elementwise/expressions/activationVariants.ts";
import { conversion } from "../../elementwise/expressions/conversion.ts";
import { exponential } from "../../elementwise/expressions/exponential.ts";
import { numeric } from "../../elementwise/expressions/numeric.ts";
import type { ExpressionTable } from "../../elementwise/expressions/table.ts";
import { trigonometric } from "../../elementwise/expressions/trigonometric.ts";
import { expressionKernels } from "../../elementwise/kernel.ts";
import type { Kernels } from "../../kernel.ts";
import { all } from "../all.ts";
import { any } from "../any.ts";
import { arange } from "../arange.ts";
import { argmin } from "../argmin.ts";
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
import { min } from "../min.ts";
import { normL1 } from "../normL1.ts";
import { normL2 } from "../normL2.ts";
import { normLinf } from "../normLinf.ts";
import { pad } from "../pad.ts";
import { prod } from "../prod.ts";
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

/** Array ops: reductions, layer norms, scans, sorting, indexing, creation, random numbers, and less common functions. */
export const kernels: Kernels = {
  ...expressionKernels(expressions),
  all,
  any,
  arange,
  argmin,
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
  min,
  normL1,
  normL2,
  normLinf,
  pad,
  prod,
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
