import { byteArray, check, floatArray, object } from "../checks.ts";
import { QuantError } from "../errors.ts";
import { halfToFloat, halfWordAt } from "../floats/half.ts";
import { type BlockType, blockLayout } from "../types/types.ts";
import { type NumberLayout, type PlaneLayout, planeLayouts } from "./layouts.ts";

/** Weights of a block type as arrays of one kind of number each, in the order of the weights. See {@link PlaneLayout} for their value. */
export interface Planes {
  /** A code of `codeBits` bits per weight. */
  readonly codes: Uint8Array;
  /** A scale per group, where the type has them. */
  readonly scales: Uint8Array | undefined;
  /** A minimum per group, where the type has them. */
  readonly minima: Uint8Array | undefined;
  /** Bits of an f16 per block, where the type has it. */
  readonly d: Uint16Array | undefined;
  /** Bits of an f16 per block, where the type has it. */
  readonly dmin: Uint16Array | undefined;
}

/** How a type is split into planes; undefined for types whose weights are no codes of 1 to 8 bits, which {@link toSteps} splits. */
export function planeLayout(type: BlockType): PlaneLayout | undefined {
  blockLayout(type);
  return planeLayouts[type];
}

/**
 * Splits blocks into planes. No bit is lost: {@link fromPlanes} gives the same bytes back.
 * @throws {QuantError} `unsupported-type` for types without planes, `length` if `bytes` are not whole blocks
 */
export function toPlanes(type: BlockType, bytes: Uint8Array): Planes {
  const layout = requireLayout("toPlanes", type);
  check("toPlanes", "bytes", bytes, byteArray);
  const { blockBytes } = blockLayout(type);
  if (bytes.length % blockBytes !== 0)
    throw new QuantError("length", `toPlanes: expected a multiple of ${blockBytes} bytes for ${type}, got ${bytes.length}`);
  const blocks = bytes.length / blockBytes;
  const [numbers, halves] = [
    (each: NumberLayout | undefined) => each && readNumbers(bytes, blocks, blockBytes, each),
    (at: number | undefined) => (at === undefined ? undefined : readHalves(bytes, blocks, blockBytes, at)),
  ];
  const { codes, scales, minima, d, dmin } = layout;
  return {
    codes: readNumbers(bytes, blocks, blockBytes, codes),
    scales: numbers(scales),
    minima: numbers(minima),
    d: halves(d),
    dmin: halves(dmin),
  };
}

/**
 * Packs planes into the blocks that {@link toPlanes} split.
 * @throws {QuantError} `unsupported-type` for types without planes, `length` if the planes' lengths do not agree
 */
export function fromPlanes(type: BlockType, planes: Planes): Uint8Array {
  const layout = requireLayout("fromPlanes", type);
  requirePlanes("fromPlanes", type, planes);
  const { blockBytes } = blockLayout(type);
  const blocks = planes.codes.length / layout.codes.count;
  const bytes = new Uint8Array(blocks * blockBytes);
  for (const name of ["codes", "scales", "minima"] as const) {
    const [numbers, plane] = [layout[name], planes[name]];
    if (numbers !== undefined && plane !== undefined) writeNumbers(bytes, blocks, blockBytes, numbers, plane);
  }
  for (const name of ["d", "dmin"] as const) {
    const [at, plane] = [layout[name], planes[name]];
    if (at !== undefined && plane !== undefined) writeHalves(bytes, blockBytes, at, plane);
  }
  return bytes;
}

/**
 * Decodes planes to `out`, one f32 per weight: bit for bit what `dequantize` gives for the blocks.
 * @throws {QuantError} `unsupported-type` for types without planes, `length` if lengths do not agree
 */
