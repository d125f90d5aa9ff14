import { UnsupportedError } from "@centella/core";
import { Metadata, type MetadataEntry, type MetadataValue, type TensorInfo } from "@centella/gguf";
import { describe, expect, test } from "vitest";
import { ModelError } from "../src/errors.ts";
import { MetadataReader } from "../src/load/metadataReader.ts";
import { type RopeConfig, readRope, yarnFactors } from "../src/models/blocks/attention/rope.ts";
import { readWindow } from "../src/models/blocks/attention/window.ts";
import type { ModelConfig } from "../src/models/config.ts";
import { family as llama } from "../src/models/families/llama.ts";

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
    return [key, { key, type, value, ...(Array.isArray(value) && { elementType: "bool" }) }];
  });
  return new Metadata(new Map(entries));
}

/** The config without its function: functions are never equal. */
function plain({ hasCache: _hasCache, headsOf: _headsOf, ...rest }: ModelConfig): object {
  return rest;
}

/** The number of tensors of a model with 32 blocks. The largest extent is a vocabulary of 32,000. */
const tensors: readonly TensorInfo[] = Array.from({ length: 291 }, (_, i) => ({
  name: `tensor ${i}`,
  type: "f32",
  shape: [32_000],
  elements: 32_000,
  offset: 0,
  bytes: 128_000,
}));

const reader = (values: Metadata): MetadataReader => new MetadataReader({ metadata: values, tensors }, "llama");

const readLlamaConfig = async (values: Metadata): Promise<ModelConfig> => (await llama(reader(values))).config;

/** Positions of heads of 128 elements, as Llama rotates them. */
const readLlamaRope = (values: Metadata): RopeConfig => readRope(reader(values), "norm", { keyLength: 128 });

