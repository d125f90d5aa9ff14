import { add } from "../ops/add.cases.ts";
import { argmax } from "../ops/argmax.cases.ts";
import { assign } from "../ops/assign.cases.ts";
import { attention } from "../ops/attention.cases.ts";
import { clip } from "../ops/clip.cases.ts";
import { conv2d } from "../ops/conv2d.cases.ts";
import { div } from "../ops/div.cases.ts";
import { dot } from "../ops/dot.cases.ts";
import { element } from "../ops/element.cases.ts";
import { elu } from "../ops/elu.cases.ts";
import { embedding } from "../ops/embedding.cases.ts";
import { gelu } from "../ops/gelu.cases.ts";
import type { OpName } from "../ops/index.ts";
import { kvWrite } from "../ops/kvWrite.cases.ts";
import { leakyRelu } from "../ops/leakyRelu.cases.ts";
import { logSoftmax } from "../ops/logSoftmax.cases.ts";
import { matmul } from "../ops/matmul.cases.ts";
import { max } from "../ops/max.cases.ts";
import { mean } from "../ops/mean.cases.ts";
import { min } from "../ops/min.cases.ts";
import { mul } from "../ops/mul.cases.ts";
import { relu } from "../ops/relu.cases.ts";
import { reshape } from "../ops/reshape.cases.ts";
import { rmsNorm } from "../ops/rmsNorm.cases.ts";
import { rope } from "../ops/rope.cases.ts";
import { scale } from "../ops/scale.cases.ts";
import { sigmoid } from "../ops/sigmoid.cases.ts";
import { silu } from "../ops/silu.cases.ts";
import { softmax } from "../ops/softmax.cases.ts";
import { sub } from "../ops/sub.cases.ts";
import { sum } from "../ops/sum.cases.ts";
import { tanh } from "../ops/tanh.cases.ts";
import type { OpCases } from "./opCases.ts";

/** What is tested about each op. The type names every op, so one without cases does not compile. */
export const cases: { readonly [N in OpName]: OpCases<N> } = {
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
