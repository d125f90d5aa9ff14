export { elementAt, entryOf, lastOf, mapTuple, type Tuple, tupleOf } from "@centella/quant/checks";
export type { CompileOptions, Counters, DeviceMemory, MemoryReport, StepTime } from "../backend/backend.ts";
export type { Binding } from "../backend/bind.ts";
export { bucketOf, bucketsOf, dimsKey, largestDims, variantKey } from "../backend/buckets.ts";
export { countStep, createCounters } from "../backend/counters.ts";
export { decode, encode } from "../backend/decode.ts";
export { ResultHolder, type ResultMemory } from "../backend/heldResults.ts";
export { hostMemory } from "../backend/hostMemory.ts";
export { LruCache } from "../backend/lruCache.ts";
export { HostArrays, type HostResults, PendingOutputs, unlessAborted } from "../backend/pendingOutputs.ts";
export { type Chunk, chunksOf, PersistentBuffer, type ReadChunk } from "../backend/persistentBuffer.ts";
export {
  maxVariants,
  missingPersistents,
  PlanBase,
  type PlanOwner,
  persistentBytes,
  requireIdle,
  sharedPlan,
  withPersistents,
} from "../backend/planBase.ts";
export { WorkQueue } from "../backend/workQueue.ts";
export { type ArenaPlan, planArena, planSlots } from "../compiler/arena.ts";
export { callKey } from "../compiler/callKey.ts";
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
export { type NormedProducts, normedProducts } from "../compiler/passes/normedProducts.ts";
export { type RowsAtOnce, splitRows } from "../compiler/passes/splitRows.ts";
export { decodedArrayOf, isInteger, isQuantized, layoutOf, typedArrayOf } from "../dtype.ts";
export { compileOptions } from "../kinds.ts";
export { alibiSlope } from "../ops/attention.ts";
export { type InputsOf, type Ops, ops } from "../ops/index.ts";
export type { QuantizedType } from "../ops/quantize.ts";
export { sample as sampleReference } from "../ops/sample.reference.ts";
export { resolveAxis } from "../ops/shared/checks.ts";
export { broadcastStrides } from "../ops/shared/elementwise.ts";
export type { Gating } from "../ops/shared/gating.ts";
export { philox4x32, uniformAt } from "../ops/shared/philox.ts";
export {
  chosenSum,
  distanceOf,
  leastTemperature,
  minPWeight,
  randomWord,
  type SamplingConstants,
  samplingConstants,
  topPSum,
  weightOf,
} from "../ops/shared/sampling.ts";
export type { CustomCall } from "../program/customKernels.ts";
export type { AnyOp, CallParams, Op } from "../program/op.ts";
export { completeParams } from "../program/program.ts";
export type { Output, Persistent, ProgramGraph, ValueSource } from "../program/programGraph.ts";
export { type Candidate, formatRejection, openCandidates, select } from "../runtime/select.ts";
export type { BackendThresholds, MeasuredThresholds, Threshold } from "../runtime/thresholdTypes.ts";
export { byteLength, elementCount, formatShape, formatSpec, maxSpec, resolveDim, resolveSpec, sameShape } from "../spec.ts";
export { checkData, hostTensor, type TensorStorage } from "../tensor.ts";
