import { expect, test } from "vitest";
import {
  bfloatRowToFloat,
  bfloatToFloat,
  floatRowToBfloat,
  floatRowToHalf,
  floatToBfloat,
  floatToHalf,
  halfRowToFloat,
  halfToFloat,
  QuantError,
} from "../src/index.ts";

const f32 = new Float32Array(1);
const bits = new Uint32Array(f32.buffer);

function floatOf(pattern: number): number {
  bits[0] = pattern;
  return f32[0]!;
}

const allCodes = Uint16Array.from({ length: 65536 }, (_, i) => i);

test("every half has the value that IEEE 754 gives it, and comes back", () => {
  for (let h = 0; h < 65536; h++) {
    const [sign, exponent, mantissa] = [h >> 15, (h >> 10) & 31, h & 1023];
    const got = halfToFloat(h);
    if (exponent === 31 && mantissa !== 0) {
      expect(got).toBeNaN();
      expect(floatToHalf(got) & 0x7fff).toBe(0x7e00);
      continue;
    }
    const magnitude =
      exponent === 31 ? Infinity : exponent === 0 ? (mantissa / 1024) * 2 ** -14 : (1 + mantissa / 1024) * 2 ** (exponent - 15);
    if (!Object.is(got, sign === 1 ? -magnitude : magnitude)) expect.fail(`half ${h}: expected ${magnitude} (sign ${sign}), got ${got}`);
    if (floatToHalf(got) !== h) expect.fail(`half ${h} came back as ${floatToHalf(got)}`);
  }
});

test("between two halves the nearer one is taken, in the middle the even one", () => {
  for (let h = 0; h < 0x7bff; h++) {
    const middle = (halfToFloat(h) + halfToFloat(h + 1)) / 2;
    const even = h % 2 === 0 ? h : h + 1;
    f32[0] = middle;
    const above = floatOf(bits[0]! + 1);
    f32[0] = middle;
    const below = floatOf(bits[0]! - 1);
    const got = [floatToHalf(middle), floatToHalf(below), floatToHalf(above), floatToHalf(-middle), floatToHalf(-below)];
    const want = [even, h, h + 1, even | 0x8000, h | 0x8000];
    if (got.some((code, i) => code !== want[i])) expect.fail(`around half ${h}: expected ${want}, got ${got}`);
  }
});

test("halves at the ends of the range", () => {
  expect(floatToHalf(65519.996)).toBe(0x7bff);
  expect(floatToHalf(65520)).toBe(0x7c00);
  expect(floatToHalf(1e30)).toBe(0x7c00);
  expect(floatToHalf(-Infinity)).toBe(0xfc00);
  expect(floatToHalf(2 ** -25)).toBe(0);
  expect(floatToHalf(2 ** -25 * 1.0001)).toBe(1);
  expect(floatToHalf(-(2 ** -149))).toBe(0x8000);
  expect(floatToHalf(-0)).toBe(0x8000);
});

test("every bfloat is the upper half of an f32, and comes back", () => {
  for (let b = 0; b < 65536; b++) {
    const got = bfloatToFloat(b);
    const want = floatOf(b * 65536);
    if (!Object.is(got, want)) expect.fail(`bfloat ${b}: expected ${want}, got ${got}`);
    if (!Number.isNaN(got) && floatToBfloat(got) !== b) expect.fail(`bfloat ${b} came back as ${floatToBfloat(got)}`);
  }
  expect(floatToBfloat(Number.NaN) & 0x7fc0).toBe(0x7fc0);
});

test("bfloats round to nearest, ties to even", () => {
  for (const b of [0, 1, 0x3f80, 0x3f81, 0x7f7e, 0x0080, 0xbf80]) {
    const even = b % 2 === 0 ? b : b + 1;
    expect(floatToBfloat(floatOf(b * 65536 + 0x8000))).toBe(even);
    expect(floatToBfloat(floatOf(b * 65536 + 0x7fff))).toBe(b);
    expect(floatToBfloat(floatOf(b * 65536 + 0x8001))).toBe(b + 1);
  }
  expect(floatToBfloat(3.4e38)).toBe(0x7f80);
  expect(floatToBfloat(-3.4e38)).toBe(0xff80);
});

test("rows convert each element", () => {
  const floats = new Float32Array(65536);
  const codes = new Uint16Array(65536);
  halfRowToFloat(allCodes, floats);
  floatRowToHalf(floats, codes);
  expect(codes.every((code, h) => code === h || Number.isNaN(floats[h]))).toBe(true);
  bfloatRowToFloat(allCodes, floats);
  floatRowToBfloat(floats, codes);
  expect(codes.every((code, b) => code === b || Number.isNaN(floats[b]))).toBe(true);
  for (const run of [
    () => halfRowToFloat(allCodes, new Float32Array(3)),
    () => floatRowToHalf(new Float32Array(3), codes),
    () => bfloatRowToFloat(allCodes, new Float32Array(3)),
    () => floatRowToBfloat(new Float32Array(3), codes),
  ]) {
    expect(run).toThrow(QuantError);
  }
});
