import { blockLayout, isQuantizable, quantize } from "@centella/quant";
import { describe, expect, test } from "vitest";
import { type GgufFile, readGguf } from "../src/index.ts";
import { sharedPath } from "./shared.ts";

const original = sharedPath("data/archs/llama-dense.gguf");
/** Files that together have every type which `quantize` writes. */
const files = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K_S", "Q4_K_S", "Q5_K_S", "Q6_K", "IQ4_NL", "IQ4_XS"];

/** Blocks of the quantised tensors, and how many of them are the bytes that `quantize` makes of the original. */
async function compareBlocks(source: GgufFile, quantized: GgufFile): Promise<Record<string, { blocks: number; equal: number }>> {
  const counts: Record<string, { blocks: number; equal: number }> = {};
  for (const { name, type } of quantized.tensors) {
    if (!isQuantizable(type)) continue;
    const want = Buffer.from(await quantized.readTensor(name));
    const got = Buffer.from(quantize(type, await source.readTensorF32(name)));
    expect(got.length).toBe(want.length);
    counts[type] ??= { blocks: 0, equal: 0 };
    const { blockBytes } = blockLayout(type);
    for (let at = 0; at < want.length; at += blockBytes) {
      counts[type].blocks++;
      if (got.compare(want, at, at + blockBytes, at, at + blockBytes) === 0) counts[type].equal++;
    }
  }
  return counts;
}

describe.skipIf(original === undefined)(
  "quantize writes llama-quantize's blocks (skipped without outside test data at CENTELLA_SHARED)",
  () => {
    test.each(files)("%s", async (file) => {
      await using source = await readGguf(original!);
      await using quantized = await readGguf(sharedPath(`data/quants/llama-dense-${file}.gguf`)!);
      const counts = await compareBlocks(source, quantized);
      expect(Object.keys(counts)).toContain(file.replace(/_S$/, "").toLowerCase().replace("_k", "_K"));
      for (const [type, { blocks, equal }] of Object.entries(counts)) expect(equal, `blocks of ${type}`).toBe(blocks);
    });
  },
);
