import { abs } from "../ops/abs.cases.ts";
import { acos } from "../ops/acos.cases.ts";
import { acosh } from "../ops/acosh.cases.ts";
import { add } from "../ops/add.cases.ts";
import { all } from "../ops/all.cases.ts";
import { any } from "../ops/any.cases.ts";
import { arange } from "../ops/arange.cases.ts";
import { argmax } from "../ops/argmax.cases.ts";
import { argmin } from "../ops/argmin.cases.ts";
import { argsort } from "../ops/argsort.cases.ts";
import { asin } from "../ops/asin.cases.ts";
import { asinh } from "../ops/asinh.cases.ts";
import { assign } from "../ops/assign.cases.ts";
import { atan } from "../ops/atan.cases.ts";
import { atanh } from "../ops/atanh.cases.ts";
import { attention } from "../ops/attention.cases.ts";
import { avgPool2d } from "../ops/avgPool2d.cases.ts";
import { batchNorm } from "../ops/batchNorm.cases.ts";
import { cast } from "../ops/cast.cases.ts";
import { ceil } from "../ops/ceil.cases.ts";
import { clip } from "../ops/clip.cases.ts";
import { concat } from "../ops/concat.cases.ts";
import { conv1d } from "../ops/conv1d.cases.ts";
import { conv2d } from "../ops/conv2d.cases.ts";
import { copysign } from "../ops/copysign.cases.ts";
import { cos } from "../ops/cos.cases.ts";
import { cosh } from "../ops/cosh.cases.ts";
import { cumprod } from "../ops/cumprod.cases.ts";
import { cumsum } from "../ops/cumsum.cases.ts";
import { dequantize } from "../ops/dequantize.cases.ts";
import { div } from "../ops/div.cases.ts";
import { dot } from "../ops/dot.cases.ts";
import { element } from "../ops/element.cases.ts";
import { elu } from "../ops/elu.cases.ts";
import { embedding } from "../ops/embedding.cases.ts";
import { equal } from "../ops/equal.cases.ts";
import { exp } from "../ops/exp.cases.ts";
import { expand } from "../ops/expand.cases.ts";
import { eye } from "../ops/eye.cases.ts";
import { floor } from "../ops/floor.cases.ts";
import { fma } from "../ops/fma.cases.ts";
import { fract } from "../ops/fract.cases.ts";
import { full } from "../ops/full.cases.ts";
import { gather } from "../ops/gather.cases.ts";
import { gelu } from "../ops/gelu.cases.ts";
import { geluErf } from "../ops/geluErf.cases.ts";
import { greater } from "../ops/greater.cases.ts";
import { greaterEqual } from "../ops/greaterEqual.cases.ts";
import { groupNorm } from "../ops/groupNorm.cases.ts";
import { hardswish } from "../ops/hardswish.cases.ts";
import type { OpName } from "../ops/index.ts";
import { kvWrite } from "../ops/kvWrite.cases.ts";
import { layerNorm } from "../ops/layerNorm.cases.ts";
import { leakyRelu } from "../ops/leakyRelu.cases.ts";
import { lerp } from "../ops/lerp.cases.ts";
import { less } from "../ops/less.cases.ts";
import { lessEqual } from "../ops/lessEqual.cases.ts";
import { log } from "../ops/log.cases.ts";
import { log2 } from "../ops/log2.cases.ts";
import { log10 } from "../ops/log10.cases.ts";
import { logicalAnd } from "../ops/logicalAnd.cases.ts";
import { logicalNot } from "../ops/logicalNot.cases.ts";
import { logicalOr } from "../ops/logicalOr.cases.ts";
import { logicalXor } from "../ops/logicalXor.cases.ts";
import { logSoftmax } from "../ops/logSoftmax.cases.ts";
import { matmul } from "../ops/matmul.cases.ts";
import { max } from "../ops/max.cases.ts";
import { maximum } from "../ops/maximum.cases.ts";
import { maxPool2d } from "../ops/maxPool2d.cases.ts";
import { mean } from "../ops/mean.cases.ts";
import { min } from "../ops/min.cases.ts";
import { minimum } from "../ops/minimum.cases.ts";
import { mish } from "../ops/mish.cases.ts";
import { moeMatmul } from "../ops/moeMatmul.cases.ts";
import { moeRoute } from "../ops/moeRoute.cases.ts";
import { moeWeights } from "../ops/moeWeights.cases.ts";
import { mul } from "../ops/mul.cases.ts";
import { neg } from "../ops/neg.cases.ts";
import { normL1 } from "../ops/normL1.cases.ts";
import { normL2 } from "../ops/normL2.cases.ts";
import { normLinf } from "../ops/normLinf.cases.ts";
import { notEqual } from "../ops/notEqual.cases.ts";
import { pad } from "../ops/pad.cases.ts";
import { pow } from "../ops/pow.cases.ts";
import { power } from "../ops/power.cases.ts";
import { prod } from "../ops/prod.cases.ts";
import { quantize } from "../ops/quantize.cases.ts";
import { random } from "../ops/random.cases.ts";
import { reciprocal } from "../ops/reciprocal.cases.ts";
import { relu } from "../ops/relu.cases.ts";
import { reshape } from "../ops/reshape.cases.ts";
import { rmsNorm } from "../ops/rmsNorm.cases.ts";
import { rope } from "../ops/rope.cases.ts";
import { round } from "../ops/round.cases.ts";
import { rsqrt } from "../ops/rsqrt.cases.ts";
import { sample } from "../ops/sample.cases.ts";
import { scale } from "../ops/scale.cases.ts";
import { scatter } from "../ops/scatter.cases.ts";
import { selu } from "../ops/selu.cases.ts";
import { sigmoid } from "../ops/sigmoid.cases.ts";
import { sign } from "../ops/sign.cases.ts";
import { silu } from "../ops/silu.cases.ts";
import { sin } from "../ops/sin.cases.ts";
import { sinh } from "../ops/sinh.cases.ts";
import { slice } from "../ops/slice.cases.ts";
import { softmax } from "../ops/softmax.cases.ts";
import { softplus } from "../ops/softplus.cases.ts";
import { sort } from "../ops/sort.cases.ts";
import { sqrt } from "../ops/sqrt.cases.ts";
import { ssmConv } from "../ops/ssmConv.cases.ts";
import { ssmConvWrite } from "../ops/ssmConvWrite.cases.ts";
import { ssmScan } from "../ops/ssmScan.cases.ts";
import { ssmScanWrite } from "../ops/ssmScanWrite.cases.ts";
import { stack } from "../ops/stack.cases.ts";
import { sub } from "../ops/sub.cases.ts";
import { sum } from "../ops/sum.cases.ts";
import { sumKahan } from "../ops/sumKahan.cases.ts";
import { takeAlongAxis } from "../ops/takeAlongAxis.cases.ts";
import { tan } from "../ops/tan.cases.ts";
import { tanh } from "../ops/tanh.cases.ts";
import { topK } from "../ops/topK.cases.ts";
import { topKIndices } from "../ops/topKIndices.cases.ts";
import { transpose } from "../ops/transpose.cases.ts";
import { trunc } from "../ops/trunc.cases.ts";
import { variance } from "../ops/variance.cases.ts";
import { where } from "../ops/where.cases.ts";
import type { OpCases } from "./opCases.ts";

/** What is tested about each op. The type names every op, so one without cases does not compile. */
export const cases: { readonly [N in OpName]: OpCases<N> } = {
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
  attention,
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
  matmul,
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
  reshape,
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
