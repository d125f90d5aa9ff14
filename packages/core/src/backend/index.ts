export type { CompileOptions, Counters, MemoryReport } from "../backend/backend.ts";
export { type Binding, bucketOf } from "../backend/bind.ts";
export { countStep, createCounters } from "../backend/counters.ts";
export { decode, encode } from "../backend/decode.ts";
export { hostMemory } from "../backend/hostMemory.ts";
export { LruCache } from "../backend/lruCache.ts";
export { pendingTensor } from "../backend/pendingTensor.ts";
export { type Chunk, chunksOf, PersistentBuffer } from "../backend/persistentBuffer.ts";
export { PlanBase, type PlanOwner, persistentBytes, requireIdle, retainShared, sharedPlan } from "../backend/planBase.ts";
export { WorkQueue } from "../backend/workQueue.ts";
export { planArena, planSlots } from "../compiler/arena.ts";
export type { ExplainedBackend, Placed } from "../compiler/explain.ts";
export { explain } from "../compiler/explain.ts";
export { lower, type Unsupported, usesOf } from "../compiler/lower.ts";
export type { Lowered, Operand, Step, Storage } from "../compiler/lowered.ts";
export { evaluateBody, type FusedCall, type FusedParams, fused, isFused } from "../compiler/passes/fused.ts";
export type { FusionLimits, RefusedGroup } from "../compiler/passes/grouping.ts";
export {
  type AnchoredGroup,
  anchoredGroup,
  type ElementwiseGroup,
  type GroupResult,
  type Refusal,
  resultsOf,
  siblingsUnsupported,
  specAt,
} from "../compiler/passes/groupResults.ts";
export { decodedArrayOf, isInteger, isQuantized, layoutOf, typedArrayOf } from "../dtype.ts";
export { compileOptions } from "../kinds.ts";
export type { ArangeParams } from "../ops/arange.ts";
export { type AttentionParams, alibiSlope } from "../ops/attention.ts";
export type { AvgPool2dParams } from "../ops/avgPool2d.ts";
export type { BatchNormParams } from "../ops/batchNorm.ts";
export type { CastParams } from "../ops/cast.ts";
export type { ClipParams } from "../ops/clip.ts";
export type { ConcatParams } from "../ops/concat.ts";
export type { Conv1dParams } from "../ops/conv1d.ts";
export type { Conv2dParams } from "../ops/conv2d.ts";
export type { ElementParams } from "../ops/element.ts";
export type { EluParams } from "../ops/elu.ts";
export type { ExpandParams } from "../ops/expand.ts";
export type { EyeParams } from "../ops/eye.ts";
export type { FullParams } from "../ops/full.ts";
export type { GatherParams } from "../ops/gather.ts";
export type { GroupNormParams } from "../ops/groupNorm.ts";
export { type Ops, ops } from "../ops/index.ts";
export type { LayerNormParams } from "../ops/layerNorm.ts";
export type { LeakyReluParams } from "../ops/leakyRelu.ts";
export type { MatmulParams } from "../ops/matmul.ts";
export type { MoeMatmulParams } from "../ops/moeMatmul.ts";
export type { MoeRouteParams } from "../ops/moeRoute.ts";
export type { MoeWeightsParams } from "../ops/moeWeights.ts";
export type { PadParams } from "../ops/pad.ts";
export type { PowParams } from "../ops/pow.ts";
export type { QuantizedType } from "../ops/quantize.ts";
export type { RandomParams } from "../ops/random.ts";
export type { RmsNormParams } from "../ops/rmsNorm.ts";
export type { RopeParams } from "../ops/rope.ts";
export { sample as sampleReference } from "../ops/sample.reference.ts";
export type { ScaleParams } from "../ops/scale.ts";
export type { ScatterParams } from "../ops/scatter.ts";
export type { ArgmaxParams } from "../ops/shared/argExtremum.ts";
export type { ReduceParams } from "../ops/shared/axes.ts";
export { resolveAxis } from "../ops/shared/checks.ts";
export { broadcastStrides } from "../ops/shared/elementwise.ts";
export type { Gating } from "../ops/shared/gating.ts";
export type { SortParams, TopKParams } from "../ops/shared/order.ts";
export { philox4x32, uniformAt } from "../ops/shared/philox.ts";
export type { PoolParams } from "../ops/shared/pool.ts";
export type { ScanParams } from "../ops/shared/scan.ts";
export type { SoftmaxParams } from "../ops/shared/softmax.ts";
export type { SliceParams } from "../ops/slice.ts";
export type { StackParams } from "../ops/stack.ts";
export type { TakeAlongAxisParams } from "../ops/takeAlongAxis.ts";
export type { TransposeParams } from "../ops/transpose.ts";
export type { VarianceParams } from "../ops/variance.ts";
export type { AnyOp, CallParams, Op } from "../program/op.ts";
export { completeParams } from "../program/program.ts";
export type { Output, Persistent, ProgramGraph, ValueSource } from "../program/programGraph.ts";
export { formatRejection, openCandidates, select } from "../runtime/select.ts";
export type { MeasuredThresholds } from "../runtime/thresholdTypes.ts";
export { byteLength, elementCount, formatShape, formatSpec, maxSpec, resolveDim, resolveSpec, sameShape } from "../spec.ts";
export { checkData, hostTensor, type TensorStorage } from "../tensor.ts";
