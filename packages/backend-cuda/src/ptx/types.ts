import type * as gpu from "@centella/gpu-kernels";

declare const brand: unique symbol;

/** Types of virtual registers. `b16` holds the bits of a half or a bfloat. */
export type RegType = "pred" | "b16" | "u32" | "s32" | "u64" | "f32" | "f64";

/** A virtual register that is written once: its name, branded with its type. Types cost nothing when text is emitted. */
export type Reg<T extends RegType> = string & { readonly [brand]: T };

export type Pred = Reg<"pred">;
export type B16 = Reg<"b16">;
export type U32 = Reg<"u32">;
/** A whole number that is known when the kernel is generated, or a register that holds it. */
export type Extent = gpu.Extent<U32>;
export type S32 = Reg<"s32">;
export type F32 = Reg<"f32">;
export type F64 = Reg<"f64">;

/** What lies in memory. `b16` is a half or a bfloat. */
export type Elem = "f32" | "f64" | "s32" | "u32" | "b16";

/** 64-bit address of an `E` in global memory. */
export type Global<E extends Elem> = string & { readonly [brand]: `global ${E}` };

/** 32-bit address of an `E` in the block's shared memory. */
export type Shared<E extends Elem> = string & { readonly [brand]: `shared ${E}` };

/** Anything that the builder can write down as an operand. */
export type Operand = string | number;

export const elemBytes: Readonly<Record<Elem, number>> = { f32: 4, f64: 8, s32: 4, u32: 4, b16: 2 };

/** First letter of a register's name, by type: a register's type can be read off its name. */
export const prefixes: Readonly<Record<RegType, string>> = { pred: "p", b16: "h", u32: "u", s32: "s", u64: "l", f32: "f", f64: "d" };

/** How each type is declared. */
export const declarations: Readonly<Record<RegType, string>> = {
  pred: ".pred",
  b16: ".b16",
  u32: ".u32",
  s32: ".s32",
  u64: ".u64",
  f32: ".f32",
  f64: ".f64",
};

/** Types in the order in which their registers are declared. */
export const regTypes: readonly RegType[] = ["pred", "b16", "u32", "s32", "u64", "f32", "f64"];
