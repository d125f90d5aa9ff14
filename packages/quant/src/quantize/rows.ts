import { check, floatArray, type Kind, typedArray } from "../checks.ts";
import { QuantError } from "../errors.ts";
import { bfloatToFloat, floatToBfloat } from "../floats/bfloat.ts";
import { floatToHalf, halfToFloat } from "../floats/half.ts";

const halves = typedArray(Uint16Array);

function checkRows(op: string, source: ArrayLike<number>, ofSource: Kind, out: ArrayLike<number>, ofOut: Kind): void {
  check(op, "source", source, ofSource);
  check(op, "out", out, ofOut);
  if (source.length !== out.length) {
    throw new QuantError("length", `${op}: expected out of ${source.length} elements, got ${out.length}`);
  }
}

/** `out[i] = halfToFloat(source[i])`. @throws {QuantError} `length` if the lengths differ */
export function halfRowToFloat(source: Uint16Array, out: Float32Array): void {
  checkRows("halfRowToFloat", source, halves, out, floatArray);
  for (let i = 0; i < source.length; i++) out[i] = halfToFloat(source[i]!);
}

/** `out[i] = floatToHalf(source[i])`. @throws {QuantError} `length` if the lengths differ */
export function floatRowToHalf(source: Float32Array, out: Uint16Array): void {
  checkRows("floatRowToHalf", source, floatArray, out, halves);
  for (let i = 0; i < source.length; i++) out[i] = floatToHalf(source[i]!);
}

/** `out[i] = bfloatToFloat(source[i])`. @throws {QuantError} `length` if the lengths differ */
export function bfloatRowToFloat(source: Uint16Array, out: Float32Array): void {
  checkRows("bfloatRowToFloat", source, halves, out, floatArray);
  for (let i = 0; i < source.length; i++) out[i] = bfloatToFloat(source[i]!);
}

/** `out[i] = floatToBfloat(source[i])`. @throws {QuantError} `length` if the lengths differ */
export function floatRowToBfloat(source: Float32Array, out: Uint16Array): void {
  checkRows("floatRowToBfloat", source, floatArray, out, halves);
  for (let i = 0; i < source.length; i++) out[i] = floatToBfloat(source[i]!);
}
