import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readGguf } from "@centella/gguf";
import { createTokenizer } from "@centella/llm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateModel } from "../src/model/generate.ts";
import { shapes } from "../src/model/shapes.ts";
import { type FileType, fileTypes, tensorPlans } from "../src/model/tensors.ts";
import { nodeLlamaCpp } from "../src/peers/nodeLlamaCpp.ts";
import type { Peer } from "../src/peers/peer.ts";
import { missingPeer } from "./missingPeer.ts";

const types = Object.keys(fileTypes) as readonly FileType[];

function countTypes(shape: string, type: FileType): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const plan of tensorPlans(shapes[shape]!, type)) counts[plan.type] = (counts[plan.type] ?? 0) + 1;
  return counts;
}

describe("the mix of types", () => {
  // What llama.cpp prints when it loads the published Q4_K_M files of these models, e.g. https://github.com/ollama/ollama/issues/9031.
  test.each([
    ["qwen2.5-0.5b", { f32: 121, q5_0: 132, q8_0: 13, q4_K: 12, q6_K: 12 }],
    ["llama-3.2-1b", { f32: 34, q4_K: 96, q6_K: 17 }],
    ["llama-3.1-8b", { f32: 66, q4_K: 193, q6_K: 33 }],
  ])("of %s in Q4_K_M is that of the published file", (shape, counts) => {
    expect(countTypes(shape, "Q4_K_M")).toEqual(counts);
  });

  test("of the other types is one type, with a finer output matrix for Q4_0", () => {
    expect(countTypes("llama-3.1-8b", "Q4_0")).toEqual({ f32: 66, q4_0: 225, q6_K: 1 });
    expect(countTypes("qwen2.5-0.5b", "Q4_0")).toEqual({ f32: 121, q4_0: 168, q8_0: 1 });
    expect(countTypes("smollm2-135m", "Q8_0")).toEqual({ f32: 61, q8_0: 211 });
    expect(countTypes("llama-3.2-1b", "F16")).toEqual({ f32: 34, f16: 113 });
  });
});

describe("a generated file", () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-bench-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "model.gguf");

  beforeAll(async () => {
    await generateModel({ shape: "smollm2-135m", type: "Q4_K_M", out: path, seed: 1, layers: 2 });
  });

  test("is read back with its shape and its tensors", async () => {
    const file = await readGguf(path);
    try {
      expect(file.metadata.string("general.architecture")).toBe("llama");
      expect(file.metadata.count("llama.block_count")).toBe(2);
      expect(file.tensors.map(({ name, type }) => [name, type])).toEqual(
        tensorPlans({ ...shapes["smollm2-135m"]!, layers: 2 }, "Q4_K_M").map(({ name, type }) => [name, type]),
      );
      const last = file.tensors.at(-1)!;
      const values = await file.readTensorF32(last);
      expect(values.length).toBe(576);
      expect(values.every((value) => value >= 0.8 && value <= 1.2)).toBe(true);
    } finally {
      await file.close();
    }
  });

  test("has a vocabulary that encodes any text and decodes it again", async () => {
    const file = await readGguf(path);
    try {
      const tokenizer = createTokenizer(file.metadata);
      for (const text of ["Once upon a time", "¿Qué? 日本 \u{1f600}\n\ttabs", ""]) {
        const ids = tokenizer.encode(text);
        expect(tokenizer.decode(ids)).toBe(text);
        expect([...ids].every((id) => id < 49152)).toBe(true);
      }
      expect(tokenizer.encode("Once upon a time").length).toBeLessThan(12);
    } finally {
      await file.close();
    }
  });

  test("is the same for the same seed", async () => {
    const again = join(folder, "again.gguf");
    await generateModel({ shape: "smollm2-135m", type: "Q4_K_M", out: again, seed: 1, layers: 2 });
    const read = async (from: string): Promise<Float32Array> => {
      const file = await readGguf(from);
      try {
        return await file.readTensorF32("blk.1.ffn_down.weight");
      } finally {
        await file.close();
      }
    };
    const [a, b] = [await read(path), await read(again)];
    expect(statSync(again).size).toBe(statSync(path).size);
    expect(a).toEqual(b);
  });
});

const reason = missingPeer("node-llama-cpp");

// Two layers of each keep this within minutes and have every type of the mix; BENCH_FULL_MODELS=1 writes all layers (39 GB of files, one at a time).
describe.skipIf(reason !== undefined)(`node-llama-cpp${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-bench-"));
  let peer: Peer;
  beforeAll(async () => {
    peer = await nodeLlamaCpp.open({ threads: 1 });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await peer?.dispose();
  });

  test.each(Object.keys(shapes).flatMap((shape) => types.map((type) => [shape, type] as const)))(
    "loads and runs %s %s",
    async (shape, type) => {
      const out = join(folder, "model.gguf");
      const isFull = process.env.BENCH_FULL_MODELS === "1";
      await generateModel({ shape, type, out, seed: 1, ...(isFull ? {} : { layers: 2 }) });
      try {
        const runner = await peer.model!.open(out, 64);
        expect(await runner.prefill([1, 2, 3, 4])).toBeGreaterThan(0);
        expect(await runner.decode([1, 2, 3, 4], 4)).toBeGreaterThan(0);
        await runner.dispose();
      } finally {
        rmSync(out);
      }
    },
  );
});
