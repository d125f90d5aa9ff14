export type {
  Backend,
  BackendFactory,
  DeviceInfo,
  InputData,
  LoadOptions,
  Plan,
  Profile,
  ProfiledStep,
  ProfileOptions,
  Recovery,
  RunOptions,
  TensorSource,
} from "./backend/backend.ts";
export type { DType, ScalarType, TypedArray } from "./dtype.ts";
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
export type { TensorData } from "./numbers.ts";
export type { OpName, ParamsOf } from "./ops/index.ts";
export type { Activations } from "./ops/shared/transposedProduct.ts";
export { createProgram, type Program } from "./program/createProgram.ts";
export type { CustomOp } from "./program/custom.ts";
export type { CustomKernels } from "./program/customKernels.ts";
export type { Cost, HostTensor } from "./program/op.ts";
export type { ChainMethods, OpMethods } from "./program/opMethods.ts";
export { createRecorder, type OpRecorder, Value } from "./program/program.ts";
export { split } from "./program/sequences.ts";
export { reference } from "./reference/reference.ts";
export { type Batch, createBatch } from "./runtime/batch.ts";
export type { Calibration, CalibrationOptions } from "./runtime/calibrate.ts";
export { formatReport, type RuntimeReport } from "./runtime/callLog.ts";
export { createRuntime } from "./runtime/createRuntime.ts";
export { type Explanation, formatExplanation } from "./runtime/explanation.ts";
export type { LazyTensor } from "./runtime/lazy.ts";
export type { Placement } from "./runtime/placement.ts";
export type { Runtime, RuntimeCompileOptions } from "./runtime/runtime.ts";
export type { RuntimeOptions } from "./runtime/runtimeOptions.ts";
export type { Policy, Rejection, Selection, Verdict } from "./runtime/select.ts";
export type { Thresholds } from "./runtime/thresholdTypes.ts";
export type { ConcreteSpec, Dim, DimValues, Shape, SymbolicDim, TensorSpec } from "./spec.ts";
export { Tensor } from "./tensor.ts";
