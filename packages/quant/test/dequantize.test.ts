import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { dequantize, ggmlTypes, isBlockType, isGgmlType } from "../src/index.ts";
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
