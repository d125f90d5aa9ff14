import { UnsupportedError } from "@centella/core";
import { Metadata, type MetadataEntry, type MetadataValue } from "@centella/gguf";
import { describe, expect, test } from "vitest";
import { readLlamaConfig } from "../src/config.ts";
import { ModelError } from "../src/errors.ts";

/** Llama 2 7B's own values. */
const complete: Readonly<Record<string, MetadataValue>> = {
  "llama.context_length": 4096,
  "llama.embedding_length": 4096,
  "llama.block_count": 32,
  "llama.feed_forward_length": 11008,
  "llama.attention.head_count": 32,
  "llama.attention.layer_norm_rms_epsilon": 1e-5,
  "llama.vocab_size": 32000,
};

function metadata(values: Readonly<Record<string, MetadataValue>>): Metadata {
  const entries = Object.entries(values).map(([key, value]): [string, MetadataEntry] => {
    const type = typeof value === "string" ? "string" : typeof value === "boolean" ? "bool" : typeof value === "object" ? "array" : "f32";
    return [key, { key, type, value }];
  });
  return new Metadata(new Map(entries));
}

describe("readLlamaConfig", () => {
  test("fills in llama.cpp's defaults", () => {
    expect(readLlamaConfig(metadata(complete))).toEqual({
      vocabSize: 32000,
      contextLength: 4096,
      embeddingLength: 4096,
      layers: 32,
      feedForwardLength: 11008,
      heads: 32,
      kvHeads: 32,
      keyLength: 128,
      valueLength: 128,
      rmsEpsilon: 1e-5,
      attentionScale: 1 / Math.sqrt(128),
      rope: { dims: 128, base: 10000, scale: 1 },
    });
  });

  test("0 means that a key is not set", () => {
    const zeros = [
      "attention.head_count_kv",
      "attention.key_length",
      "attention.scale",
      "rope.dimension_count",
      "rope.freq_base",
      "rope.scaling.factor",
    ];
    const config = readLlamaConfig(metadata({ ...complete, ...Object.fromEntries(zeros.map((key) => [`llama.${key}`, 0])) }));
    expect(config).toEqual(readLlamaConfig(metadata(complete)));
  });

  test("takes what the file says", () => {
    const config = readLlamaConfig(
      metadata({
        ...complete,
        "llama.attention.head_count": Int32Array.from({ length: 32 }, () => 32),
        "llama.attention.head_count_kv": 8,
        "llama.attention.key_length": 64,
        "llama.attention.value_length": 96,
        "llama.attention.scale": 0.5,
        "llama.rope.dimension_count": 32,
        "llama.rope.freq_base": 500000,
        "llama.rope.scaling.type": "linear",
        "llama.rope.scaling.factor": 4,
      }),
    );
    expect(config).toMatchObject({ heads: 32, kvHeads: 8, keyLength: 64, valueLength: 96, attentionScale: 0.5 });
    expect(config.rope).toEqual({ dims: 32, base: 500000, scale: 0.25 });
  });

  test("scaling type none ignores the factor", () => {
    const scaled = { ...complete, "llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 4 };
    expect(readLlamaConfig(metadata(scaled)).rope.scale).toBe(1);
  });

  test("names every missing key at once", () => {
    const { "llama.block_count": _, "llama.feed_forward_length": __, ...rest } = complete;
    expect(() => readLlamaConfig(metadata({ ...rest, "llama.context_length": 0 }))).toThrow(
      new ModelError(
        "metadata: expected the keys llama.context_length, llama.block_count, llama.feed_forward_length, got none of them; convert the model again",
      ),
    );
  });

  test.each([
    [{ "llama.rope.scaling.type": "yarn" }, /rope scaling yarn/],
    [{ "llama.rope.scaling.type": "longrope" }, /rope scaling longrope/],
    [{ "llama.rope.scaling.attn_factor": 1.2 }, /attn_factor = 1.2/],
    [{ "llama.attention.causal": false }, /looks ahead/],
    [{ "llama.attention.head_count_kv": Int32Array.of(8, 4) }, /layers differ \(8, 4\)/],
  ])("%j is unsupported, by name", (values, message) => {
    const read = () => readLlamaConfig(metadata({ ...complete, ...values }));
    expect(read).toThrow(UnsupportedError);
    expect(read).toThrow(message);
  });

  test.each([
    [{ "llama.attention.head_count": 30 }, /a multiple of attention.head_count.*got 4096, 30 and 30/],
    [{ "llama.attention.head_count_kv": 5 }, /got 4096, 32 and 5/],
    [{ "llama.rope.dimension_count": 63 }, /even and at most 128, got 63/],
    [{ "llama.rope.dimension_count": 130 }, /even and at most 128, got 130/],
    [{ "llama.vocab_size": 0 }, /tokenizer.ggml.tokens or llama.vocab_size/],
  ])("%j is an error", (values, message) => {
    const read = () => readLlamaConfig(metadata({ ...complete, ...values }));
    expect(read).toThrow(ModelError);
    expect(read).toThrow(message);
  });
});
