import { createRuntime, type Runtime, UnsupportedError } from "@centella/core";
import { readGguf } from "@centella/gguf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FileToWrite, writeGguf } from "../../gguf/test/writer.ts";
import { ChatTemplateError, loadModel, ModelError, TokenizerError, UnsupportedArchitectureError } from "../src/index.ts";
import { familyFile, readFamilyGolden } from "./familyFixture.ts";
import { ModelFuzzer } from "./fuzzModels.ts";

type Entry = NonNullable<FileToWrite["metadata"]>[number];

/** A golden's file with some metadata replaced. */
function changed(name: string, ...entries: readonly Entry[]): ReturnType<typeof familyFile> {
  const { metadata, tensors } = familyFile(readFamilyGolden(name));
  const rest = metadata.filter(([key]) => entries.every(([other]) => other !== key));
  return { metadata: [...rest, ...entries], tensors };
}

let runtime: Runtime;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [] });
});
afterAll(() => runtime.dispose());

const load = (file: FileToWrite): Promise<unknown> => loadModel(writeGguf(file), { runtime });

/** What a failed load rejects with. */
const refusal = async (file: FileToWrite): Promise<Error> => {
  const error = await load(file).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(Error);
  return error as Error;
};

const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const escapes = "\u001b]0;owned\u0007\u001b[31m\u009b2J\u202egnp\n";

describe("numbers are bounded before they size loops or allocations", () => {
  test.each([
    ["mamba", "mamba.ssm.state_size", 2 ** 32 - 1],
    ["mamba", "mamba.ssm.time_step_rank", 2 ** 31],
    ["mamba", "mamba.ssm.inner_size", 2 ** 31],
    ["mamba", "mamba.ssm.conv_kernel", 2 ** 31],
    ["mamba", "mamba.block_count", 2 ** 32 - 1],
    ["mamba2", "mamba2.ssm.group_count", 2 ** 31],
    ["lfm2", "lfm2.block_count", 4e9],
    ["lfm2", "lfm2.shortconv.l_cache", 2 ** 31],
    ["deepseek2", "deepseek2.attention.head_count", 1e9],
    ["deepseek2", "deepseek2.attention.kv_lora_rank", 1e9],
    ["deepseek2", "deepseek2.expert_count", 1e9],
    ["llama-moe", "llama.vocab_size", 1e9],
  ])("%s: %s = %d", async (name, key, value) => {
    const error = await refusal(changed(name, [key, "u32", value]));
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toContain(`for ${key}, got ${value}`);
  });

  test("an infinite number of blocks", async () => {
    const values = [Number.POSITIVE_INFINITY];
    const error = await refusal(changed("mamba", ["mamba.block_count", "array", { of: "f32", values }]));
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toContain("for mamba.block_count, got Infinity");
  });

  test("the context of a recurrent model, which needs no memory per token, is bounded", async () => {
    const bytes = writeGguf(changed("mamba", ["mamba.context_length", "u32", 2 ** 31 - 1]));
    await using model = await loadModel(bytes, { runtime, contextLength: "auto", sequences: 4 });
    expect(model.info.contextLength).toBe(2 ** 24);
    await expect(loadModel(bytes, { runtime, contextLength: 2 ** 30 })).rejects.toThrow(/from 1 to 67108864, got 1073741824/);
  });

  test("recording stops at the first blocks without tensors", async () => {
    const { metadata, tensors } = changed("llama-moe", ["llama.block_count", "u32", 9000]);
    const fillers = Array.from({ length: 9000 }, (_, i) => ({ name: `filler.${i}`, type: "f32" as const, shape: [1] }));
    const error = await refusal({ metadata, tensors: [...tensors, ...fillers] });
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toMatch(/expected these tensors, got none of them \(blk\.2\.[^)]*\); the file is of a variant/);
    expect(error.message).not.toContain("blk.4.");
  });

  test("sizes that contradict the tensors are errors that name the tensors", async () => {
    const error = await refusal(changed("deepseek2", ["deepseek2.attention.key_length_mla", "u32", 9]));
    expect(error).toBeInstanceOf(ModelError);
    expect(error.message).toContain("expected tensors of the model's shapes");
  });
});

