import { UnsupportedError } from "@centella/core";
import { type GgufFile, readGguf } from "@centella/gguf";
import { describe, expect, test } from "vitest";
import { type RecordedModel, recordModel } from "../src/model/recordModel.ts";
import { describeArchitecture } from "../src/models/index.ts";
import { type FamilyGolden, familyModel, readFamilyGolden } from "./familyFixture.ts";

/** The smallest model of Llama's form. */
const plain = readFamilyGolden("xverse");

type Entries = FamilyGolden["metadata"];

/** The plain model as one of another family, with further metadata and tensors. */
function variant(architecture: string, metadata: Entries, tensors: FamilyGolden["tensors"] = {}): FamilyGolden {
  const own = new Set(metadata.map(([key]) => key));
  const renamed = plain.metadata.map(
    ([key, type, value]) => [key.replace(/^xverse\./, ""), type, key === "general.architecture" ? architecture : value] as const,
  );
  const all = [...renamed.filter(([key]) => !own.has(key)), ...metadata];
  return {
    ...plain,
    metadata: all.map(([key, type, value]) => [/^(general|tokenizer)\./.test(key) ? key : `${architecture}.${key}`, type, value]),
    tensors: { ...plain.tensors, ...tensors },
  };
}

async function recorded(golden: FamilyGolden): Promise<RecordedModel> {
  await using file: GgufFile = await readGguf(familyModel(golden));
  const sizes = { contextLength: 64, batchSize: 8, maxRows: 4, sequences: 1, cacheType: "f32", activations: "f32" } as const;
  return recordModel(await describeArchitecture(file), file, { ...sizes, isGeluRounded: false, runsInFlight: 1 });
}

/** The parameters of an op's calls, in recorded order. */
function calls({ program }: RecordedModel, name: string): readonly object[] {
  return program.nodes.filter(({ op }) => op.name === name).map(({ params }) => params);
}

describe("recorded models", () => {
  test("Llama scales scores as the file says", async () => {
    const scaled = await recorded(variant("llama", [["attention.scale", "f32", 0.5]]));
    expect(calls(scaled, "attention")).toMatchObject([{ scale: 0.5 }, { scale: 0.5 }]);
    const byDefault = await recorded(variant("llama", []));
    expect(calls(byDefault, "attention")).toMatchObject([{ scale: 1 / Math.sqrt(8) }, { scale: 1 / Math.sqrt(8) }]);
  });

  test("Gemma 3's layers with a window rotate with a base of their own, unscaled", async () => {
    const metadata: Entries = [
      ["block_count", "u32", 6],
      ["attention.sliding_window", "u32", 16],
      ["rope.freq_base", "f32", 1e6],
      ["rope.scaling.type", "string", "linear"],
      ["rope.scaling.factor", "f32", 8],
    ];
    const norms = { q_norm: 8, k_norm: 8 };
    const tensors = {
      ...Object.fromEntries(Object.entries(norms).map(([name, length]) => [`blk.*.attn_${name}.weight`, [length]])),
      "blk.*.post_attention_norm.weight": [32],
      "blk.*.post_ffw_norm.weight": [32],
    };
    const gemma = await recorded(variant("gemma3", metadata, tensors));
    const queries = calls(gemma, "rope").filter((_, i) => i % 2 === 0);
    const [local, global] = [
      { base: 10_000, scale: 1 },
      { base: 1e6, scale: 0.125 },
    ];
    expect(queries).toMatchObject([local, local, local, local, local, global]);
    expect(calls(gemma, "attention")).toMatchObject([...Array(5).fill({ window: 16 }), { window: 0 }]);
  });

  test("layers without positions: each fourth of SmolLM 3, all of a Granite that is switched so", async () => {
    expect(calls(await recorded(variant("smollm3", [["block_count", "u32", 5]])), "rope")).toHaveLength(2 * 4);
    const scale: Entries = [["logit_scale", "f32", 8]];
    expect(calls(await recorded(variant("granite", scale)), "rope")).toHaveLength(2 * 2);
    const switched: Entries = [...scale, ["rope.scaling.finetuned", "bool", false]];
    expect(calls(await recorded(variant("granite", switched)), "rope")).toEqual([]);
  });

  test("families refuse contradictions by the name of the key", async () => {
    await expect(recorded(variant("granite", []))).rejects.toThrow(/expected the keys granite.logit_scale, got none/);
    await expect(recorded(variant("gptneox", []))).rejects.toThrow(/gptneox.use_parallel_residual.*got none/);
    const sections: Entries = [["rope.dimension_sections", "i32[]", [1, 1, 1, 1]]];
    await expect(recorded(variant("glm4", sections))).rejects.toThrow(UnsupportedError);
    await expect(recorded(variant("glm4", sections))).rejects.toThrow(/glm4.rope.dimension_sections = \[1, 1, 1, 1\]/);
  });

  test("every persistent belongs to a part of the model, an output layer that shares the embeddings to the output", async () => {
    const { program, parts } = await recorded(variant("llama", [], { "rope_freqs.weight": [4] }));
    expect([...parts.keys()].sort()).toEqual([...program.persistents.keys()].sort());
    expect(Object.fromEntries(parts)).toMatchObject({
      "token_embd.weight": "input",
      "blk.1.attn_q.weight": 1,
      "cache.0": 0,
      "rope_freqs.weight": "shared",
      "output_norm.weight": "output",
      "output.weight": "output",
    });
    const { "output.weight": _, ...tied } = plain.tensors;
    expect((await recorded({ ...variant("llama", []), tensors: tied })).parts.get("token_embd.weight")).toBe("output");
    const hybrid = await recorded(readFamilyGolden("lfm2"));
    expect([...hybrid.parts].filter(([name]) => name.startsWith("state."))).toContainEqual(["state.0.convolution", 0]);
  });
});
