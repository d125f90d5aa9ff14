import type { OpName } from "@centella/core";
import type { GpuKernelOf } from "./kernel.ts";
import { abs } from "./kernels/abs.ts";
import { acos } from "./kernels/acos.ts";
import { acosh } from "./kernels/acosh.ts";
import { add } from "./kernels/add.ts";
import { all } from "./kernels/all.ts";
import { any } from "./kernels/any.ts";
import { arange } from "./kernels/arange.ts";
import { argmax } from "./kernels/argmax.ts";
import { argmin } from "./kernels/argmin.ts";
import { argsort } from "./kernels/argsort.ts";
import { asin } from "./kernels/asin.ts";
import { asinh } from "./kernels/asinh.ts";
import { assign } from "./kernels/assign.ts";
import { atan } from "./kernels/atan.ts";
import { atanh } from "./kernels/atanh.ts";
import { avgPool2d } from "./kernels/avgPool2d.ts";
import { batchNorm } from "./kernels/batchNorm.ts";
import { cast } from "./kernels/cast.ts";
import { ceil } from "./kernels/ceil.ts";
import { clip } from "./kernels/clip.ts";
import { concat } from "./kernels/concat.ts";
import { conv1d } from "./kernels/conv1d.ts";
import { conv2d } from "./kernels/conv2d.ts";
import { copysign } from "./kernels/copysign.ts";
import { cos } from "./kernels/cos.ts";
import { cosh } from "./kernels/cosh.ts";
import { cumprod } from "./kernels/cumprod.ts";
import { cumsum } from "./kernels/cumsum.ts";
import { deltaScan } from "./kernels/deltaScan.ts";
import { deltaScanWrite } from "./kernels/deltaScanWrite.ts";
import { dequantize } from "./kernels/dequantize.ts";
import { div } from "./kernels/div.ts";
import { dot } from "./kernels/dot.ts";
import { element } from "./kernels/element.ts";
import { elu } from "./kernels/elu.ts";
import { embedding } from "./kernels/embedding.ts";
import { equal } from "./kernels/equal.ts";
import { exp } from "./kernels/exp.ts";
import { expand } from "./kernels/expand.ts";
import { eye } from "./kernels/eye.ts";
import { floor } from "./kernels/floor.ts";
import { fma } from "./kernels/fma.ts";
import { fract } from "./kernels/fract.ts";
import { full } from "./kernels/full.ts";
import { gather } from "./kernels/gather.ts";
import { gelu } from "./kernels/gelu.ts";
import { geluErf } from "./kernels/geluErf.ts";
import { greater } from "./kernels/greater.ts";
import { greaterEqual } from "./kernels/greaterEqual.ts";
import { groupNorm } from "./kernels/groupNorm.ts";
import { hardswish } from "./kernels/hardswish.ts";
import { kvWrite } from "./kernels/kvWrite.ts";
import { layerNorm } from "./kernels/layerNorm.ts";
import { leakyRelu } from "./kernels/leakyRelu.ts";
import { lerp } from "./kernels/lerp.ts";
import { less } from "./kernels/less.ts";
import { lessEqual } from "./kernels/lessEqual.ts";
import { log } from "./kernels/log.ts";
import { log2 } from "./kernels/log2.ts";
import { log10 } from "./kernels/log10.ts";
import { logicalAnd } from "./kernels/logicalAnd.ts";
import { logicalNot } from "./kernels/logicalNot.ts";
import { logicalOr } from "./kernels/logicalOr.ts";
import { logicalXor } from "./kernels/logicalXor.ts";
import { logSoftmax } from "./kernels/logSoftmax.ts";
import { max } from "./kernels/max.ts";
import { maximum } from "./kernels/maximum.ts";
import { maxPool2d } from "./kernels/maxPool2d.ts";
import { mean } from "./kernels/mean.ts";
import { min } from "./kernels/min.ts";
import { minimum } from "./kernels/minimum.ts";
import { mish } from "./kernels/mish.ts";
import { moeMatmul } from "./kernels/moeMatmul.ts";
import { moeRoute } from "./kernels/moeRoute.ts";
import { moeWeights } from "./kernels/moeWeights.ts";
import { mul } from "./kernels/mul.ts";
import { neg } from "./kernels/neg.ts";
import { normL1 } from "./kernels/normL1.ts";
import { normL2 } from "./kernels/normL2.ts";
import { normLinf } from "./kernels/normLinf.ts";
import { notEqual } from "./kernels/notEqual.ts";
import { pad } from "./kernels/pad.ts";
import { pow } from "./kernels/pow.ts";
import { power } from "./kernels/power.ts";
import { prod } from "./kernels/prod.ts";
import { quantize } from "./kernels/quantize.ts";
import { random } from "./kernels/random.ts";
import { reciprocal } from "./kernels/reciprocal.ts";
import { relu } from "./kernels/relu.ts";
import { rmsNorm } from "./kernels/rmsNorm.ts";
import { rope } from "./kernels/rope.ts";
import { round } from "./kernels/round.ts";
import { rsqrt } from "./kernels/rsqrt.ts";
import { sample } from "./kernels/sample.ts";
import { scale } from "./kernels/scale.ts";
import { scatter } from "./kernels/scatter.ts";
import { selu } from "./kernels/selu.ts";
import { sigmoid } from "./kernels/sigmoid.ts";
import { sign } from "./kernels/sign.ts";
import { silu } from "./kernels/silu.ts";
import { sin } from "./kernels/sin.ts";
import { sinh } from "./kernels/sinh.ts";
import { slice } from "./kernels/slice.ts";
import { softmax } from "./kernels/softmax.ts";
import { softplus } from "./kernels/softplus.ts";
import { sort } from "./kernels/sort.ts";
import { sqrt } from "./kernels/sqrt.ts";
import { ssmConv } from "./kernels/ssmConv.ts";
import { ssmConvWrite } from "./kernels/ssmConvWrite.ts";
import { ssmScan } from "./kernels/ssmScan.ts";
import { ssmScanWrite } from "./kernels/ssmScanWrite.ts";
import { stack } from "./kernels/stack.ts";
import { sub } from "./kernels/sub.ts";
import { sum } from "./kernels/sum.ts";
import { sumKahan } from "./kernels/sumKahan.ts";
import { takeAlongAxis } from "./kernels/takeAlongAxis.ts";
import { tan } from "./kernels/tan.ts";
import { tanh } from "./kernels/tanh.ts";
import { topK } from "./kernels/topK.ts";
import { topKIndices } from "./kernels/topKIndices.ts";
import { transpose } from "./kernels/transpose.ts";
import { trunc } from "./kernels/trunc.ts";
import { variance } from "./kernels/variance.ts";
import { where } from "./kernels/where.ts";

