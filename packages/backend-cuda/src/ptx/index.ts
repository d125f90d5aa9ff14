export type { Bool, F32, I32, U32, Value } from "@centella/gpu-kernels";
export { type GeneratedKernel, generatePtx } from "../generatePtx.ts";
export { ArithmeticWriter } from "./arithmetic.ts";
export { AsyncWriter, type CachePolicy, type TensorMapAddress } from "./async.ts";
export { type AtomicElem, type AtomicOperations, type AtomicTraits, AtomicWriter, type Order, type Scope } from "./atomic.ts";
export { type LaneOperation, PtxBuilder } from "./builder.ts";
export { ClusterWriter, type RemoteShared } from "./cluster.ts";
export { CopyWriter } from "./copies.ts";
export {
  type HalfType,
  type IntegerFragment,
  type LeftByteFragment,
  type LeftFragment,
  type LeftTf32Fragment,
  type MatrixCount,
  type MatrixWords,
  MatrixWriter,
  type RightByteFragment,
  type RightFragment,
  type RightTf32Fragment,
  type SumFragment,
} from "./matrix.ts";
export { MemoryWriter, type SwizzledRowBytes, type VectorElem } from "./memory.ts";
export { type Logic3, PackedWriter } from "./packed.ts";
export { warpReduce, warpSum } from "./reduce.ts";
export type { Feature, Target } from "./text.ts";
export type { Axis, Elem, F64, Global, Operand, Reg, RegType, Shared } from "./types.ts";
export { type MatrixDescriptor, WarpgroupSums, WarpgroupWriter } from "./warpgroup.ts";
export { PtxWriter, type SharedAlignment, Var } from "./writer.ts";
