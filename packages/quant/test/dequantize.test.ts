import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { dequantize, ggmlTypes, isBlockType, isGgmlType, rowBytes, toSteps } from "../src/index.ts";
import { sharedPath } from "./shared.ts";

// ggml stores no tensors in q8_1 and q8_K, and the data has none in nvfp4: quantize.test.ts has goldens for these.
const withoutFiles: readonly string[] = ["q8_1", "q8_K", "nvfp4"];
const blockTypes = Object.keys(ggmlTypes)
  .filter(isGgmlType)
  .filter((type) => isBlockType(type) && !withoutFiles.includes(type));

/** Compares bits; the message names the first element that differs. */
function expectSameBits(got: Float32Array, want: Float32Array): void {
  const gotBits = new Uint32Array(got.buffer, got.byteOffset, got.length);
  const wantBits = new Uint32Array(want.buffer, want.byteOffset, want.length);
  expect(got.length).toBe(want.length);
  for (let i = 0; i < got.length; i++) {
    if (gotBits[i] !== wantBits[i]) expect.fail(`element ${i}: expected ${want[i]} (${wantBits[i]}), got ${got[i]} (${gotBits[i]})`);
  }
}

describe("dequantize agrees with ggml bit for bit", () => {
  for (const type of blockTypes) {
    const blocks = sharedPath(`data/dequant/${type.toUpperCase()}.blocks`);
    if (blocks === undefined) {
      test.skip(`${type} (skipped: the outside test data is not there; set CENTELLA_SHARED)`, () => {});
      continue;
    }
    test(type, () => {
      const bytes = new Uint8Array(readFileSync(blocks));
      const want = new Float32Array(new Uint8Array(readFileSync(blocks.replace(/blocks$/, "f32"))).buffer);
      expect((bytes.length / ggmlTypes[type].blockBytes) * ggmlTypes[type].blockElements).toBe(want.length);
      const got = new Float32Array(want.length);
      dequantize(type, bytes, got);
      expectSameBits(got, want);
    });
  }
});

describe("toSteps", () => {
  const comparable = (value: number): number => (Number.isNaN(value) ? Number.NaN : value);
  const withMinima = ["q4_1", "q5_1", "q2_K", "q4_K", "q5_K"];
  const types = Object.keys(ggmlTypes).filter(isGgmlType).filter(isBlockType);
  test.each(types.filter((type) => !withMinima.includes(type)))("%s: integers times steps are the weights, bit for bit", (type) => {
    const count = 64 * 256;
    // Bytes of every value, scales that are infinite or no numbers among them.
    const bytes = Uint8Array.from({ length: rowBytes(type, count) }, (_, i) => (i * 151 + (i >> 7) * 13 + (i >> 3)) & 0xff);
    const want = new Float32Array(count);
    dequantize(type, bytes, want);
    const [codes, steps] = [new Int8Array(count), new Float32Array(count / 16)];
    toSteps(type, bytes, codes, steps);
    // All NaNs are one.
    expectSameBits(Float32Array.from(codes, (code, i) => code * steps[i >> 4]!).map(comparable), want.map(comparable));
  });

  test("refuses types with minima, and lengths that do not agree", () => {
    expect(() => toSteps("q4_1", new Uint8Array(20), new Int8Array(32), new Float32Array(2))).toThrow(
      /toSteps: expected a type without minima/,
    );
    expect(() => toSteps("tq2_0", new Uint8Array(66), new Int8Array(256), new Float32Array(8))).toThrow(
      /66 bytes and 16 steps, got 66 and 8/,
    );
  });
});
