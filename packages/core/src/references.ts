import { concreteSpecs, evaluateBody, type FusedParams, isFused } from "./compiler/passes/fused.ts";
import { isInteger, typedArrayOf } from "./dtype.ts";
import { arange } from "./ops/arange.reference.ts";
import { assign } from "./ops/assign.reference.ts";
import { attention } from "./ops/attention.reference.ts";
import { avgPool2d } from "./ops/avgPool2d.reference.ts";
import { batchNorm } from "./ops/batchNorm.reference.ts";
import { concat } from "./ops/concat.reference.ts";
import { conv1d } from "./ops/conv1d.reference.ts";
import { conv2d } from "./ops/conv2d.reference.ts";
import { deltaScan } from "./ops/deltaScan.reference.ts";
import { deltaScanWrite } from "./ops/deltaScanWrite.reference.ts";
import { dequantize } from "./ops/dequantize.reference.ts";
import { dot } from "./ops/dot.reference.ts";
import { element } from "./ops/element.reference.ts";
import { embedding } from "./ops/embedding.reference.ts";
import { expand } from "./ops/expand.reference.ts";
import { eye } from "./ops/eye.reference.ts";
import { full } from "./ops/full.reference.ts";
import { gather } from "./ops/gather.reference.ts";
import { groupNorm } from "./ops/groupNorm.reference.ts";
import type { OpName } from "./ops/index.ts";
import { kvWrite } from "./ops/kvWrite.reference.ts";
import { layerNorm } from "./ops/layerNorm.reference.ts";
import { matmul } from "./ops/matmul.reference.ts";
import { maxPool2d } from "./ops/maxPool2d.reference.ts";
import { moeMatmul } from "./ops/moeMatmul.reference.ts";
import { moeRoute } from "./ops/moeRoute.reference.ts";
import { moeWeights } from "./ops/moeWeights.reference.ts";
import { pad } from "./ops/pad.reference.ts";
import { quantize } from "./ops/quantize.reference.ts";
import { random } from "./ops/random.reference.ts";
import { reshape } from "./ops/reshape.reference.ts";
import { rmsNorm } from "./ops/rmsNorm.reference.ts";
import { rope } from "./ops/rope.reference.ts";
import { sample } from "./ops/sample.reference.ts";
import { scatter } from "./ops/scatter.reference.ts";
import { slice } from "./ops/slice.reference.ts";
import { ssmConv } from "./ops/ssmConv.reference.ts";
import { ssmConvWrite } from "./ops/ssmConvWrite.reference.ts";
import { ssmScan } from "./ops/ssmScan.reference.ts";
import { ssmScanWrite } from "./ops/ssmScanWrite.reference.ts";
import { stack } from "./ops/stack.reference.ts";
import { takeAlongAxis } from "./ops/takeAlongAxis.reference.ts";
import { transpose } from "./ops/transpose.reference.ts";
import { variance } from "./ops/variance.reference.ts";
import type { AnyOp, HostTensor } from "./program/op.ts";
import type { Reference } from "./reference/referenceType.ts";
import { type ConcreteSpec, elementCount } from "./spec.ts";

type AnyReference = NonNullable<AnyOp["reference"]>;

/**
 * References of the ops whose definition is a file of its own. A program that computes on another backend need not load them.
 */
const references: { readonly [N in OpName]?: Reference<N> } = {
  arange,
  assign,
  attention,
  avgPool2d,
  batchNorm,
  concat,
  conv1d,
  conv2d,
  deltaScan,
  deltaScanWrite,
  dequantize,
  dot,
  element,
  embedding,
  expand,
  eye,
  full,
  gather,
  groupNorm,
  kvWrite,
  layerNorm,
  matmul,
  maxPool2d,
  moeMatmul,
  moeRoute,
  moeWeights,
  pad,
  quantize,
  random,
  reshape,
  rmsNorm,
  rope,
  sample,
  scatter,
  slice,
  ssmConv,
  ssmConvWrite,
  ssmScan,
  ssmScanWrite,
  stack,
  takeAlongAxis,
  transpose,
  variance,
};

/** The reference of an op, or of a group that a pass has made. */
export function referenceOf(op: AnyOp): AnyReference {
  if (op.reference !== undefined) return op.reference;
  return isFused(op) ? (evaluateGroup as AnyReference) : (references[op.name as OpName] as AnyReference);
}

/** Computes a group with its ops' references. Writes the last call's result to `output`, and those of `params.extraOutputs` to `extraOutputs`. */
export function evaluateGroup(
  inputs: readonly (HostTensor | undefined)[],
  { body, extraOutputs: places = [] }: FusedParams,
  output: HostTensor,
  extraOutputs: readonly HostTensor[] = [],
): void {
  const specOf = concreteSpecs(body, output.spec);
  evaluateBody(inputs, body, (call, tensors, index): HostTensor => {
    const own = index === body.length - 1 ? output : extraOutputs[places.indexOf(index)];
    const specs = tensors.map((tensor) => tensor?.spec);
    const result = own ?? temporary(specOf(call, specs));
    referenceOf(call.op)(tensors, call.params, result);
    return result;
  });
}

function temporary(spec: ConcreteSpec): HostTensor {
  const type = isInteger(spec.dtype) ? typedArrayOf(spec.dtype) : Float32Array;
  return { spec, data: new type(elementCount(spec.shape)) };
}