describe("factors of frequencies", () => {
  const withFactors = (name: string, values: readonly number[]): FileToWrite => {
    const { metadata, tensors } = changed("llama-moe");
    const data = new Uint8Array(Float32Array.from(values).buffer);
    return { metadata, tensors: [...tensors, { name, type: "f32", shape: [values.length], data }] };
  };

  // The random models that llama.cpp is tested with have negative ones, which turn pairs backwards.
  test.each(["rope_freqs.weight", "rope_factors_short.weight"])("of %s are finite numbers other than 0", async (name) => {
    await using model = await loadModel(writeGguf(withFactors(name, [1, -2, 4, 8])), { runtime });
    expect(await model.logits([1, 2])).toHaveLength(2 * model.info.vocabSize);
    for (const wrong of [0, 1e-42, Number.NaN, Number.POSITIVE_INFINITY]) {
      const error = await refusal(withFactors(name, [1, 2, wrong, 8]));
      expect(error).toBeInstanceOf(ModelError);
      expect(error.message).toContain(`expected finite numbers other than 0 in ${name}, got ${Math.fround(wrong)} at 2`);
    }
  });
});

describe("text from a file in error messages", () => {
  const check = (error: Error): void => {
    expect(error.message).not.toMatch(unprintable);
    expect(error.message).toContain("\\u001b]0;owned\\u0007\\u001b[31m\\u009b2J\\u202egnp\\");
    expect(error.message.length).toBeLessThan(2000);
  };

  test("an architecture", async () => {
    const error = await refusal(changed("llama-moe", ["general.architecture", "string", escapes + "x".repeat(1e5)]));
    expect(error).toBeInstanceOf(UnsupportedArchitectureError);
    check(error);
  });

  test("names of tensors", async () => {
    const { metadata, tensors } = changed("llama-moe");
    const extra = ["", "a", "b"].map((end) => ({ name: escapes + "x".repeat(900) + end, type: "f32" as const, shape: [1] }));
    check(await refusal({ metadata, tensors: [...tensors, ...extra] }));
  });

  test("a kind of scaling", async () => {
    const error = await refusal(changed("llama-moe", ["llama.rope.scaling.type", "string", escapes]));
    expect(error).toBeInstanceOf(UnsupportedError);
    check(error);
  });

  test.each(["tokenizer.ggml.model", "tokenizer.ggml.pre"])("%s", async (key) => {
    const kind = ["tokenizer.ggml.model", "string", "gpt2"] as const;
    const tokens = ["tokenizer.ggml.tokens", "array", { of: "string", values: Array.from({ length: 40 }, (_, i) => `${i}`) }] as const;
    const merges = ["tokenizer.ggml.merges", "array", { of: "string", values: [] }] as const;
    const file = changed("llama-moe", ...[kind, tokens, merges].filter(([other]) => other !== key), [key, "string", escapes]);
    await using model = await loadModel(writeGguf(file), { runtime });
    const tokenizerOf = (): unknown => model.tokenizer;
    expect(tokenizerOf).toThrow(TokenizerError);
    try {
      tokenizerOf();
    } catch (error) {
      check(error as Error);
    }
  });

  test("a template's error", () => {
    const error = new ChatTemplateError(`chat template: rejected the messages: ${escapes}${"x".repeat(1e5)}`);
    check(error);
  });
});

test("the report of a file shows its architecture and name safely", async () => {
  const { formatInspect, inspect } = await import("@centella/gguf");
  const file = changed("llama-moe", ["general.architecture", "string", escapes], ["general.name", "string", escapes]);
  expect(formatInspect(inspect(await readGguf(writeGguf(file)))).replaceAll("\n", "")).not.toMatch(unprintable);
});

// CI's fuzzing takes other seeds each time, and longer.
test("mutated models are refused or run", async () => {
  const fuzzer = await ModelFuzzer.open();
  const outcomes = new Map<string, number>();
  for (let seed = 1; seed <= 60; seed++) {
    const outcome = await fuzzer.run(seed);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  await fuzzer.dispose();
  // The mutations reach deep: some are harmless, others hit each kind of check.
  for (const outcome of ["loaded", "GgufError", "ModelError", "TokenizerError", "UnsupportedError"])
    expect(outcomes.get(outcome), outcome).toBeGreaterThan(0);
});
