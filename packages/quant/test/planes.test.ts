import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type BlockType,
  blockLayout,
  dequantize,
  dequantizePlanes,
  fromPlanes,
  ggmlTypes,
  isBlockType,
  isGgmlType,
  planeLayout,
  QuantError,
  recode,
  recodedForm,
  toPlanes,
  toSteps,
} from "../src/index.ts";
import { sharedPath } from "./shared.ts";

const blockTypes = Object.keys(ggmlTypes)
  .filter(isGgmlType)
  .filter((type): type is BlockType => isBlockType(type));
const planar = blockTypes.filter((type) => planeLayout(type) !== undefined);

/** Whole blocks of every byte value. */
function anyBlocks(type: BlockType): Uint8Array {
  return Uint8Array.from({ length: 64 * blockLayout(type).blockBytes }, (_, i) => (i * 151 + (i >> 7) * 13 + (i >> 3)) & 255);
}

const bits = (values: Float32Array): Uint32Array => new Uint32Array(values.buffer, values.byteOffset, values.length);

/** All NaNs are one. */
const comparable = (values: Float32Array): Uint32Array => bits(values.map((value) => (Number.isNaN(value) ? Number.NaN : value)));

test("every block type is split into planes or into steps", () => {
  const stepped = blockTypes.filter((type) => {
    const count = blockLayout(type).blockElements;
    try {
      toSteps(type, new Uint8Array(blockLayout(type).blockBytes), new Int8Array(count), new Float32Array(count / 16));
      return true;
    } catch {
      return false;
    }
  });
  expect([...new Set([...planar, ...stepped])].sort()).toEqual([...blockTypes].sort());
});

describe.each(planar)("planes of %s", (type) => {
  const layout = planeLayout(type)!;

  test("hold every bit of a block", () => {
    const bytes = anyBlocks(type);
    const planes = toPlanes(type, bytes);
    expect(fromPlanes(type, planes)).toEqual(bytes);
    expect(Math.max(...planes.codes)).toBe(2 ** layout.codeBits - 1);
    expect(planes.codes.length).toBe(64 * blockLayout(type).blockElements);
    const groups = planes.codes.length / layout.groupSize;
    for (const plane of [planes.scales, planes.minima]) if (plane !== undefined) expect(plane.length).toBe(groups);
  });

  test("have the blocks' values, bit for bit", () => {
    const bytes = anyBlocks(type);
    const count = 64 * blockLayout(type).blockElements;
    const [want, got] = [new Float32Array(count), new Float32Array(count)];
    dequantize(type, bytes, want);
    dequantizePlanes(type, toPlanes(type, bytes), got);
    expect(comparable(got)).toEqual(comparable(want));
  });

  test("have ggml's values, bit for bit", ({ skip }) => {
    const path = sharedPath(`data/dequant/${type.toUpperCase()}.blocks`);
    if (path === undefined) return skip("the outside test data is not there, or has no such type; set CENTELLA_SHARED");
    const want = new Float32Array(new Uint8Array(readFileSync(path.replace(/blocks$/, "f32"))).buffer);
    const got = new Float32Array(want.length);
    dequantizePlanes(type, toPlanes(type, new Uint8Array(readFileSync(path))), got);
    expect(bits(got)).toEqual(bits(want));
  });

  test("of wrong lengths are refused", () => {
    const planes = toPlanes(type, anyBlocks(type));
    expect(() => toPlanes(type, new Uint8Array(blockLayout(type).blockBytes + 1))).toThrow(/toPlanes: expected a multiple of \d+ bytes/);
    expect(() => fromPlanes(type, { ...planes, codes: planes.codes.subarray(1) })).toThrow(/fromPlanes: expected \d+ codes for/);
    for (const name of ["scales", "minima", "d", "dmin"] as const) {
      const wrong = { ...planes, [name]: planes[name] === undefined ? new Uint8Array(1) : undefined };
      expect(() => fromPlanes(type, wrong)).toThrow(new RegExp(`fromPlanes: expected (\\d+|no) ${name} for`));
    }
    expect(() => dequantizePlanes(type, planes, new Float32Array(1))).toThrow(/dequantizePlanes: expected out of \d+ elements, got 1/);
  });
});

test("types without planes are refused by name", () => {
  expect(() => toPlanes("iq2_xs", new Uint8Array(74))).toThrow(QuantError);
  expect(() => toPlanes("iq2_xs", new Uint8Array(74))).toThrow(
    /toPlanes: expected one of q1_0, .*, got iq2_xs; rewrite its blocks with recode/,
  );
});

describe.each(blockTypes.filter((type) => recodedForm(type) !== undefined))("recoded blocks of %s", (type) => {
  test("have the size of their form, and only codes that are weights", () => {
    const { blockBytes, layout } = recodedForm(type)!;
    expect(recode(type, anyBlocks(type)).length).toBe(64 * blockBytes);
    expect(layout.codes.count).toBe(blockLayout(type).blockElements);
    expect(() => recode(type, new Uint8Array(blockLayout(type).blockBytes + 1))).toThrow(/recode: expected a multiple of \d+ bytes/);
  });
});

test("blocks with codes of their own are not recoded", () => {
  expect(blockTypes.filter((type) => recodedForm(type) === undefined && planeLayout(type) === undefined)).toEqual(["q8_1", "q8_K"]);
  expect(() => recode("q4_0", new Uint8Array(18))).toThrow(/recode: expected a codebook type or tq1_0, got q4_0/);
});
