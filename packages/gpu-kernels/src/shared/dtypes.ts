import type { DType } from "@centella/core";
import { isInteger } from "@centella/core/backend";
import type { Emitter, F32, I32, NumberType, U32, Value } from "../emitter.ts";

/** The type in which a plain dtype is computed. */
export function computeType(dtype: DType): NumberType {
  if (!isInteger(dtype)) return "f32";
  return dtype === "i32" || dtype === "i8" ? "i32" : "u32";
}

/** An element of a plain dtype as a number; of bool 0 or 1. */
export function loadNumber(k: Emitter, dtype: DType, name: string, index: U32 | number): Value<NumberType> {
  switch (computeType(dtype)) {
    case "f32":
      return k.load(name, index);
    case "i32":
      return dtype === "i32" ? k.loadInteger(name, index) : signed(k, k.loadBits(name, index));
    case "u32":
      return k.loadBits(name, index);
  }
}

/** A byte as a signed number. */
function signed(k: Emitter, byte: U32): I32 {
  return k.bitcast("i32", k.sub(k.xor(byte, 0x80), 0x80));
}

/** Bits of an f32 in a float dtype: rounded to the nearest, ties to even. */
export function bitsOfFloat(k: Emitter, dtype: DType, x: F32): U32 {
  if (dtype === "f16") return k.toHalf(x);
  const bits = k.bitcast("u32", x);
  return dtype === "bf16" ? toBfloat(k, bits) : bits;
}

/** The f32 nearest to a value that a float dtype can hold, ties to even. */
export function roundedTo(k: Emitter, dtype: DType, x: F32): F32 {
  if (dtype === "f32") return x;
  const bits = bitsOfFloat(k, dtype, x);
  return dtype === "f16" ? k.fromHalf(bits) : k.bitcast("f32", k.shiftLeft(bits, 16));
}

/** Bits of the bf16 nearest to an f32 given by its bits, ties to even. NaN stays NaN. */
export function toBfloat(k: Emitter, bits: U32): U32 {
  const high = k.shiftRight(bits, 16);
  const rounded = k.shiftRight(k.add(bits, k.add(k.and(high, 1), 0x7fff)), 16);
  return k.select(k.compare("gt", k.and(bits, 0x7fffffff), 0x7f800000), k.or(high, 0x40), rounded);
}
