export { atomic } from "./atomic.ts";
export { FunctionBuilder, type FunctionRef, type Params, type Signature, type Times } from "./function.ts";
export { type FunctionInfo, ModuleBuilder, type ModuleOptions, slotBytes, threadIndex } from "./module.ts";
export { f32, f64, i32, i64 } from "./scalar.ts";
export { f32x4, f64x2, i8x16, i16x8, i32x4, i64x2, relaxed, v128 } from "./simd.ts";
export type { Expr, I32, Local, V128 } from "./values.ts";
export { Widening } from "./widen.ts";
