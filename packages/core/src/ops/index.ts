import type { Op, PerInput } from "../program/op.ts";
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

/** Every op, by name. An op's name, its export and its file are spelled the same in every package. */
export interface Ops {
  readonly abs: typeof abs;
  readonly acos: typeof acos;
  readonly acosh: typeof acosh;
  readonly add: typeof add;
  readonly all: typeof all;
  readonly any: typeof any;
  readonly arange: typeof arange;
  readonly argmax: typeof argmax;
  readonly argmin: typeof argmin;
  readonly argsort: typeof argsort;
  readonly asin: typeof asin;
  readonly asinh: typeof asinh;
  readonly assign: typeof assign;
  readonly atan: typeof atan;
  readonly atanh: typeof atanh;
  readonly attention: typeof attention;
  readonly avgPool2d: typeof avgPool2d;
  readonly batchNorm: typeof batchNorm;
  readonly cast: typeof cast;
  readonly ceil: typeof ceil;
  readonly clip: typeof clip;
  readonly concat: typeof concat;
  readonly conv1d: typeof conv1d;
  readonly conv2d: typeof conv2d;
  readonly copysign: typeof copysign;
  readonly cos: typeof cos;
  readonly cosh: typeof cosh;
  readonly cumprod: typeof cumprod;
  readonly cumsum: typeof cumsum;
  readonly deltaScan: typeof deltaScan;
  readonly deltaScanWrite: typeof deltaScanWrite;
  readonly dequantize: typeof dequantize;
  readonly div: typeof div;
  readonly dot: typeof dot;
  readonly element: typeof element;
  readonly elu: typeof elu;
  readonly embedding: typeof embedding;
  readonly equal: typeof equal;
  readonly exp: typeof exp;
  readonly expand: typeof expand;
  readonly eye: typeof eye;
  readonly floor: typeof floor;
  readonly fma: typeof fma;
  readonly fract: typeof fract;
  readonly full: typeof full;
  readonly gather: typeof gather;
  readonly gelu: typeof gelu;
  readonly geluErf: typeof geluErf;
  readonly greater: typeof greater;
  readonly greaterEqual: typeof greaterEqual;
  readonly groupNorm: typeof groupNorm;
  readonly hardswish: typeof hardswish;
  readonly kvWrite: typeof kvWrite;
  readonly layerNorm: typeof layerNorm;
  readonly leakyRelu: typeof leakyRelu;
  readonly lerp: typeof lerp;
  readonly less: typeof less;
  readonly lessEqual: typeof lessEqual;
  readonly log: typeof log;
  readonly log10: typeof log10;
  readonly log2: typeof log2;
  readonly logSoftmax: typeof logSoftmax;
  readonly logicalAnd: typeof logicalAnd;
  readonly logicalNot: typeof logicalNot;
  readonly logicalOr: typeof logicalOr;
  readonly logicalXor: typeof logicalXor;
  readonly matmul: typeof matmul;
  readonly max: typeof max;
  readonly maxPool2d: typeof maxPool2d;
  readonly maximum: typeof maximum;
  readonly mean: typeof mean;
  readonly min: typeof min;
  readonly minimum: typeof minimum;
  readonly mish: typeof mish;
  readonly moeMatmul: typeof moeMatmul;
  readonly moeRoute: typeof moeRoute;
  readonly moeWeights: typeof moeWeights;
  readonly mul: typeof mul;
  readonly neg: typeof neg;
  readonly normL1: typeof normL1;
  readonly normL2: typeof normL2;
  readonly normLinf: typeof normLinf;
  readonly notEqual: typeof notEqual;
  readonly pad: typeof pad;
  readonly pow: typeof pow;
  readonly power: typeof power;
  readonly prod: typeof prod;
  readonly quantize: typeof quantize;
  readonly random: typeof random;
  readonly reciprocal: typeof reciprocal;
  readonly relu: typeof relu;
  readonly reshape: typeof reshape;
  readonly rmsNorm: typeof rmsNorm;
  readonly rope: typeof rope;
  readonly round: typeof round;
  readonly rsqrt: typeof rsqrt;
  readonly sample: typeof sample;
  readonly scale: typeof scale;
  readonly scatter: typeof scatter;
  readonly selu: typeof selu;
  readonly sigmoid: typeof sigmoid;
  readonly sign: typeof sign;
  readonly silu: typeof silu;
  readonly sin: typeof sin;
  readonly sinh: typeof sinh;
  readonly slice: typeof slice;
  readonly softmax: typeof softmax;
  readonly softplus: typeof softplus;
  readonly sort: typeof sort;
  readonly sqrt: typeof sqrt;
  readonly ssmConv: typeof ssmConv;
  readonly ssmConvWrite: typeof ssmConvWrite;
  readonly ssmScan: typeof ssmScan;
  readonly ssmScanWrite: typeof ssmScanWrite;
  readonly stack: typeof stack;
  readonly sub: typeof sub;
  readonly sum: typeof sum;
  readonly sumKahan: typeof sumKahan;
  readonly takeAlongAxis: typeof takeAlongAxis;
  readonly tan: typeof tan;
  readonly tanh: typeof tanh;
  readonly topK: typeof topK;
  readonly topKIndices: typeof topKIndices;
  readonly transpose: typeof transpose;
  readonly trunc: typeof trunc;
  readonly variance: typeof variance;
  readonly where: typeof where;
}

/** Every op by name. The recorder, the runtime and the backends look ops up here. */
export const ops: Ops = {
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

/** The name of an op. */
export type OpName = keyof Ops;

/** One `T` per tensor of an op's call; see {@link PerInput}. */
export type InputsOf<N extends OpName, T> = Ops[N] extends Op<infer I, infer _P, infer _D, infer O> ? PerInput<I, O, T> : never;

/** The complete parameters of an op, as its kernels see them. */
export type ParamsOf<N extends OpName> = Ops[N] extends Op<infer _I, infer P, infer _D, infer _O> ? P : never;
