import type { OpName, ParamsOf } from "@centella/core";
import type { GpuKernel } from "./kernel.ts";
import { acos } from "./kernels/acos.ts";
import { acosh } from "./kernels/acosh.ts";
import { all } from "./kernels/all.ts";
import { any } from "./kernels/any.ts";
import { arange } from "./kernels/arange.ts";
import { argmin } from "./kernels/argmin.ts";
import { argsort } from "./kernels/argsort.ts";
import { asin } from "./kernels/asin.ts";
import { asinh } from "./kernels/asinh.ts";
import { atan } from "./kernels/atan.ts";
import { atanh } from "./kernels/atanh.ts";
import { avgPool2d } from "./kernels/avgPool2d.ts";
import { batchNorm } from "./kernels/batchNorm.ts";
import { cast } from "./kernels/cast.ts";
import { concat } from "./kernels/concat.ts";
import { conv1d } from "./kernels/conv1d.ts";
import { cos } from "./kernels/cos.ts";
import { cumprod } from "./kernels/cumprod.ts";
import { cumsum } from "./kernels/cumsum.ts";
import { dequantize } from "./kernels/dequantize.ts";
import { equal } from "./kernels/equal.ts";
import { expand } from "./kernels/expand.ts";
import { eye } from "./kernels/eye.ts";
import { fma } from "./kernels/fma.ts";
import { full } from "./kernels/full.ts";
import { gather } from "./kernels/gather.ts";
import { greater } from "./kernels/greater.ts";
import { greaterEqual } from "./kernels/greaterEqual.ts";
import { groupNorm } from "./kernels/groupNorm.ts";
import { lerp } from "./kernels/lerp.ts";
import { less } from "./kernels/less.ts";
import { lessEqual } from "./kernels/lessEqual.ts";
import { logicalAnd } from "./kernels/logicalAnd.ts";
import { logicalNot } from "./kernels/logicalNot.ts";
import { logicalOr } from "./kernels/logicalOr.ts";
import { logicalXor } from "./kernels/logicalXor.ts";
import { maxPool2d } from "./kernels/maxPool2d.ts";
import { moeMatmul } from "./kernels/moeMatmul.ts";
import { moeRoute } from "./kernels/moeRoute.ts";
import { moeWeights } from "./kernels/moeWeights.ts";
import { normL1 } from "./kernels/normL1.ts";
import { normL2 } from "./kernels/normL2.ts";
import { normLinf } from "./kernels/normLinf.ts";
import { notEqual } from "./kernels/notEqual.ts";
import { pad } from "./kernels/pad.ts";
import { pow } from "./kernels/pow.ts";
import { power } from "./kernels/power.ts";
import { prod } from "./kernels/prod.ts";
import { random } from "./kernels/random.ts";
import { scatter } from "./kernels/scatter.ts";
import { sin } from "./kernels/sin.ts";
import { slice } from "./kernels/slice.ts";
import { sort } from "./kernels/sort.ts";
import { ssmConv } from "./kernels/ssmConv.ts";
import { ssmConvWrite } from "./kernels/ssmConvWrite.ts";
import { ssmScan } from "./kernels/ssmScan.ts";
import { ssmScanWrite } from "./kernels/ssmScanWrite.ts";
import { stack } from "./kernels/stack.ts";
import { sumKahan } from "./kernels/sumKahan.ts";
import { takeAlongAxis } from "./kernels/takeAlongAxis.ts";
import { tan } from "./kernels/tan.ts";
import { topK } from "./kernels/topK.ts";
import { topKIndices } from "./kernels/topKIndices.ts";
import { transpose } from "./kernels/transpose.ts";
import { variance } from "./kernels/variance.ts";
import { where } from "./kernels/where.ts";

export type { Bool, Comparison, Emitter, F32, I32, NumberType, SharedArray, U32, Value, ValueType, Variable } from "./emitter.ts";
export {
  asValue,
  divide,
  type Extent,
  type ExtentMath,
  isBelow,
  offset,
  plus,
  product,
  stridesOf,
  times,
  timesPlus,
  unflatten,
} from "./extent.ts";
export { type GpuArgument, type GpuCall, type GpuElement, type GpuKernel, type GpuScope, type GpuStep, mostElements } from "./kernel.ts";

/** Kernels that are spelled once for all GPUs, by op: the annotation is the registration. */
export type GpuKernels = { readonly [N in OpName]?: GpuKernel<ParamsOf<N>> };

/** What a GPU backend computes with where it has no kernel of its own. */
export const gpuKernels: GpuKernels = {
  acos,
  acosh,
  all,
  any,
  arange,
  argmin,
  argsort,
  asin,
  asinh,
  atan,
  atanh,
  avgPool2d,
  batchNorm,
  cast,
  concat,
  conv1d,
  cos,
  cumprod,
  cumsum,
  dequantize,
  equal,
  expand,
  eye,
  fma,
  full,
  gather,
  greater,
  greaterEqual,
  groupNorm,
  lerp,
  less,
  lessEqual,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  maxPool2d,
  moeMatmul,
  moeRoute,
  moeWeights,
  normL1,
  normL2,
  normLinf,
  notEqual,
  pad,
  pow,
  power,
  prod,
  random,
  scatter,
  sin,
  slice,
  sort,
  ssmConv,
  ssmConvWrite,
  ssmScan,
  ssmScanWrite,
  stack,
  sumKahan,
  takeAlongAxis,
  tan,
  topK,
  topKIndices,
  transpose,
  variance,
  where,
};
