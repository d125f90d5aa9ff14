import { describe, expect, test } from "vitest";
import { dequantize, ggmlTypes, isQuantizable, type QuantErrorCode, type QuantizableType, quantize, rowBytes } from "../src/index.ts";
import golden from "./fixtures/encoded.json" with { type: "json" };

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

const values = new Float32Array(decode(golden.values).buffer);
const imatrix = new Float32Array(decode(golden.imatrix).buffer);
const encodedTypes = Object.keys(golden.encoded) as (keyof typeof golden.encoded)[];

function firstDifference(got: Uint8Array, want: Uint8Array, blockBytes: number): string | undefined {
  if (got.length !== want.length) return `${got.length} instead of ${want.length} bytes`;
  const i = got.findIndex((byte, at) => byte !== want[at]);
  return i < 0 ? undefined : `block ${Math.floor(i / blockBytes)}, byte ${i % blockBytes}: ${got[i]} instead of ${want[i]}`;
}

describe.each(encodedTypes)("quantize %s", (type) => {
  const { blockBytes } = ggmlTypes[type];

  test("ggml's bytes", () => {
    expect(firstDifference(quantize(type, values), decode(golden.encoded[type].plain), blockBytes)).toBeUndefined();
  });

  test("ggml's bytes with an importance matrix", () => {
    const got = quantize(type, values, undefined, { imatrix });
    expect(firstDifference(got, decode(golden.encoded[type].imatrix), blockBytes)).toBeUndefined();
    expect(golden.encoded[type].imatrix === golden.encoded[type].plain).toBe(type === "q8_0");
  });

  test("writes over what was in out", () => {
    const out = new Uint8Array(rowBytes(type, values.length)).fill(0xff);
    expect(quantize(type, values, out)).toBe(out);
    expect(firstDifference(out, decode(golden.encoded[type].plain), blockBytes)).toBeUndefined();
  });
});

test.each(["f32", "f16", "bf16"] as const)("quantize %s is the inverse of dequantize", (type) => {
  const exact = Float32Array.of(1, -2, 0.5, 0, Infinity, -0, 1.5, 2 ** -14);
  const back = new Float32Array(exact.length);
  dequantize(type, quantize(type, exact.subarray(0)), back);
  expect(back).toEqual(exact);
});

test("what cannot be encoded is refused", () => {
  const code = (expected: QuantErrorCode): object => expect.objectContaining({ code: expected });
  const bad = (i: number, value: number): Float32Array => values.with(i, value).subarray(0, 512);
  expect(() => quantize("q4_K", bad(3, Number.NaN))).toThrow(/finite numbers, got NaN at 3/);
  expect(() => quantize("q4_K", bad(3, -Infinity))).toThrow(code("not-finite"));
  expect(() => quantize("q4_K", values, undefined, { imatrix: imatrix.with(7, -1) })).toThrow(/imatrix to be numbers >= 0, got -1 at 7/);
  expect(() => quantize("q4_K", values, undefined, { imatrix: new Float32Array(768) })).not.toThrow();
  expect(() => quantize("q4_K", values, undefined, { imatrix: new Float32Array(1000) })).toThrow(code("length"));
  expect(() => quantize("q4_K", values, undefined, { imatrix: new Float32Array(0) })).toThrow(code("length"));
  expect(() => quantize("q4_K", values.subarray(0, 255))).toThrow(code("length"));
  expect(() => quantize("q4_K", values, new Uint8Array(3))).toThrow(code("length"));
  expect(() => quantize("iq2_xxs" as QuantizableType, values)).toThrow(code("unsupported-type"));
  expect(isQuantizable("iq4_xs")).toBe(true);
  expect(isQuantizable("iq1_s")).toBe(false);
});

test("numbers beyond the range of f16 scales give bytes, not errors", () => {
  for (const type of encodedTypes) {
    for (const size of [1e30, 3e38, 1e-40]) {
      const scaled = values.map((value) => Math.max(-1, Math.min(1, value)) * size);
      expect(quantize(type, scaled).length).toBe(rowBytes(type, values.length));
    }
  }
});

test("where the squares of iq4_nl are infinite, codes are those that ggml's search ends at for NaN", () => {
  const bytes = quantize(
    "iq4_nl",
    Float32Array.from({ length: 32 }, (_, i) => (i % 5) * 1e30),
  );
  // d is NaN, and best_index_int8(NaN) goes to the last level: every comparison is false.
  expect([...bytes.subarray(2)]).toEqual(new Array<number>(16).fill(0xff));
});

/** The same bytes as in scripts/goldens.py. */
function randomBytes(count: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
}

test.each(Object.keys(golden.codebooks) as (keyof typeof golden.codebooks)[])(
  "dequantize %s: ggml's values of random blocks",
  async (type) => {
    const { blockBytes } = ggmlTypes[type];
    const blocks = randomBytes(golden.codebookBlocks * blockBytes);
    for (let at = type === "iq1_m" ? 55 : 1; at < blocks.length; at += blockBytes) blocks[at]! &= 0xbf;
    const decoded = new Float32Array(golden.codebookBlocks * 256);
    dequantize(type, blocks, decoded);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", decoded));
    expect(Buffer.from(hash).toString("hex")).toBe(golden.codebooks[type]);
  },
);
