import { exponential } from "../../elementwise/expressions/exponential.ts";
import type { ExpressionTable } from "../../elementwise/expressions/table.ts";
import { trigonometric } from "../../elementwise/expressions/trigonometric.ts";
import { expressionKernels } from "../../elementwise/kernel.ts";
import type { Kernels } from "../../kernel.ts";
import { all } from "../../kernels/all.ts";
import { any } from "../../kernels/any.ts";
import { arange } from "../../kernels/arange.ts";
import { argmin } from "../../kernels/argmin.ts";
import { argsort } from "../../kernels/argsort.ts";
import { cumprod } from "../../kernels/cumprod.ts";
import { cumsum } from "../../kernels/cumsum.ts";
import { dequantize } from "../../kernels/dequantize.ts";
import { dot } from "../../kernels/dot.ts";
import { eye } from "../../kernels/eye.ts";
import { full } from "../../kernels/full.ts";
import { gather } from "../../kernels/gather.ts";
import { layerNorm } from "../../kernels/layerNorm.ts";
import { logSoftmax } from "../../kernels/logSoftmax.ts";
import { min } from "../../kernels/min.ts";
import { normL1 } from "../../kernels/normL1.ts";
import { normL2 } from "../../kernels/normL2.ts";
import { normLinf } from "../../kernels/normLinf.ts";
import { pad } from "../../kernels/pad.ts";
import { prod } from "../../kernels/prod.ts";
import { quantize } from "../../kernels/quantize.ts";
import { random } from "../../kernels/random.ts";
import { scatter } from "../../kernels/scatter.ts";
import { softmax } from "../../kernels/softmax.ts";
import { sort } from "../../kernels/sort.ts";
import { stack } from "../../kernels/stack.ts";
import { sumKahan } from "../../kernels/sumKahan.ts";
import { takeAlongAxis } from "../../kernels/takeAlongAxis.ts";
import { topK } from "../../kernels/topK.ts";
import { topKIndices } from "../../kernels/topKIndices.ts";
import { variance } from "../../kernels/variance.ts";

export const expressions: ExpressionTable = { ...exponential, ...trigonometric };

/** Kernels that no language model needs. */
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
