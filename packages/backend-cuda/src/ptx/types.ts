import type { Value, ValueType } from "@centella/gpu-kernels";

/** Types of virtual registers: those of shared kernels' values, and PTX's own. `b16` holds the bits of a half or a bfloat. */
export type RegType = ValueType | "b16" | "u64" | "f64";

/** A virtual register that is written once: a value of a kernel. Types cost nothing when text is emitted. */
export type Reg<T extends RegType> = Value<T>;

/** A register of f64. */
export type F64 = Reg<"f64">;

/** Types of elements in memory. `b16` is a half or a bfloat. */
export type Elem = "f32" | "f64" | "i32" | "u32" | "u64" | "b16";

/** 64-bit address of an `E` in global memory. */
export type Global<E extends Elem> = Value<`global ${E}`>;

/** 32-bit address of an `E` in the block's shared memory. */
export type Shared<E extends Elem> = Value<`shared ${E}`>;

/** An axis of a launch's grid, or of a cluster. */
export type Axis = "x" | "y" | "z";

/** An operand of an instruction. */
export type Operand = string | number;

export const elemBytes: Readonly<Record<Elem, number>> = { f32: 4, f64: 8, i32: 4, u32: 4, u64: 8, b16: 2 };

/** First letter of a register's name, by type: a register's type can be read off its name. */
export const prefixes: Readonly<Record<RegType, string>> = { bool: "p", b16: "h", u32: "u", i32: "s", u64: "l", f32: "f", f64: "d" };

/** PTX's name of each type. */
export const ptxNames: Readonly<Record<RegType, string>> = {
  bool: "pred",
  b16: "b16",
  u32: "u32",
  i32: "s32",
  u64: "u64",
  f32: "f32",
  f64: "f64",
};

/** Types in the order in which their registers are declared. */
export const regTypes: readonly RegType[] = ["bool", "b16", "u32", "i32", "u64", "f32", "f64"];
