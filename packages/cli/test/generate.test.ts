import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { loadCommands } from "../src/commands/index.ts";
import { messageOf } from "../src/failure.ts";
import { generateOptions, readGenerateOptions } from "../src/generateOptions.ts";
import { loadOptions, modelOptions } from "../src/modelOptions.ts";
import { centella, expectOneLine, tiny } from "./centella.ts";
import { parse } from "./parse.ts";

const commands = await loadCommands();

const read = async (...args: string[]) => readGenerateOptions((await parse(generateOptions, ...args)).values);
const load = async (...args: string[]) => loadOptions((await parse(modelOptions, ...args)).values);
/** The message that the command line prints. */
const failure = (work: Promise<unknown>): Promise<string> => work.then(() => "", messageOf);

const folder = mkdtempSync(join(tmpdir(), "cli-generate-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a file and returns its path. */
function newFile(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("options of generation", () => {
  test("none are given: all defaults are the API's", async () => {
    expect(await read()).toEqual({});
  });

  // Values that are no defaults: an option that is dropped on the way shows.
  const values = {
    temperature: 0.5,
    topK: 3,
    topP: 0.4,
    minP: 0.3,
    typicalP: 0.2,
    topNSigma: 2,
    xtcProbability: 0.6,
    xtcThreshold: 0.2,
    dynamicTemperatureRange: 0.25,
    dynamicTemperatureExponent: 2,
    repeatPenalty: 1.5,
    repeatLastN: -1,
    frequencyPenalty: -0.5,
    presencePenalty: 0.75,
    dryMultiplier: 0.8,
    dryBase: 2,
    dryAllowedLength: 4,
    dryLastN: 100,
    seed: 2 ** 40,
  };
  test.each(Object.entries(values))("%s %d", async (name, value) => {
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    expect(await read(`${option}=${value}`)).toEqual({ [name]: value });
  });

  test.each([
    ["--temp 0.5", { temperature: 0.5 }],
    ["-s 7 -n 5", { seed: 7, maxTokens: 5 }],
    ["--n-predict 5", { maxTokens: 5 }],
    ["-n -1", {}],
    ["--typical 0.5 --top-nsigma 1", { typicalP: 0.5, topNSigma: 1 }],
    ["--dynatemp-range 0.5 --dynatemp-exp 2", { dynamicTemperatureRange: 0.5, dynamicTemperatureExponent: 2 }],
    ["--dry-penalty-last-n 5", { dryLastN: 5 }],
    ["--mirostat 2 --mirostat-ent 4 --mirostat-lr 0.2", { mirostat: 2, mirostatTau: 4, mirostatEta: 0.2 }],
  ])("llama.cpp's spelling: %s", async (line, options) => {
    expect(await read(...line.split(" "))).toEqual(options);
  });

  test("steps, biases, stops, drafts, overflow, reasoning", async () => {
    expect(await read("--steps", "topK,temperature", "--top-k", "9")).toMatchObject({ steps: ["topK", "temperature"], topK: 9 });
    expect(await read("--logit-bias", "5:-inf", "--logit-bias=7:1.5")).toMatchObject({ logitBias: { 5: -Infinity, 7: 1.5 } });
    expect(
      await read("--stop", "a", "--stop", "b", "--prompt-lookup", "4", "--overflow", "shift", "--inline-reasoning", "-n", "3"),
    ).toEqual({
      stop: ["a", "b"],
      promptLookup: 4,
      overflow: { generation: "shift" },
      reasoning: false,
      maxTokens: 3,
    });
  });

  test("diffusion", async () => {
    expect(await read("--diffusion-steps", "9", "--diffusion-eps=0.001", "--diffusion-order", "entropy")).toEqual({
      diffusion: { steps: 9, epsilon: 0.001, order: "entropy" },
    });
    expect(await read("--diffusion-block-length", "16")).toEqual({ diffusion: { blockLength: 16 } });
  });

  test("formats", async () => {
    expect(await read("--schema", '{"type":"boolean"}')).toEqual({ format: { schema: { type: "boolean" } } });
    const tools = [{ name: "f", description: "Does it.", inputSchema: { type: "object" } }];
    const openAi = JSON.stringify([{ type: "function", function: { name: "f", description: "Does it.", parameters: { type: "object" } } }]);
    expect(await read("--tools", openAi)).toEqual({ tools });
    expect(await read("--tools", newFile("tools.json", JSON.stringify(tools)), "--tool-choice", "f")).toEqual({
      tools,
      toolChoice: { name: "f" },
    });
    expect(await read("--tools", openAi, "--tool-choice", "required")).toEqual({ tools, toolChoice: "required" });
    expect(await failure(read("--tool-choice", "auto"))).toMatch(/^--tool-choice: expected --tools with it, got none; pass/);
    expect(await failure(read("--tools", "[{"))).toMatch(/^--tools: expected a JSON list of functions, got .*; pass \[\{/);
    expect(await failure(read("--tools", newFile("t.json", "{}")))).toMatch(
      /^--tools: expected a JSON list of functions, got another value; pass \[\{/,
    );
    expect(await read("--reasoning-budget", "20")).toEqual({ reasoning: { budget: 20 } });
    expect(await read("--no-reasoning")).toEqual({ reasoning: { off: true } });
    expect(await failure(read("--no-reasoning", "--inline-reasoning"))).toMatch("reasoning: expected one of");
    expect(await read("--regex", "a|b")).toEqual({ format: { regex: "a|b" } });
    expect(await read("--choice", "a", "--choice", "b")).toEqual({ format: { choice: ["a", "b"] } });
    const schema = newFile("schema.json", '{"type":"null"}');
    expect(await read("--json-schema", schema)).toEqual({ format: { schema: { type: "null" } } });
    expect(await read("--grammar", newFile("a.gbnf", 'root ::= "a"'))).toEqual({ format: { gbnf: 'root ::= "a"' } });
    expect(await failure(read("--regex", "a", "--choice", "b"))).toMatch("expected one format of the answer, got --regex and --choice");
    expect(await failure(read("--schema", "{"))).toMatch("--schema: expected a JSON Schema, got");
    expect(await failure(read("--schema", newFile("b.json", "{")))).toMatch(/--schema: expected a JSON Schema in .*b\.json, got/);
  });

  test.each([
    [["--logit-bias", "x"], "--logit-bias: expected ID:BIAS with a token id and a number or -inf, got x"],
    [["--steps", "topK,topK"], /expected some of penalties, .*, each once/],
    [["--steps", "temperature", "--top-k", "3"], /expected the step topK, because topK is set/],
    [["--mirostat", "3"], "--mirostat: expected one of 0, 1, 2, got 3"],
    [["--mirostat", "1", "--top-k", "3"], /no other option that excludes tokens, got topK/],
    [["--overflow", "wrap"], "--overflow: expected one of stop, shift, error, got wrap"],
    [["--xtc-probability", "1.5"], "--xtc-probability: expected a number in 0 … 1, got 1.5"],
    [["--repeat-last-n=-2"], "--repeat-last-n: expected a whole number >= -1, got -2"],
    [["--top-k", "2.5"], "--top-k: expected a whole number >= 0, got 2.5"],
    [["--temp", "-1"], "--temperature: expected a number >= 0, got -1"],
  ])("%j is refused", async (args, message) => {
    expect(await failure(read(...args))).toMatch(message);
  });
});

describe("options of loading", () => {
  test("reach loadModel", async () => {
    expect(await load()).toEqual({});
    expect(await load("-c", "64", "-b", "8", "-ngl", "99")).toEqual({ contextLength: 64, batchSize: 8, layersOnGpu: 99 });
    expect(await load("--ctx-size", "64", "--batch-size", "8", "--gpu-layers", "3")).toEqual({
      contextLength: 64,
      batchSize: 8,
      layersOnGpu: 3,
    });
    expect(await load("-ngl", "auto", "--activations", "half")).toEqual({ layersOnGpu: "auto", activations: "half" });
    expect(await load("--context", "auto", "--memory-limit", "64", "--batch", "16", "--layers-on-gpu", "2")).toEqual({
      contextLength: "auto",
      memoryLimit: 2 ** 26,
      batchSize: 16,
      layersOnGpu: 2,
    });
    expect((await load("--lora", "a.gguf", "--lora", "C:\\b.gguf:0.5", "--lora", "http://x:80/c.gguf")).adapters).toEqual([
      { source: "a.gguf" },
      { source: "C:\\b.gguf", scale: 0.5 },
      { source: "http://x:80/c.gguf" },
    ]);
  });

  test("a draft model reaches loadModel, also in the spelling of llama-server", async () => {
    const draft = { source: tiny, tokens: 4, minProbability: 0.5 };
    expect(await load("--draft", tiny, "--draft-tokens", "4", "--draft-min-probability", "0.5")).toEqual({ draft });
    expect(await load("-md", tiny, "--spec-draft-n-max", "4", "--spec-draft-p-min", "0.5")).toEqual({ draft });
    expect((await load("--spec-draft-model", tiny)).draft).toMatchObject({ source: tiny });
    expect((await load("--draft", "self", "--draft-tokens", "2")).draft).toEqual({ tokens: 2 });
  });

  test.each([
    [["--context", "Auto"], "--context: expected a number, got Auto"],
    [["--memory-limit", "64"], /expected --context auto with it/],
    [["--draft-tokens", "3"], "--draft-tokens: expected --draft FILE with it, got none"],
    [["--draft-min-probability", "0"], "--draft-min-probability: expected --draft FILE with it, got none"],
    [["--draft", "a.gguf", "--draft-tokens", "0"], "--draft-tokens: expected a whole number from 1, got 0"],
    [["--draft", "a.gguf", "--draft-min-probability", "2"], "--draft-min-probability: expected a number from 0 to 1, got 2"],
    [["--lora", ""], "--lora: expected FILE or FILE:SCALE, got nothing"],
    [["--lora", "a.gguf:1e"], "--lora: expected a number after the last colon, got 1e"],
    [["--cache-type", "q4_0"], "--cache-type: expected one of f32, f16, q8_0, got q4_0"],
  ])("%j is refused", async (args, message) => {
    expect(await failure(load(...args))).toMatch(message);
  });
});

describe("run", () => {
  const run = async (...args: string[]) => {
    const { stdout, stderr, code } = await centella(["run", tiny, "-p", "Once upon a time", "--json", "--backend", "wasm", ...args]);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    return JSON.parse(stdout);
  };

  test("--draft drafts tokens", async () => {
    const { acceptedTokens, text } = await run("-n", "12", "--temperature", "0", "--draft", tiny);
    expect(acceptedTokens).toBeGreaterThan(5);
    expect(text).toBe((await run("-n", "12", "--temperature", "0")).text);
  });

  test("--context auto says what it chose and why", async () => {
    const report = await run("-n", "1", "--context", "auto", "--memory-limit", "64");
    expect(report.contextLength).toBe(1024);
    expect(report.contextReason).toMatch(/auto: .* in 64 MiB \(memoryLimit\)/);
  });

  test("--logprobs, --stop and --logit-bias", async () => {
    const free = await run("--raw", "-n", "6", "--temperature", "0", "--logprobs", "2");
    expect(free.logprobs).toHaveLength(6);
    expect(free.logprobs[0].top).toHaveLength(2);
    expect(free.logprobs[0].top[0].id).toBe(free.ids[0]);
    const other = await run("--raw", "-n", "1", "--temperature", "0", "--logit-bias", `${free.ids[0]}:-inf`);
    expect(other.ids[0]).toBe(free.logprobs[0].top[1].id);
    const word = free.text.trim().split(" ")[1];
    const stopped = await run("--raw", "-n", "6", "--temperature", "0", "--stop", word);
    expect(stopped).toMatchObject({ finishReason: "stop", text: free.text.slice(0, free.text.indexOf(word)) });
  });

  test("--system begins the chat", async () => {
    const [plain, system] = [await run("-n", "1"), await run("-n", "1", "--system", "You are a cat.")];
    expect(system.promptIds.length).toBeGreaterThan(plain.promptIds.length);
  });

  test.each([
    [["--system", "x", "--raw"], /--system or --raw, got both/],
    [["--no-reasoning", "--raw"], /--no-reasoning or --raw, got both/],
    [["--reasoning-budget", "9", "--raw"], /--reasoning-budget or --raw, got both/],
    [["--logprobs", "1"], /--json with --logprobs/],
    [["--context", "0"], '--context: expected a whole number from 1 or "auto", got 0'],
    [["--top-p", "2"], /--top-p: expected a number in 0 … 1/],
    [["--memory-limit", "1"], /--context auto with it/],
  ])("%j is a usage error", async (args, message) => {
    expectOneLine(await centella(["run", tiny, "-p", "x", ...args]), message, 2);
  });
});

describe("embed", () => {
  test("a vector a line, of arguments or of stdin", async () => {
    const given = await centella(["embed", tiny, "a cat", "a dog", "--backend", "wasm"]);
    const vectors: number[][] = given.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(vectors).toHaveLength(2);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    expect((await centella(["embed", tiny, "--backend", "wasm"], { input: "a cat\n\na dog\n" })).stdout).toBe(given.stdout);
    const last = await centella(["embed", tiny, "a cat", "--pooling", "last", "--no-normalize", "--backend", "wasm"]);
    expect(Math.abs(Math.hypot(...JSON.parse(last.stdout)) - 1)).toBeGreaterThan(0.01);
  });

  test("usage", async () => {
    expectOneLine(await centella(["embed"]), /expected a FILE, got none/, 2);
    expectOneLine(await centella(["embed", tiny, "x", "--pooling", "max"]), /--pooling: expected one of mean, cls, last, got max/, 2);
  });
});

test("the help of every command lists its options", async () => {
  for (const { name, options } of commands) {
    const { code, stdout, stderr } = await centella(["help", name]);
    expect({ code, stderr }, name).toEqual({ code: 0, stderr: "" });
    expect(stdout, name).toMatch(new RegExp(`^Usage: centella ${name}`));
    for (const option of Object.keys(options)) expect(stdout, name).toContain(`--${option}`);
  }
});
