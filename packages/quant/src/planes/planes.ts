import { byteArray, check, floatArray, object } from "../checks.ts";
import { QuantError } from "../errors.ts";
import { type BlockType, blockLayout } from "../types/types.ts";
import { type NumberLayout, type PlaneLayout, planeLayouts } from "./layouts.ts";
import { flatPieces, halfOr, levelReader, type Planes, scaleReader, splitBlocks } from "./split.ts";

/** How a type is split into planes; undefined for types whose weights share codes, whose blocks `recode` rewrites, and for q8_1 and q8_K. */
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
  return splitBlocks(layout, blockBytes, bytes);
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
  const layout = requireLayout("dequantizePlanes", type);
  requirePlanes("dequantizePlanes", type, planes);
  check("dequantizePlanes", "out", out, floatArray);
  if (out.length !== planes.codes.length)
    throw new QuantError("length", `dequantizePlanes: expected out of ${planes.codes.length} elements, got ${out.length}`);
  const { groupSize, codes, sign = 1 } = layout;
  const levelOf = levelReader(layout);
  const scaleOf = scaleReader(layout, planes);
  for (let start = 0; start < out.length; start += groupSize) {
    const [group, block] = [start / groupSize, Math.floor(start / codes.count)];
    const scale = scaleOf(group);
    const min = sign * halfOr(planes.dmin?.[block], 0) * (planes.minima?.[group] ?? 1);
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
    `${op}: expected one of ${Object.keys(planeLayouts).join(", ")}, got ${type}; rewrite its blocks with recode`,
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

function writeNumbers(bytes: Uint8Array, blocks: number, blockBytes: number, layout: NumberLayout, numbers: Uint8Array): void {
  const flat = flatPieces(layout);
  const flip = layout.flip ?? 0;
  for (let block = 0; block < blocks; block++) {
    const [first, from] = [block * layout.count, block * blockBytes];
    for (let i = 0; i < flat.length; i += 5)
      bytes[from + flat[i + 1]!]! |= (((numbers[first + flat[i]!]! ^ flip) >> flat[i + 4]!) & flat[i + 3]!) << flat[i + 2]!;
  }
}

function writeHalves(bytes: Uint8Array, blockBytes: number, at: number, halves: Uint16Array): void {
  halves.forEach((half, block) => {
    bytes[block * blockBytes + at] = half & 255;
    bytes[block * blockBytes + at + 1] = half >> 8;
  });
}
