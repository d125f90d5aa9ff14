import { statSync } from "node:fs";
import { expect, test } from "vitest";
import {
  blockLayout,
  type GgmlType,
  ggmlTypes,
  isBlockType,
  isGgmlType,
  QuantError,
  rowBytes,
  tensorBytes,
  typeById,
  withdrawnTypeById,
} from "../src/index.ts";
import { sharedPath } from "./shared.ts";

/** `[id, name, elements, bytes]` as ggml 0.16 answers `ggml_type_name`, `ggml_blck_size` and `ggml_type_size` for ids 0 to 42. */
const ggmlAnswers: readonly (readonly [number, GgmlType, number, number])[] = [
  [0, "f32", 1, 4],
  [1, "f16", 1, 2],
  [2, "q4_0", 32, 18],
  [3, "q4_1", 32, 20],
  [6, "q5_0", 32, 22],
  [7, "q5_1", 32, 24],
  [8, "q8_0", 32, 34],
  [9, "q8_1", 32, 36],
  [10, "q2_K", 256, 84],
  [11, "q3_K", 256, 110],
  [12, "q4_K", 256, 144],
  [13, "q5_K", 256, 176],
  [14, "q6_K", 256, 210],
  [15, "q8_K", 256, 292],
  [16, "iq2_xxs", 256, 66],
  [17, "iq2_xs", 256, 74],
  [18, "iq3_xxs", 256, 98],
  [19, "iq1_s", 256, 50],
  [20, "iq4_nl", 32, 18],
  [21, "iq3_s", 256, 110],
  [22, "iq2_s", 256, 82],
  [23, "iq4_xs", 256, 136],
  [24, "i8", 1, 1],
  [25, "i16", 1, 2],
  [26, "i32", 1, 4],
  [27, "i64", 1, 8],
  [28, "f64", 1, 8],
  [29, "iq1_m", 256, 56],
  [30, "bf16", 1, 2],
  [34, "tq1_0", 256, 54],
  [35, "tq2_0", 256, 66],
  [39, "mxfp4", 32, 17],
  [40, "nvfp4", 64, 36],
  [41, "q1_0", 128, 18],
  [42, "q2_0", 64, 18],
];

test("ids and layouts are ggml's", () => {
  expect(Object.keys(ggmlTypes)).toHaveLength(ggmlAnswers.length);
  for (const [id, name, blockElements, blockBytes] of ggmlAnswers) {
    expect(ggmlTypes[name]).toEqual({ id, blockElements, blockBytes });
    expect(typeById(id)).toBe(name);
  }
});

test("ids without a type", () => {
  for (const id of [4, 5, 31, 32, 33, 36, 37, 38]) {
    expect(typeById(id)).toBeUndefined();
    expect(withdrawnTypeById(id)).toMatch(/^i?q4/);
  }
  for (const id of [-1, 43, 0.5, Number.NaN]) expect([typeById(id), withdrawnTypeById(id)]).toEqual([undefined, undefined]);
});

test("names", () => {
  expect([isGgmlType("q4_K"), isGgmlType("Q4_K"), isGgmlType("toString")]).toEqual([true, false, false]);
  expect([isBlockType("q4_K"), isBlockType("f16"), isBlockType("i64")]).toEqual([true, false, false]);
  expect(() => blockLayout("q9_9" as GgmlType)).toThrow(QuantError);
});

test("sizes of rows and tensors", () => {
  expect(rowBytes("q4_K", 512)).toBe(288);
  expect(rowBytes("q4_0", 0)).toBe(0);
  expect(tensorBytes("q8_0", [3, 2, 64])).toBe(3 * 2 * 68);
  expect(tensorBytes("f16", [])).toBe(2);
  expect(tensorBytes("f32", [0, 7])).toBe(0);
  for (const n of [255, -256, 0.5, Number.NaN, Infinity, 2 ** 53]) expect(() => rowBytes("q4_K", n)).toThrow(/multiple of 256/);
  expect(() => tensorBytes("f32", [-1, 4])).toThrow(QuantError);
  expect(() => tensorBytes("f32", [2 ** 30, 2 ** 30])).toThrow(/2\^53/);
});

const codebookFile = sharedPath("data/dequant/IQ1_M.blocks");
test.skipIf(codebookFile === undefined)("sizes of the codebook formats fit ggml's files (skipped without CENTELLA_SHARED)", () => {
  for (const type of ["iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s"] as const) {
    const bytes = statSync(sharedPath(`data/dequant/${type.toUpperCase()}.blocks`)!).size;
    const values = statSync(sharedPath(`data/dequant/${type.toUpperCase()}.f32`)!).size / 4;
    expect(rowBytes(type, values)).toBe(bytes);
  }
});
