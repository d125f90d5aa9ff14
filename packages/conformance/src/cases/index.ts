import type { OpName } from "@centella/core";
import type { OpCases } from "../opCases.ts";
import { abs } from "./abs.ts";
import { acos } from "./acos.ts";
import { acosh } from "./acosh.ts";
import { add } from "./add.ts";
import { all } from "./all.ts";
import { any } from "./any.ts";
import { arange } from "./arange.ts";
import { argmax } from "./argmax.ts";
import { argmin } from "./argmin.ts";
import { argsort } from "./argsort.ts";
import { asin } from "./asin.ts";
import { asinh } from "./asinh.ts";
import { assign } from "./assign.ts";
import { atan } from "./atan.ts";
import { atanh } from "./atanh.ts";
import { attention } from "./attention.ts";
import { avgPool2d } from "./avgPool2d.ts";
import { batchNorm } from "./batchNorm.ts";
import { cast } from "./cast.ts";
import { ceil } from "./ceil.ts";
import { clip } from "./clip.ts";
import { concat } from "./concat.ts";
import { conv1d } from "./conv1d.ts";
import { conv2d } from "./conv2d.ts";
import { copysign } from "./copysign.ts";
import { cos } from "./cos.ts";
import { cosh } from "./cosh.ts";
import { cumprod } from "./cumprod.ts";
import { cumsum } from "./cumsum.ts";
import { deltaScan } from "./deltaScan.ts";
import { deltaScanWrite } from "./deltaScanWrite.ts";
import { dequantize } from "./dequantize.ts";
import { div } from "./div.ts";
import { dot } from "./dot.ts";
import { element } from "./element.ts";
import { elu } from "./elu.ts";
import { embedding } from "./embedding.ts";
import { equal } from "./equal.ts";
import { exp } from "./exp.ts";
import { expand } from "./expand.ts";
import { eye } from "./eye.ts";
import { floor } from "./floor.ts";
import { fma } from "./fma.ts";
import { fract } from "./fract.ts";
import { full } from "./full.ts";
import { gather } from "./gather.ts";
import { gelu } from "./gelu.ts";
import { geluErf } from "./geluErf.ts";
import { greater } from "./greater.ts";
import { greaterEqual } from "./greaterEqual.ts";
import { groupNorm } from "./groupNorm.ts";
import { hardswish } from "./hardswish.ts";
import { kvWrite } from "./kvWrite.ts";
import { layerNorm } from "./layerNorm.ts";
import { leakyRelu } from "./leakyRelu.ts";
import { lerp } from "./lerp.ts";
import { less } from "./less.ts";
import { lessEqual } from "./lessEqual.ts";
import { log } from "./log.ts";
import { log2 } from "./log2.ts";
import { log10 } from "./log10.ts";
import { logicalAnd } from "./logicalAnd.ts";
import { logicalNot } from "./logicalNot.ts";
import { logicalOr } from "./logicalOr.ts";
import { logicalXor } from "./logicalXor.ts";
import { logSoftmax } from "./logSoftmax.ts";
import { matmul } from "./matmul.ts";
import { max } from "./max.ts";
import { maximum } from "./maximum.ts";
import { maxPool2d } from "./maxPool2d.ts";
import { mean } from "./mean.ts";
import { min } from "./min.ts";
import { minimum } from "./minimum.ts";
import { mish } from "./mish.ts";
import { moeMatmul } from "./moeMatmul.ts";
import { moeRoute } from "./moeRoute.ts";
import { moeWeights } from "./moeWeights.ts";
import { mul } from "./mul.ts";
import { neg } from "./neg.ts";
import { normL1 } from "./normL1.ts";
import { normL2 } from "./normL2.ts";
import { normLinf } from "./normLinf.ts";
import { notEqual } from "./notEqual.ts";
import { pad } from "./pad.ts";
import { pow } from "./pow.ts";
import { power } from "./power.ts";
import { prod } from "./prod.ts";
import { quantize } from "./quantize.ts";
import { random } from "./random.ts";
import { reciprocal } from "./reciprocal.ts";
import { relu } from "./relu.ts";
import { reshape } from "./reshape.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";
import { round } from "./round.ts";
import { rsqrt } from "./rsqrt.ts";
import { sample } from "./sample.ts";
import { scale } from "./scale.ts";
import { scatter } from "./scatter.ts";
import { selu } from "./selu.ts";
import { sigmoid } from "./sigmoid.ts";
import { sign } from "./sign.ts";
import { silu } from "./silu.ts";
import { sin } from "./sin.ts";
import { sinh } from "./sinh.ts";
import { slice } from "./slice.ts";
import { softmax } from "./softmax.ts";
import { softplus } from "./softplus.ts";
import { sort } from "./sort.ts";
import { sqrt } from "./sqrt.ts";
import { ssmConv } from "./ssmConv.ts";
import { ssmConvWrite } from "./ssmConvWrite.ts";
import { ssmScan } from "./ssmScan.ts";
import { ssmScanWrite } from "./ssmScanWrite.ts";
import { stack } from "./stack.ts";
import { sub } from "./sub.ts";
import { sum } from "./sum.ts";
import { sumKahan } from "./sumKahan.ts";
import { takeAlongAxis } from "./takeAlongAxis.ts";
import { tan } from "./tan.ts";
import { tanh } from "./tanh.ts";
import { topK } from "./topK.ts";
import { topKIndices } from "./topKIndices.ts";
import { transpose } from "./transpose.ts";
import { trunc } from "./trunc.ts";
import { variance } from "./variance.ts";
import { where } from "./where.ts";

/** Cases of every op. The type names all ops, so an op without cases does not compile. */
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
