import type { Op } from "../op.ts";
import { add } from "./add.ts";
import { argmax } from "./argmax.ts";
import { assign } from "./assign.ts";
import { attention } from "./attention.ts";
import { clip } from "./clip.ts";
import { conv2d } from "./conv2d.ts";
import { div } from "./div.ts";
import { dot } from "./dot.ts";
import { element } from "./element.ts";
import { elu } from "./elu.ts";
import { embedding } from "./embedding.ts";
import { gelu } from "./gelu.ts";
import { kvWrite } from "./kvWrite.ts";
import { leakyRelu } from "./leakyRelu.ts";
import { logSoftmax } from "./logSoftmax.ts";
import { matmul } from "./matmul.ts";
import { max } from "./max.ts";
import { mean } from "./mean.ts";
import { min } from "./min.ts";
import { mul } from "./mul.ts";
import { relu } from "./relu.ts";
import { reshape } from "./reshape.ts";
import { rmsNorm } from "./rmsNorm.ts";
import { rope } from "./rope.ts";
import { scale } from "./scale.ts";
import { sigmoid } from "./sigmoid.ts";
import { silu } from "./silu.ts";
import { softmax } from "./softmax.ts";
import { sub } from "./sub.ts";
import { sum } from "./sum.ts";
import { tanh } from "./tanh.ts";

/** Every op, by name. An op's name, its export and its file are spelled the same in every package. */
export interface Ops {
  readonly add: typeof add;
  readonly argmax: typeof argmax;
  readonly assign: typeof assign;
  readonly attention: typeof attention;
  readonly clip: typeof clip;
  readonly conv2d: typeof conv2d;
  readonly div: typeof div;
  readonly dot: typeof dot;
  readonly element: typeof element;
  readonly elu: typeof elu;
  readonly embedding: typeof embedding;
  readonly gelu: typeof gelu;
  readonly kvWrite: typeof kvWrite;
  readonly leakyRelu: typeof leakyRelu;
  readonly logSoftmax: typeof logSoftmax;
  readonly matmul: typeof matmul;
  readonly max: typeof max;
  readonly mean: typeof mean;
  readonly min: typeof min;
  readonly mul: typeof mul;
  readonly relu: typeof relu;
  readonly reshape: typeof reshape;
  readonly rmsNorm: typeof rmsNorm;
  readonly rope: typeof rope;
  readonly scale: typeof scale;
  readonly sigmoid: typeof sigmoid;
  readonly silu: typeof silu;
  readonly softmax: typeof softmax;
  readonly sub: typeof sub;
  readonly sum: typeof sum;
  readonly tanh: typeof tanh;
}

export const ops: Ops = {
  add,
  argmax,
  assign,
  attention,
  clip,
  conv2d,
  div,
  dot,
  element,
  elu,
  embedding,
  gelu,
  kvWrite,
  leakyRelu,
  logSoftmax,
  matmul,
  max,
  mean,
  min,
  mul,
  relu,
  reshape,
  rmsNorm,
  rope,
  scale,
  sigmoid,
  silu,
  softmax,
  sub,
  sum,
  tanh,
};

export type OpName = keyof Ops;

/** The complete parameters of an op, as its kernels see them. */
export type ParamsOf<N extends OpName> = Ops[N] extends Op<infer _I, infer P, infer _D, infer _O> ? P : never;
