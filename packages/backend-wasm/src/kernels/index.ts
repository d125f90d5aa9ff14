import { expressions } from "../elementwise/expressions/index.ts";
import { expressionKernel } from "../elementwise/kernel.ts";
import type { Kernel, Kernels } from "../kernel.ts";
import { all } from "./all.ts";
import { any } from "./any.ts";
import { arange } from "./arange.ts";
import { argmax } from "./argmax.ts";
import { argmin } from "./argmin.ts";
import { argsort } from "./argsort.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { avgPool2d } from "./avgPool2d.ts";
import { batchNorm } from "./batchNorm.ts";
import { concat } from "./concat.ts";
import { conv1d } from "./conv1d.ts";
import { conv2d } from "./conv2d.ts";
import { cumprod } from "./cumprod.ts";
import { cumsum } from "./cumsum.ts";
import { dequantize } from "./dequantize.ts";
import { dot } from "./dot.ts";
import { element } from "./element.ts";
import { embedding } from "./embedding.ts";
import { eye } from "./eye.ts";
import { full } from "./full.ts";
import { gather } from "./gather.ts";
import { groupNorm } from "./groupNorm.ts";
import { kvWrite } from "./kvWrite.ts";
import { layerNorm } from "./layerNorm.ts";
import { logSoftmax } from "./logSoftmax.ts";
import { matmul } from "./matmul.ts";
import { max } from "./max.ts";
import { maxPool2d } from "./maxPool2d.ts";
import { mean } from "./mean.ts";
import { min } from "./min.ts";
import { moeMatmul } from "./moeMatmul.ts";
import { moeRoute } from "./moeRoute.ts";
import { moeWeights } from "./moeWeights.ts";
import { normL1 } from "./normL1.ts";
import { normL2 } from "./normL2.ts";
import { normLinf } from "./normLinf.ts";
import { pad } from "./pad.ts";
import { prod } from "./prod.ts";
import { quantize } from "./quantize.ts";
import { random } from "./random.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";
import { sample } from "./sample.ts";
import { scatter } from "./scatter.ts";
import { slice } from "./slice.ts";
import { softmax } from "./softmax.ts";
import { sort } from "./sort.ts";
import { ssmConv } from "./ssmConv.ts";
import { ssmConvWrite } from "./ssmConvWrite.ts";
import { ssmScan } from "./ssmScan.ts";
import { ssmScanWrite } from "./ssmScanWrite.ts";
import { stack } from "./stack.ts";
import { sum } from "./sum.ts";
import { sumKahan } from "./sumKahan.ts";
import { takeAlongAxis } from "./takeAlongAxis.ts";
import { topK } from "./topK.ts";
import { topKIndices } from "./topKIndices.ts";
import { transpose } from "./transpose.ts";
import { variance } from "./variance.ts";

/** The kernels, by op. */
export const kernels: Kernels = {
  ...Object.fromEntries(Object.keys(expressions).map((op): [string, Kernel] => [op, expressionKernel(op)])),
  all,
  any,
  arange,
  argmax,
  argmin,
  argsort,
  assign,
  attention,
  avgPool2d,
  batchNorm,
  concat,
  conv1d,
  conv2d,
  cumprod,
  cumsum,
  dequantize,
  dot,
  element,
  embedding,
  eye,
  full,
  gather,
  groupNorm,
  kvWrite,
  layerNorm,
  logSoftmax,
  matmul,
  max,
  maxPool2d,
  mean,
  min,
  normL1,
  normL2,
  normLinf,
  pad,
  prod,
  quantize,
  random,
  moeMatmul,
  moeRoute,
  moeWeights,
  rmsNorm,
  rope,
  sample,
  scatter,
  slice,
  softmax,
  sort,
  stack,
  ssmConv,
  ssmConvWrite,
  ssmScan,
  ssmScanWrite,
  sum,
  sumKahan,
  takeAlongAxis,
  topK,
  topKIndices,
  transpose,
  variance,
};
