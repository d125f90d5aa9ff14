export { loadBlockWeights } from "./blocks.ts";
export { type CacheWrite, cacheWriteOf, isCacheWrite } from "./cacheWrite.ts";
export { deviceBlock, deviceBytes, recodedTo, requireStoredOutputs, toDevice } from "./deviceForm.ts";
export type {
  BlockBytes,
  Bool,
  Comparison,
  Emitter,
  F32,
  I32,
  NumberType,
  Reducer,
  SharedArray,
  SharedCounters,
  U32,
  Value,
  Values,
  ValueType,
  Variable,
} from "./emitter.ts";
export { neighbourCount } from "./emitter.ts";
export {
  asValue,
  divide,
  type Extent,
  isBelow,
  offset,
  type PerExtent,
  plus,
  product,
  stridesOf,
  times,
  timesPlus,
  unflatten,
} from "./extent.ts";
export { type AnchoredCall, type Group, groupOf, groupUnsupported, type NormedSiblings } from "./fused.ts";
export { type GpuKernels, gpuKernels } from "./gpuKernels.ts";
export {
  type Epilogue,
  type Fusable,
  type GpuArgument,
  type GpuArguments,
  type GpuCall,
  type GpuElement,
  type GpuKernel,
  type GpuKernelOf,
  type GpuScope,
  type GpuScratch,
  type GpuStep,
  groupCount,
  groupExtent,
  type InputSpecs,
  mostElements,
  type Piece,
  type Prologue,
} from "./kernel.ts";
export { conv2d } from "./kernels/conv2d.ts";
export { type CacheRows, slotOf } from "./kernels/kvWrite.ts";
export { moeMatmul } from "./kernels/moeMatmul.ts";
export { factorOf, normedElement } from "./kernels/rmsNorm.ts";
export { type Angle, elementAngle, type Rotation, turned, turnedPair } from "./kernels/rope.ts";
export { type BackendKernel, KernelTable } from "./kernelTable.ts";
export {
  headOf,
  type ProjectedStep,
  type ProjectionParts,
  type Projections,
  projectedSteps,
  projectionPartsOf,
  withProjectedLives,
} from "./projections.ts";
export {
  type ActivationScales,
  activationBlock,
  type RoundedType,
  roundActivationsStep,
  roundedBy,
  roundedCode,
  scalesOf,
} from "./roundActivations.ts";
export { visitLanes } from "./rows/rows.ts";
export { broadcastIndices } from "./shared/elementwise.ts";
export { groupSum } from "./shared/groups.ts";
export { smallExpm1, tanh } from "./shared/math.ts";
export { roundingOf, type SiblingProduct, type SiblingResult, type Siblings } from "./siblings.ts";
export {
  factorOfElements,
  laneElements,
  type NormOperands,
  normedElements,
  normFactors,
  normOperands,
  normValues,
  normWeightInput,
  normWeights,
  type StagedRows,
  stagedNormArgs,
  stageNorm,
} from "./stagedNorm.ts";
export { type BlockWords, loadUnit, loadUnits, type Unit, unitsAtOnce, unitWeights } from "./units.ts";
