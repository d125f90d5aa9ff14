import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { TextStream } from "../src/index.ts";
import { describeShared, readLines, shared, tokenizerOf } from "./shared.ts";

const vocabularies = ["gpt-2", "llama-bpe", "qwen2", "deepseek-coder", "falcon", "starcoder", "llama-spm", "phi-3"];

describeShared("tokenizers against llama.cpp", () => {
  for (const name of vocabularies) {
    test(`${name}: ids of every text and back`, async () => {
      const path = shared("data", "vocab", `ggml-vocab-${name}.gguf`);
      const tokenizer = await tokenizerOf(path);
      const texts = readFileSync(`${path}.inp`, "utf8").split("\n__ggml_vocab_test__\n").slice(0, -1);
      const lines = readFileSync(`${path}.out`, "utf8").replace(/\n$/, "").split("\n");
      expect(texts.length).toBe(lines.length);
      expect(texts.length).toBeGreaterThan(40);
      for (const [i, text] of texts.entries()) {
        const ids = Array.from(tokenizer.encode(text, { addSpecial: false }));
        expect(ids, JSON.stringify(text)).toEqual(lines[i]!.split(" ").filter(Boolean).map(Number));
        expect(tokenizer.decode(ids)).toBe(text);
      }
    });
  }

  test("falcon has no token for U+0004, which is dropped", async () => {
    const tokenizer = await tokenizerOf(shared("data", "vocab", "ggml-vocab-falcon.gguf"));
    expect(tokenizer.encode("one\u0004 two")).toEqual(tokenizer.encode("one two"));
    expect(tokenizer.encode("\u0004")).toHaveLength(0);
  });

  test("bert-bge: ids of every text", async () => {
    const path = shared("data", "vocab", "ggml-vocab-bert-bge.gguf");
    const tokenizer = await tokenizerOf(path);
    const texts = readFileSync(`${path}.inp`, "utf8").split("\n__ggml_vocab_test__\n").slice(0, -1);
    const lines = readFileSync(`${path}.out`, "utf8").replace(/\n$/, "").split("\n");
    expect(texts.length).toBeGreaterThan(40);
    expect(texts.length).toBe(lines.length);
    for (const [i, text] of texts.entries()) {
      expect(Array.from(tokenizer.encode(text, { addSpecial: false })), JSON.stringify(text)).toEqual(
        lines[i]!.split(" ").filter(Boolean).map(Number),
      );
    }
    // CLS and SEP around the text, as BERT wants it.
    expect(Array.from(tokenizer.encode("Hello world"))).toEqual([101, ...tokenizer.encode("Hello world", { addSpecial: false }), 102]);
    expect(tokenizer.decode(tokenizer.encode("Héllo  wörld"))).toBe("hello world");
  });

  test.each([
    ["qwen2", undefined],
    ["deepseek-coder", ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"]],
    ["starcoder", ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"]],
    ["llama-spm", undefined],
  ])("%s: tokens for filling gaps", async (name, texts) => {
    const tokenizer = await tokenizerOf(shared("data", "vocab", `ggml-vocab-${name}.gguf`));
    const { prefixId, suffixId, middleId } = tokenizer.fillInMiddle;
    expect([prefixId, suffixId, middleId]).toEqual(texts?.map((text) => tokenizer.tokenId(text)) ?? [undefined, undefined, undefined]);
  });

  for (const [folder, file] of [
    ["models", "greedy.jsonl"],
    ["data/stories260K", "greedy.jsonl"],
  ] as const) {
    test(`${folder}: prompt ids and the text of generated ids`, async () => {
      const checked = new Set<string>();
      for (const line of readLines(shared(folder, file))) {
        const { model, prompt_ids, out, text_hex } = JSON.parse(line) as {
          model: string;
          prompt_ids: number[];
          out: number[];
          text_hex: string;
        };
        const tokenizer = await tokenizerOf(shared(folder, model));
        const prompt = tokenizer.decode(prompt_ids.slice(1), { skipSpecial: false });
        expect(Array.from(tokenizer.encode(prompt, { parseSpecial: true }))).toEqual(prompt_ids);
        const stream = new TextStream(tokenizer, { after: prompt_ids.at(-1)! });
        const text = out.map((id) => stream.push(id)).join("") + stream.flush();
        expect(text).toBe(new TextDecoder().decode(Buffer.from(text_hex, "hex")));
        checked.add(model);
      }
      expect(checked.size).toBeGreaterThan(1);
    });
  }
});
