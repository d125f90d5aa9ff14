export type {
  Backend,
  BackendFactory,
  CompileOptions,
  Counters,
  DeviceInfo,
  InputData,
  LoadOptions,
  MemoryReport,
  Plan,
  RunOptions,
  TensorSource,
} from "./backend/backend.ts";
export { type Binding, bind, bucketOf, requireArrays } from "./backend/bind.ts";
export { decode, encode, roundTo } from "./backend/decode.ts";
export { type HeldWeight, heldWeightsWarnings } from "./backend/heldWeights.ts";
export { type HostMemory, hostMemory } from "./backend/hostMemory.ts";
export {
  countOp,
  createCounters,
  readSource,
  requireLoadable,
  requireLoaded,
  requirePersistent,
  WorkQueue,
} from "./backend/planSupport.ts";
export { type ArenaPlan, planArena, planSlots, type SlotPlan } from "./compiler/arena.ts";
export { type ExplainedBackend, explain, formatProgram, type Placed } from "./compiler/explain.ts";
export { type LowerOptions, lower, type Unsupported, usesOf } from "./compiler/lower.ts";
export type { Lowered, Operand, Step, Storage } from "./compiler/lowered.ts";
export { commonSubexpressions } from "./compiler/passes/commonSubexpressions.ts";
export { deadCode } from "./compiler/passes/deadCode.ts";
export { foldConstants } from "./compiler/passes/foldConstants.ts";
export { evaluateBody, type FusedCall, type FusedParams, fused, isFused } from "./compiler/passes/fused.ts";
export { type Fusion, type FusionLimits, fuseElementwise, type RefusesGroup } from "./compiler/passes/fuseElementwise.ts";
export { fuseEpilogues } from "./compiler/passes/fuseEpilogues.ts";
export { fusePrologues } from "./compiler/passes/fusePrologues.ts";
export { fuseScans } from "./compiler/passes/fuseScans.ts";
export { fuseSiblings } from "./compiler/passes/fuseSiblings.ts";
export {
  type AnchoredGroup,
  anchoredGroup,
  type ElementwiseGroup,
  type GroupResult,
  resultsOf,
  siblingsUnsupported,
  specAt,
} from "./compiler/passes/groupResults.ts";
export {
  type DType,
  type DTypeLayout,
  decodedArrayOf,
  dtypeOf,
  isInteger,
  isQuantized,
  layoutOf,
  type ScalarType,
  type TypedArray,
  type TypedArrayConstructor,
  typedArrayOf,
} from "./dtype.ts";
export {
  ArgumentError,
  CentellaError,
  DeviceLostError,
  DisposedError,
  DTypeError,
  KernelError,
  NotLoadedError,
  OutOfMemoryError,
  ProgramError,
  ShapeError,
  UnsupportedError,
} from "./errors.ts";
export { compileOptions, runOptions } from "./kinds.ts";
export type { ArangeParams } from "./ops/arange.ts";
export { type AttentionParams, alibiSlope } from "./ops/attention.ts";
export type { AvgPool2dParams } from "./ops/avgPool2d.ts";
export type { BatchNormParams } from "./ops/batchNorm.ts";
export type { CastParams } from "./ops/cast.ts";
export type { ClipParams } from "./ops/clip.ts";
export type { ConcatParams } from "./ops/concat.ts";
export type { Conv1dParams } from "./ops/conv1d.ts";
export type { Conv2dParams } from "./ops/conv2d.ts";
export type { ElementParams } from "./ops/element.ts";
export type { EluParams } from "./ops/elu.ts";
export type { ExpandParams } from "./ops/expand.ts";
export type { EyeParams } from "./ops/eye.ts";
export type { FullParams } from "./ops/full.ts";
export type { GatherParams } from "./ops/gather.ts";
export type { GroupNormParams } from "./ops/groupNorm.ts";
export { type OpName, type Ops, ops, type ParamsOf } from "./ops/index.ts";
export type { LayerNormParams } from "./ops/layerNorm.ts";
export type { LeakyReluParams } from "./ops/leakyRelu.ts";
export type { MatmulParams } from "./ops/matmul.ts";
export type { MoeMatmulParams } from "./ops/moeMatmul.ts";
export type { MoeRouteParams } from "./ops/moeRoute.ts";
export type { MoeWeightsParams } from "./ops/moeWeights.ts";
export type { PadParams } from "./ops/pad.ts";
export type { PowParams } from "./ops/pow.ts";
export type { QuantizedType, QuantizeParams } from "./ops/quantize.ts";
export type { RandomParams } from "./ops/random.ts";
export type { ReshapeParams } from "./ops/reshape.ts";
export type { RmsNormParams } from "./ops/rmsNorm.ts";
export type { RopeParams } from "./ops/rope.ts";
export { sample as sampleReference } from "./ops/sample.reference.ts";
export type { SampleParams } from "./ops/sample.ts";
export type { ScaleParams } from "./ops/scale.ts";
export type { ScatterParams } from "./ops/scatter.ts";
export type { ArgmaxParams } from "./ops/shared/argExtremum.ts";
export { type AxisView, axisView, type ReduceParams } from "./ops/shared/axes.ts";
export { resolveAxis } from "./ops/shared/checks.ts";
export { broadcastStrides } from "./ops/shared/elementwise.ts";
export type { Gating } from "./ops/shared/gating.ts";
export type { SortParams, TopKParams } from "./ops/shared/order.ts";
export { philox4x32, uniformAt, type Words } from "./ops/shared/philox.ts";
export type { PoolParams } from "./ops/shared/pool.ts";
export type { ScanParams } from "./ops/shared/scan.ts";
export type { SoftmaxParams } from "./ops/shared/softmax.ts";
export type { SliceParams } from "./ops/slice.ts";
export type { StackParams } from "./ops/stack.ts";
export type { TakeAlongAxisParams } from "./ops/takeAlongAxis.ts";
export type { TransposeParams } from "./ops/transpose.ts";
export type { VarianceParams } from "./ops/variance.ts";
export { createProgram, type Program } from "./program/createProgram.ts";
export { type CustomOp, customOp } from "./program/custom.ts";
export type { CustomCall, CustomKernels, PtxCall, PtxKernel, WasmKernel, WgslKernel } from "./program/customKernels.ts";
export type { AnyOp, CallParams, Cost, HostTensor, NoParams, Op, PerInput, VariadicOp } from "./program/op.ts";
export type { ChainMethods, OpMethods } from "./program/opMethods.ts";
export { completeParams, createRecorder, type OpRecorder, type Recorder, Value } from "./program/program.ts";
export type { Node, Output, Persistent, ProgramGraph, ValueInfo, ValueSource } from "./program/programGraph.ts";
export { type SplitParams, split } from "./program/sequences.ts";
export { type ReferenceOptions, reference } from "./reference/reference.ts";
export type { Reference } from "./reference/referenceType.ts";
export { type Batch, type BatchCore, type BatchHandle, createBatch, withBatch } from "./runtime/batch.ts";
export {
  type Calibration,
  type CalibrationOptions,
  type CalibrationPoint,
  type Comparison,
  calibrate,
  crossoverOf,
} from "./runtime/calibrate.ts";
export { type CallSummary, formatReport, type RuntimeReport } from "./runtime/callLog.ts";
export { createRuntime } from "./runtime/createRuntime.ts";
export { type Explanation, explainRequest, formatExplanation } from "./runtime/explanation.ts";
export type { Chain, LazyCore, LazyEngine, LazyTensor } from "./runtime/lazy.ts";
export { type MeasuredThresholds, measuredThresholds } from "./runtime/measuredThresholds.ts";
export { type Cut, type Part, type Placement, splitByPlacement } from "./runtime/placement.ts";
export type { PlanCacheStats } from "./runtime/planCache.ts";
export type {
  Runtime,
  RuntimeCompileOptions,
  RuntimeCore,
} from "./runtime/runtime.ts";
export type { RuntimeOptions, RuntimePolicy } from "./runtime/runtimeOptions.ts";
export {
  type Candidate,
  callRequest,
  openCandidates,
  type Policy,
  programCost,
  type Selection,
  type SelectionRequest,
  select,
  selectForProgram,
  type Verdict,
} from "./runtime/select.ts";
export { checkThresholds, thresholds } from "./runtime/thresholds.ts";
export type { BackendThresholds, Threshold, Thresholds, Transfer } from "./runtime/thresholdTypes.ts";
export {
  byteLength,
  type ConcreteSpec,
  type Dim,
  type DimValues,
  elementCount,
  formatShape,
  formatSpec,
  isConcrete,
  maxSpec,
  resolveDim,
  resolveSpec,
  type Shape,
  type SymbolicDim,
  sameDim,
  sameShape,
  type TensorSpec,
} from "./spec.ts";
export { checkData, hostTensor, Tensor, type TensorStorage } from "./tensor.ts";
