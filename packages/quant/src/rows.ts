import { bfloatToFloat, floatToBfloat } from "./bfloat.ts";
import { QuantError } from "./errors.ts";
import { floatToHalf, halfToFloat } from "./half.ts";

function sameLength(op: string, source: ArrayLike<number>, out: ArrayLike<number>): void {
  if (source.length !== out.length) {
    throw new QuantError("length", `${op}: expected out of ${source.length} elements, got ${out.length}`);
  }
}

/** `out[i] = halfToFloat(source[i])`. @throws {QuantError} `length` if the lengths differ */
export function halfRowToFloat(source: Uint16Array, out: Float32Array): void {
  sameLength("halfRowToFloat", source, out);
  for (let i = 0; i < source.length; i++) out[i] = halfToFloat(source[i]!);
}

/** `out[i] = floatToHalf(source[i])`. @throws {QuantError} `length` if the lengths differ */
export function floatRowToHalf(source: Float32Array, out: Uint16Array): void {
  sameLength("floatRowToHalf", source, out);
  for (let i = 0; i < source.length; i++) out[i] = floatToHalf(source[i]!);
}

/** `out[i] = bfloatToFloat(source[i])`. @throws {QuantError} `length` if the lengths differ */
export function bfloatRowToFloat(source: Uint16Array, out: Float32Array): void {
  sameLength("bfloatRowToFloat", source, out);
  for (let i = 0; i < source.length; i++) out[i] = bfloatToFloat(source[i]!);
}

/** `out[i] = floatToBfloat(source[i])`. @throws {QuantError} `length` if the lengths differ */
export function floatRowToBfloat(source: Float32Array, out: Uint16Array): void {
  sameLength("floatRowToBfloat", source, out);
  for (let i = 0; i < source.length; i++) out[i] = floatToBfloat(source[i]!);
}