export function dequantizePlanes(type: BlockType, planes: Planes, out: Float32Array): void {
  const { groupSize, codes, codeOffset = 0, levels, scaleOffset = 0, scaleTable, sign = 1 } = requireLayout("dequantizePlanes", type);
  requirePlanes("dequantizePlanes", type, planes);
  check("dequantizePlanes", "out", out, floatArray);
  if (out.length !== planes.codes.length)
    throw new QuantError("length", `dequantizePlanes: expected out of ${planes.codes.length} elements, got ${out.length}`);
  const levelOf = (code: number): number => levels?.[code] ?? code - codeOffset;
  const scaleOf = (scale: number | undefined): number => {
    if (scale === undefined) return 1;
    return scaleTable === undefined ? scale - scaleOffset : scaleTable(scale);
  };
  const half = (bits: number | undefined, absent: number): number => (bits === undefined ? absent : halfToFloat(bits));
  for (let start = 0; start < out.length; start += groupSize) {
    const [group, block] = [start / groupSize, Math.floor(start / codes.count)];
    const scale = half(planes.d?.[block], 1) * scaleOf(planes.scales?.[group]);
    const min = sign * half(planes.dmin?.[block], 0) * (planes.minima?.[group] ?? 1);
    planes.codes.subarray(start, start + groupSize).forEach((code, i) => {
      // Without a minimum nothing is added, which would change the sign of a zero.
      out[start + i] = planes.dmin === undefined ? scale * levelOf(code) : scale * levelOf(code) + min;
    });
  }
}

function requireLayout(op: string, type: BlockType): PlaneLayout {
  const layout = planeLayout(type);
  if (layout !== undefined) return layout;
  throw new QuantError(
    "unsupported-type",
    `${op}: expected one of ${Object.keys(planeLayouts).join(", ")}, got ${type}; split it with toSteps`,
  );
}

function requirePlanes(op: string, type: BlockType, planes: Planes): void {
  check(op, "planes", planes, object);
  const { codes, scales, minima, d, dmin } = requireLayout(op, type);
  check(op, "planes.codes", planes.codes, byteArray);
  const blocks = planes.codes.length / codes.count;
  const expected = {
    codes: Math.ceil(blocks) * codes.count,
    scales: scales && blocks * scales.count,
    minima: minima && blocks * minima.count,
    d: d === undefined ? undefined : blocks,
    dmin: dmin === undefined ? undefined : blocks,
  };
  for (const name of ["codes", "scales", "minima", "d", "dmin"] as const) {
    const [length, got] = [expected[name], planes[name]?.length];
    if (got !== length) throw new QuantError("length", `${op}: expected ${length ?? "no"} ${name} for ${type}, got ${got ?? "none"}`);
  }
}

/** The pieces of all numbers of a block as flat tuples `number, byte, shift, mask, shift in the number`. */
function flatPieces({ count, pieces }: NumberLayout): Int32Array {
  const flat: number[] = [];
  for (let index = 0; index < count; index++) {
    let within = 0;
    for (const { at, shift, bits } of pieces(index)) {
      flat.push(index, at, shift, (1 << bits) - 1, within);
      within += bits;
    }
  }
  return Int32Array.from(flat);
}

/** Calls `visit` for each piece of each block: index of the number, of the byte, shift in the byte, mask, shift in the number. */
function eachPiece(
  layout: NumberLayout,
  blocks: number,
  blockBytes: number,
  visit: (number: number, at: number, shift: number, mask: number, within: number) => void,
): void {
  const flat = flatPieces(layout);
  for (let block = 0; block < blocks; block++) {
    const [first, from] = [block * layout.count, block * blockBytes];
    for (let i = 0; i < flat.length; i += 5) visit(first + flat[i]!, from + flat[i + 1]!, flat[i + 2]!, flat[i + 3]!, flat[i + 4]!);
  }
}

function readNumbers(bytes: Uint8Array, blocks: number, blockBytes: number, layout: NumberLayout): Uint8Array {
  const numbers = new Uint8Array(blocks * layout.count).fill(layout.flip ?? 0);
  eachPiece(layout, blocks, blockBytes, (number, at, shift, mask, within) => {
    numbers[number]! ^= ((bytes[at]! >> shift) & mask) << within;
  });
  return numbers;
}

function writeNumbers(bytes: Uint8Array, blocks: number, blockBytes: number, layout: NumberLayout, numbers: Uint8Array): void {
  const flip = layout.flip ?? 0;
  eachPiece(layout, blocks, blockBytes, (number, at, shift, mask, within) => {
    bytes[at]! |= (((numbers[number]! ^ flip) >> within) & mask) << shift;
  });
}

function readHalves(bytes: Uint8Array, blocks: number, blockBytes: number, at: number): Uint16Array {
  return Uint16Array.from({ length: blocks }, (_, block) => halfWordAt(bytes, block * blockBytes + at));
}

function writeHalves(bytes: Uint8Array, blockBytes: number, at: number, halves: Uint16Array): void {
  halves.forEach((half, block) => {
    bytes[block * blockBytes + at] = half & 255;
    bytes[block * blockBytes + at + 1] = half >> 8;
  });
}