/** Kernels that are spelled once for all GPUs, by op: the annotation is the registration. */
export type GpuKernels = { readonly [N in OpName]?: GpuKernelOf<N> };

/** Kernel of each op, used if a GPU backend has none of its own. */
export const gpuKernels: GpuKernels = {
  abs,
  acos,
  acosh,
  add,
  all,
  any,
  arange,
  argmax,
  argmin,
  argsort,
  asin,
  asinh,
  assign,
  atan,
  atanh,
  avgPool2d,
  batchNorm,
  cast,
  ceil,
  clip,
  concat,
  conv1d,
  conv2d,
  copysign,
  cos,
  cosh,
  cumprod,
  cumsum,
  deltaScan,
  deltaScanWrite,
  dequantize,
  div,
  dot,
  element,
  elu,
  embedding,
  equal,
  exp,
  expand,
  eye,
  floor,
  fma,
  fract,
  full,
  gather,
  gelu,
  geluErf,
  greater,
  greaterEqual,
  groupNorm,
  hardswish,
  kvWrite,
  layerNorm,
  leakyRelu,
  lerp,
  less,
  lessEqual,
  log,
  log10,
  log2,
  logSoftmax,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  max,
  maxPool2d,
  maximum,
  mean,
  min,
  minimum,
  mish,
  moeMatmul,
  moeRoute,
  moeWeights,
  mul,
  neg,
  normL1,
  normL2,
  normLinf,
  notEqual,
  pad,
  pow,
  power,
  prod,
  quantize,
  random,
  reciprocal,
  relu,
  rmsNorm,
  rope,
  round,
  rsqrt,
  sample,
  scale,
  scatter,
  selu,
  sigmoid,
  sign,
  silu,
  sin,
  sinh,
  slice,
  softmax,
  softplus,
  sort,
  sqrt,
  ssmConv,
  ssmConvWrite,
  ssmScan,
  ssmScanWrite,
  stack,
  sub,
  sum,
  sumKahan,
  takeAlongAxis,
  tan,
  tanh,
  topK,
  topKIndices,
  transpose,
  trunc,
  variance,
  where,
};
