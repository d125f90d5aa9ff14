import { asValue, divide, type Extent, type F32, type U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../ptx/builder.ts";
import type { Global, Reg } from "../ptx/types.ts";
import { quadOffset } from "./halfRows.ts";
import { scaleOfByte, times } from "./scales.ts";
import { type CodePlane, isPlain, type UnitFormat, type UnitMatrix, unitRows } from "./unitFormat.ts";

/** A place in a unit: the row, and a weight of it. */
interface Place {
  readonly row: U32;
  readonly weight: U32;
}

/**
 * `count` weights from element `index` on of a matrix in units, 1 or 4; for 4 the index must be a multiple of 4. What the four share is read
 * once. For kernels that read weights here and there; products stage whole units.
 */
export function loadUnitWeights(k: PtxBuilder, matrix: UnitMatrix, from: Global<"u32">, index: Extent, count: 1 | 4): readonly F32[] {
  const { format, columns, units } = matrix;
  const [row, column] = divide(k, index, columns).map((part) => asValue(k, part)) as [U32, U32];
  const tile = k.shiftRight(row, 4);
  const number = k.mad(tile, units, k.shiftRight(column, Math.log2(format.width)));
  const unit = k.atBytes(from, number, format.bytes);
  const place = { row: k.and(row, unitRows - 1), weight: k.and(column, format.width - 1) };
  const elements = Array.from({ length: count }, (_, i) => (count === 1 ? k.and(place.weight, 3) : k.constant("u32", i)));
  if (isPlain(format)) {
    const halves = k.atBytes(unit, quadOffset(k, place.row, k.shiftRight(place.weight, 2)), 1) as string as Global<"b16">;
    return elements.map((element, i) => {
      const bits = count === 1 ? k.ld("b16", k.at("b16", halves, element)) : k.ld("b16", halves, i);
      return format.dtype === "f16" ? k.halfToFloat(bits) : k.bfloatToFloat(bits);
    });
  }
  const codes = elements.map((element) =>
    format.planes.map((plane) => k.shiftLeft(codeIn(k, unit, plane, place, element), plane.from)).reduce((code, bits) => k.or(code, bits)),
  );
  const { scale, minimum } = groupScale(k, format, unit, place);
  const levels = format.levels === undefined ? undefined : k.table("f32", format.levels);
  return codes.map((code) => {
    const level = levels === undefined ? k.sub(k.convert("f32", code), format.zero) : k.ld("f32", k.at("f32", levels, code));
    return minimum === undefined ? k.mul(scale, level) : k.add(k.mul(scale, level), minimum);
  });
}

/** The bits in a plane of the code of a weight: the one with the place's chunk and lane, and number `element` of these four. See `placeOf`. */
function codeIn(
  k: PtxBuilder,
  unit: Global<"u32">,
  { bits, offset, isInOrder = false }: CodePlane,
  { row, weight }: Place,
  element: U32,
): U32 {
  const lane = k.mad(k.and(row, 7), 4, k.and(k.shiftRight(weight, 2), 3));
  const high = k.shiftRight(row, 3);
  const chunk = k.shiftRight(weight, 4);
  const [pair, odd] = [k.shiftRight(chunk, 1), k.and(chunk, 1)];
  const [half, upper] = [k.shiftLeft(k.and(element, 1), 4), k.shiftRight(element, 1)];
  const within = k.add(k.mad(upper, 4, half), k.shiftLeft(odd, 3));
  const [own, bit] = ((): readonly [own: U32, bit: U32] => {
    switch (bits) {
      case 16:
        throw new RangeError("expected codes of weights with scales; this is a bug, please report it");
      case 8:
        return [k.mad(chunk, 2, high), k.shiftLeft(element, 3)];
      case 4:
        return [k.mad(pair, 2, high), isInOrder ? k.add(k.shiftLeft(element, 2), k.shiftLeft(odd, 4)) : within];
      case 2:
        return [pair, k.mad(high, 2, within)];
      case 1:
        return [k.shiftRight(pair, 1), k.add(k.mad(k.and(pair, 1), 2, within), high)];
    }
  })();
  const word = k.add(k.mad(k.shiftRight(own, 2), 128, k.and(own, 3)), k.shiftLeft(lane, 2));
  const value = k.ld("u32", k.at("u32", unit, word), offset / 4);
  return k.and(k.shiftRight(value, bit), 2 ** bits - 1);
}

/** The factor and the summand of a weight's group. */
export function groupScale(
  k: PtxBuilder,
  { scales, groupSize, width }: UnitFormat,
  unit: Global<"u32">,
  { row, weight }: Place,
): { readonly scale: F32; readonly minimum?: F32 } {
  const groups = width / groupSize;
  const group = k.shiftRight(weight, Math.log2(groupSize));
  const inRow = k.mad(row, groups, group);
  const halves = unit as string as Global<"b16">;
  const halfAt = (offset: number, index: U32): F32 => k.halfToFloat(k.ld("b16", k.at("b16", halves, index), offset / 2) as Reg<"b16">);
  switch (scales.kind) {
    case "none":
      return { scale: k.constant("f32", 1) };
    case "halves": {
      const scale = times(k, halfAt(scales.d, inRow), scales.factor);
      return scales.m === undefined ? { scale } : { scale, minimum: halfAt(scales.m, inRow) };
    }
    case "bytes": {
      const scale = scaleOfByte(k, scales, k.ldByte(k.atBytes(unit, inRow, 1), scales.scales));
      if (scales.d === undefined) return { scale };
      const d = halfAt(scales.d, k.mad(k.and(row, 7), 2, k.shiftRight(row, 3)));
      return { scale: k.mul(times(k, d, scales.factor), scale) };
    }
    case "nibbles": {
      const byte = k.ldByte(k.atBytes(unit, inRow, 1), scales.scales);
      const [d, dmin] = [halfAt(scales.d, k.shiftLeft(row, 1)), halfAt(scales.d, k.add(k.shiftLeft(row, 1), 1))];
      const float = (bits: U32): F32 => k.convert("f32", bits);
      return { scale: k.mul(d, float(k.and(byte, 15))), minimum: k.neg(k.mul(dmin, float(k.shiftRight(byte, 4)))) };
    }
    case "sixBits": {
      const bits = (which: number): F32 => {
        const [byte, upper] = [k.and(group, 3), k.shiftRight(group, 2)];
        const low = k.ld("u32", k.at("u32", unit, k.shiftLeft(row, 1)), scales.low / 4 + which);
        const high = k.ld("u32", k.at("u32", unit, row), scales.high / 4);
        const lowBits = k.and(k.shiftRight(low, k.mad(byte, 8, k.shiftLeft(upper, 2))), 15);
        const highBits = k.and(k.shiftRight(high, k.add(k.mad(byte, 8, k.shiftLeft(upper, 1)), 4 * which)), 3);
        return k.convert("f32", k.or(lowBits, k.shiftLeft(highBits, 4)));
      };
      const [d, dmin] = [halfAt(scales.d, k.shiftLeft(row, 1)), halfAt(scales.d, k.add(k.shiftLeft(row, 1), 1))];
      return { scale: k.mul(d, bits(0)), minimum: k.neg(k.mul(dmin, bits(1))) };
    }
  }
}
