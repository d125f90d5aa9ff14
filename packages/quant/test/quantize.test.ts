import { describe, expect, test } from "vitest";
import {
  activationType,
  type BlockType,
  bfloatToFloat,
  dequantize,
  floatToBfloat,
  floatToHalf,
  type GgmlType,
  ggmlTypes,
  halfToFloat,
  isDequantizable,
  QuantError,
  quantizeRow,
  roundActivations,
  rowBytes,
  typeById,
} from "../src/index.ts";
import golden from "./fixtures/ggml.json" with { type: "json" };

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

const row = new Float32Array(decode(golden.row).buffer);
const activationTypes = ["q8_0", "q8_1", "q8_K"] as const;

describe.each(activationTypes)("quantizeRow %s", (type) => {
  test.each(["reference", "x86"] as const)("%s: ggml's bytes", (rounding) => {
    const out = new Uint8Array(rowBytes(type, row.length));
    quantizeRow(type, row, out, rounding);
    expect(Buffer.from(out).equals(decode(golden.quantized[type][rounding]))).toBe(true);
  });

  test("the reference is the default", () => {
    const out = new Uint8Array(rowBytes(type, row.length));
    quantizeRow(type, row, out);
    expect(Buffer.from(out).equals(decode(golden.quantized[type].reference))).toBe(true);
  });

  test("checks lengths", () => {
    expect(() => quantizeRow(type, row, new Uint8Array(1))).toThrow(QuantError);
    expect(() => quantizeRow(type, row.subarray(0, 33), new Uint8Array(34))).toThrow(/multiple of/);
  });
});

test("the two roundings do differ", () => {
  expect(golden.quantized.q8_0.reference).not.toBe(golden.quantized.q8_0.x86);
});

test("other types are refused by name", () => {
  expect(() => quantizeRow("q4_0" as "q8_0", row, new Uint8Array(0))).toThrow(/q8_0, q8_1 or q8_K, got "q4_0"/);
});

test.each(["q8_K", "nvfp4"] as const)("dequantize %s: ggml's values", (type) => {
  const want = new Float32Array(decode(golden.blocks[type].values).buffer);
  const got = new Float32Array(want.length);
  dequantize(type, decode(golden.blocks[type].bytes), got);
  expect(new Uint32Array(got.buffer)).toEqual(new Uint32Array(want.buffer));
});

test("q8_1 blocks decode as the q8_0 blocks of the same row", () => {
  const fromQ8_0 = new Float32Array(row.length);
  const fromQ8_1 = new Float32Array(row.length);
  dequantize("q8_0", decode(golden.quantized.q8_0.reference), fromQ8_0);
  dequantize("q8_1", decode(golden.quantized.q8_1.reference), fromQ8_1);
  expect(fromQ8_1).toEqual(fromQ8_0);
});

test("dequantize takes unaligned bytes and plain floats", () => {
  const out = new Float32Array(2);
  dequantize("f32", Uint8Array.of(9, 0, 0, 128, 63, 0, 0, 0, 192).subarray(1), out);
  expect(out).toEqual(Float32Array.of(1, -2));
  dequantize("f16", Uint8Array.of(9, 0, 60, 0, 192).subarray(1), out);
  expect(out).toEqual(Float32Array.of(1, -2));
  dequantize("bf16", Uint8Array.of(9, 128, 63, 0, 192).subarray(1), out);
  expect(out).toEqual(Float32Array.of(1, -2));
});

test("dequantize names what it cannot do", () => {
  const error = (run: () => void): unknown => {
    try {
      run();
    } catch (caught) {
      return caught;
    }
    return expect.fail("nothing was thrown");
  };
  expect(Object.keys(ggmlTypes).filter((type) => !isDequantizable(type as GgmlType))).toEqual(["i8", "i16", "i32", "i64", "f64"]);
  expect(error(() => dequantize("i32", new Uint8Array(4), new Float32Array(1)))).toMatchObject({ code: "unsupported-type" });
  expect(error(() => dequantize("q8_0", new Uint8Array(33), new Float32Array(32)))).toMatchObject({ code: "length" });
  expect(error(() => dequantize("q8_0", new Uint8Array(34), new Float32Array(31)))).toMatchObject({ code: "length" });
  expect(error(() => dequantize("nope" as "f32", new Uint8Array(34), new Float32Array(31)))).toMatchObject({ code: "unknown-type" });
});

/** `vec_dot_type` of ggml 0.16's CPU backend by weight id; q8_1 and q8_K, which no weights have, are left out. */
const vecDotTypes: Readonly<Record<number, number>> = {
  ...{ 2: 8, 3: 9, 6: 8, 7: 9, 8: 8, 10: 15, 11: 15, 12: 15, 13: 15, 14: 15, 16: 15, 17: 15, 18: 15, 19: 15, 20: 8 },
  ...{ 21: 15, 22: 15, 23: 15, 29: 15, 34: 15, 35: 15, 39: 8, 40: 8, 41: 8, 42: 8 },
};

describe("roundActivations", () => {
  test("the format for each type of weights is ggml's", () => {
    for (const [id, activation] of Object.entries(vecDotTypes)) {
      expect(ggmlTypes[activationType[typeById(Number(id)) as BlockType]].id, `weights of type ${id}`).toBe(activation);
    }
    expect(Object.keys(activationType)).toHaveLength(Object.keys(vecDotTypes).length + 2);
  });

  test.each([
    ["q4_0", "q8_0"],
    ["q4_1", "q8_1"],
    ["q4_K", "q8_K"],
  ] as const)("for %s weights it is %s as the x86 code computes it", (weights, activation) => {
    const want = new Float32Array(row.length);
    dequantize(activation, decode(golden.quantized[activation].x86), want);
    const got = row.slice();
    roundActivations(weights, got, got);
    expect(got).toEqual(want);
  });

  test("for plain weights it is their type", () => {
    const got = new Float32Array(row.length);
    roundActivations("f32", row, got);
    expect(got).toEqual(row);
    roundActivations("f16", row, got);
    expect(got).toEqual(row.map((x) => halfToFloat(floatToHalf(x))));
    roundActivations("bf16", row, got);
    expect(got).toEqual(row.map((x) => bfloatToFloat(floatToBfloat(x))));
    expect(() => roundActivations("i32", row, got)).toThrow(QuantError);
    expect(() => roundActivations("f32", row, new Float32Array(1))).toThrow(/expected out of/);
  });
});