describe("hyperparameters", () => {
  test("fills in llama.cpp's defaults", async () => {
    expect(plain(await readLlamaConfig(metadata(complete)))).toEqual({
      architecture: "llama",
      vocabSize: 32000,
      contextLength: 4096,
      embeddingLength: 4096,
      layers: 32,
      feedForwardLength: 11008,
      heads: 32,
      kvHeads: 32,
      keyLength: 128,
      valueLength: 128,
      norm: "rms",
      epsilon: 1e-5,
      nextnBlocks: 0,
      isEncoder: false,
      states: [],
    });
    expect(readLlamaRope(metadata(complete))).toEqual({
      type: "norm",
      dims: 128,
      base: 10000,
      scale: 1,
      magnitude: 1,
      scoreFactor: 1,
      originalContext: 4096,
      hasStoredFactors: true,
    });
  });

  test("0 means that a key is not set", async () => {
    const zeros = [
      "attention.head_count_kv",
      "attention.key_length",
      "attention.scale",
      "rope.dimension_count",
      "rope.freq_base",
      "rope.scaling.factor",
    ];
    const values = metadata({ ...complete, ...Object.fromEntries(zeros.map((key) => [`llama.${key}`, 0])) });
    expect(plain(await readLlamaConfig(values))).toEqual(plain(await readLlamaConfig(metadata(complete))));
    expect(readLlamaRope(values)).toEqual(readLlamaRope(metadata(complete)));
  });

  test("reads the values of the file", async () => {
    const values = metadata({
      ...complete,
      "llama.attention.head_count": Int32Array.from({ length: 32 }, () => 32),
      "llama.attention.head_count_kv": 8,
      "llama.attention.key_length": 64,
      "llama.attention.value_length": 96,
      "llama.rope.dimension_count": 32,
      "llama.rope.freq_base": 500000,
      "llama.rope.scaling.type": "linear",
      "llama.rope.scaling.factor": 4,
    });
    expect(await readLlamaConfig(values)).toMatchObject({ heads: 32, kvHeads: 8, keyLength: 64, valueLength: 96 });
    expect(readLlamaRope(values)).toMatchObject({ dims: 32, base: 500000, scale: 0.25 });
  });

  test("scaling type none ignores the factor", () => {
    const scaled = { ...complete, "llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 4 };
    expect(readLlamaRope(metadata(scaled)).scale).toBe(1);
  });

  test("names every missing key at once", async () => {
    const { "llama.block_count": _, "llama.feed_forward_length": __, ...rest } = complete;
    await expect(readLlamaConfig(metadata({ ...rest, "llama.context_length": 0 }))).rejects.toThrow(
      new ModelError(
        "metadata: expected the keys llama.context_length, llama.block_count, llama.feed_forward_length, got none of them; convert the model again",
      ),
    );
  });

  test.each([
    [{ "llama.rope.scaling.type": "dynamic" }, /rope scaling dynamic/],
    [{ "llama.expert_count": 8, "llama.expert_used_count": 2, "llama.expert_gating_func": 9 }, /expert_gating_func = 9/],
    [{ "llama.attention.causal": false }, /looks ahead/],
    [{ "llama.attention.head_count_kv": Int32Array.of(8, 4) }, /layers differ \(8, 4\)/],
  ])("%j is unsupported, by name", async (values, message) => {
    const read = () => readLlamaConfig(metadata({ ...complete, ...values }));
    await expect(read()).rejects.toThrow(UnsupportedError);
    await expect(read()).rejects.toThrow(message);
  });

  test.each([
    [{ "llama.attention.head_count": 30 }, /a multiple of attention.head_count.*got 4096, 30 and 30/],
    [{ "llama.attention.head_count_kv": 5 }, /got 4096, 32 and 5/],
    [{ "llama.rope.dimension_count": 63 }, /even and at most 128, got 63/],
    [{ "llama.rope.dimension_count": 130 }, /even and at most 128, got 130/],
    [{ "llama.vocab_size": 0 }, /tokenizer.ggml.tokens or llama.vocab_size/],
  ])("%j is an error", async (values, message) => {
    const read = () => readLlamaConfig(metadata({ ...complete, ...values }));
    await expect(read()).rejects.toThrow(ModelError);
    await expect(read()).rejects.toThrow(message);
  });

  const notFactors = [Number.NaN, Number.POSITIVE_INFINITY, -1, 1e-42, 1e39];

  test.each([
    ...["rope.scaling.factor", "rope.scale_linear", "rope.freq_base", "rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"],
  ])("%s must be a positive number", async (name) => {
    for (const value of notFactors) {
      const read = () => readLlamaConfig(metadata({ ...complete, [`llama.${name}`]: value }));
      await expect(read(), String(value)).rejects.toThrow(ModelError);
      await expect(read()).rejects.toThrow(`for llama.${name}, got ${value}`);
    }
  });

  test.each(["rope.scaling.factor", "yarn_beta_fast", "yarn_beta_slow", "yarn_log_multiplier"])(
    "YaRN's %s must be a positive number",
    async (name) => {
      const key = `llama.${name.includes(".") ? name : `rope.scaling.${name}`}`;
      for (const value of notFactors) {
        const read = () => readLlamaConfig(metadata({ ...complete, "llama.rope.scaling.type": "yarn", [key]: value }));
        await expect(read(), String(value)).rejects.toThrow(`for ${key}, got ${value}`);
      }
    },
  );

  test("YaRN's share of extrapolation must leave the frequencies positive; below 0 it is not set", () => {
    const read = (value: number): RopeConfig =>
      readLlamaRope(
        metadata({
          ...complete,
          "llama.rope.scaling.type": "yarn",
          "llama.rope.scaling.factor": 0.25,
          "llama.rope.scaling.yarn_ext_factor": value,
        }),
      );
    expect(read(-1).factors).toBeDefined();
    expect(() => read(2)).toThrow(/rope.scaling.yarn_ext_factor and the other keys of YaRN to give positive divisors/);
    expect(() => read(Number.NaN)).toThrow("a finite f32 for llama.rope.scaling.yarn_ext_factor, got NaN");
  });

  test("an epsilon is a number of at least 0", async () => {
    const key = "llama.attention.layer_norm_rms_epsilon";
    expect((await readLlamaConfig(metadata({ ...complete, [key]: 0 }))).epsilon).toBe(0);
    for (const value of [Number.NaN, Number.NEGATIVE_INFINITY, -1e-5])
      await expect(readLlamaConfig(metadata({ ...complete, [key]: value }))).rejects.toThrow(`for ${key}, got ${value}`);
  });

  test.each([
    ["block_count", 292, /0 to 291, the number of tensors, for llama.block_count, got 292/],
    ["block_count", Float32Array.of(Number.POSITIVE_INFINITY), /for llama.block_count, got Infinity/],
    ["block_count", Int32Array.of(-1), /for llama.block_count, got -1/],
    ["block_count", Float32Array.of(Number.NaN), /for llama.block_count, got NaN/],
    ["attention.head_count", 32_001, /0 to 32000, the largest extent of a tensor, for llama.attention.head_count, got 32001/],
    ["attention.head_count", new Float32Array(32).fill(1.5), /for llama.attention.head_count, got 1.5/],
    ["attention.head_count", new BigUint64Array(32).fill(2n ** 63n), /for llama.attention.head_count, got 9223372036854776000/],
    ["attention.head_count_kv", 1e9, /for llama.attention.head_count_kv, got 1000000000/],
    ["attention.key_length", 1e9, /for llama.attention.key_length, got 1000000000/],
    ["embedding_length", 1e9, /for llama.embedding_length, got 1000000000/],
    ["expert_count", 1e9, /for llama.expert_count, got 1000000000/],
    ["context_length", 2 ** 31, /0 to 2147483647, the largest position, for llama.context_length, got 2147483648/],
  ])("%s beyond its bounds is refused before it sizes anything, case %#", async (name, value, message) => {
    const read = () => readLlamaConfig(metadata({ ...complete, [`llama.${name}`]: value }));
    await expect(read()).rejects.toThrow(ModelError);
    await expect(read()).rejects.toThrow(message);
  });

  test("a list of a million layers is read up to the number of tensors, and shortened in the message", async () => {
    const read = () =>
      readLlamaConfig(metadata({ ...complete, "llama.attention.head_count": Uint32Array.from({ length: 1e6 }, (_, i) => i) }));
    await expect(read()).rejects.toThrow(/the layers differ \(1, 2, 3, 4, 5, 6, 7, 8, …\)/);
  });

  test("YaRN becomes frequency factors and a magnitude", () => {
    const yarn = { "llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4, "llama.rope.scaling.original_context_length": 1024 };
    const scaling = readLlamaRope(metadata({ ...complete, ...yarn }));
    expect(scaling.scale).toBe(1);
    expect(scaling.magnitude).toBeCloseTo(1 + 0.1 * Math.log(4), 12);
    expect([scaling.factors?.length, scaling.factors?.[0], scaling.factors?.at(-1)]).toEqual([64, 1, 4]);
    const multiplied = readLlamaRope(metadata({ ...complete, ...yarn, "llama.rope.scaling.yarn_log_multiplier": 1 }));
    expect(multiplied.magnitude).toBe(1);
  });

  test("YaRN's factors, from the paper's formulas by hand", () => {
    // A pair turns 1024 / (2π · 10000^(2i/8)) times: 163, 16.3, 1.63, 0.163. With betas 32 and 1 the corners are pairs 0 and 3.
    const factors = yarnFactors({ base: 10_000, dims: 8, originalContext: 1024 }, 4, 1, { fast: 32, slow: 1 });
    // Ramps 0, 1/3, 2/3, 1 mix 1 and 1/4.
    for (const [i, mixed] of [1, 3 / 4, 1 / 2, 1 / 4].entries()) expect(factors[i]).toBeCloseTo(1 / mixed, 6);
  });

  test("windows: by the family's period, by the file's period, by the file's list", () => {
    const windowed = { ...complete, "llama.attention.sliding_window": 512 };
    const key = "llama.attention.sliding_window_pattern";
    const read = (values: Readonly<Record<string, MetadataValue>>): number[] => {
      const windows = readWindow(reader(metadata(values)), { period: 6 });
      return Array.from({ length: 7 }, (_, layer) => windows.at(layer));
    };
    expect(read(complete)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(read(windowed)).toEqual([512, 512, 512, 512, 512, 0, 512]);
    expect(read({ ...windowed, [key]: 2 })).toEqual([512, 0, 512, 0, 512, 0, 512]);
    expect(read({ ...windowed, [key]: [true, false, false, false, false, false, true] })).toEqual([512, 0, 0, 0, 0, 0, 512]);
  });
});
