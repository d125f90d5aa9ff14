import { blockLayout } from "@centella/quant";
import { describe, expect, test } from "vitest";
import { randomBlocks, type WeightType } from "../src/model/blocks.ts";
import { decodeBlocks } from "../src/model/decodeBlocks.ts";

const types: readonly WeightType[] = ["f16", "q4_0", "q5_0", "q8_0", "q4_K", "q5_K", "q6_K"];

describe.each(types)("random blocks of %s", (type) => {
  const elements = 256 * 400;
  const bytes = randomBlocks(type, elements, 3, 0.02);
  const values = decodeBlocks(type, bytes);

  test("fill the right number of bytes", () => {
    const { blockBytes, blockElements } = blockLayout(type);
    expect(bytes.length).toBe((elements / blockElements) * blockBytes);
  });

  test("are finite, centred and of the asked scale", () => {
    const mean = values.reduce((sum, value) => sum + value, 0) / elements;
    const rms = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / elements);
    expect(Math.abs(mean)).toBeLessThan(0.0012);
    expect(rms).toBeGreaterThan(0.016);
    expect(rms).toBeLessThan(0.025);
    expect(values.every((value) => Math.abs(value) < 0.1)).toBe(true);
  });

  test("depend on the seed alone", () => {
    expect(randomBlocks(type, 256, 3, 0.02)).toEqual(randomBlocks(type, 256, 3, 0.02));
    expect(randomBlocks(type, 256, 3, 0.02)).not.toEqual(randomBlocks(type, 256, 4, 0.02));
  });
});
