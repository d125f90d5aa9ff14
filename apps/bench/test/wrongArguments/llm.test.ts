import { readFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import * as llm from "@centella/llm";
import * as bench from "@centella/llm/bench";
import * as workers from "@centella/llm/worker";
import * as serving from "@centella/llm/worker/serve";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { familyModel, readFamilyGolden } from "../../../../packages/llm/test/familyFixture.ts";
import { callExports, callMethods, complaintsOf, excused, sampled } from "./harness.ts";
import { whole } from "./values.ts";

const tiny = new URL("../../../../packages/model-fable/models/fable-tiny-q8_0.gguf", import.meta.url);
const { signal } = new AbortController();
const noop = (): void => undefined;
const message = { role: "user", content: "Tell me a story." };
const chatOptions = { tools: [{ type: "function" }], documents: [{ text: "a" }], variables: { enable_thinking: true }, now: new Date(0) };
const sampling = {
  temperature: 0.5,
  dynamicTemperatureRange: 0,
  dynamicTemperatureExponent: 1,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  typicalP: 1,
  topNSigma: 0,
  xtcProbability: 0,
  xtcThreshold: 0.1,
  repeatPenalty: 1,
  repeatLastN: 64,
  frequencyPenalty: 0,
  presencePenalty: 0,
  dryMultiplier: 0.5,
  dryBase: 1.75,
  dryAllowedLength: 2,
  dryLastN: -1,
  mirostatTau: 5,
  mirostatEta: 0.1,
  logitBias: { 3: 1 },
  steps: ["penalties", "dry", "topNSigma", "topK", "typicalP", "topP", "minP", "xtc", "temperature"],
  seed: 1,
};
const generateOptions = {
  ...sampling,
  mirostat: 0,
  maxTokens: 2,
  dryBreakers: ["\n"],
  logprobs: 1,
  stop: ["end"],
  signal,
  onAbort: "keep",
  raw: false,
  overflow: { prompt: "error", generation: "stop", keep: 1, room: 1 },
  promptLookup: 1,
  draftTokens: 0,
  reasoning: { open: "<think>", close: "</think>" },
  progress: true,
  chat: chatOptions,
  format: { schema: { type: "object", properties: { a: { enum: [1] } } } },
};
const runOptions = {
  maxTokens: 2,
  maxSteps: 1,
  tools: [{ name: "f", description: "Does it.", inputSchema: { type: "object", properties: { a: { type: "string" } } }, execute: noop }],
  toolChoice: "required",
  parallelToolCalls: true,
  strictTools: true,
  toolFormat: "hermes",
  reasoning: { budget: 1, off: false },
  partial: false,
};
const prompt = [message];

let runtime: Runtime;
let bytes: Uint8Array<ArrayBuffer>;
let model: llm.Model;

beforeAll(async () => {
  vi.stubGlobal("fetch", async () => Promise.reject(new Error("no network")));
  bytes = new Uint8Array(await readFile(tiny));
  runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  model = await llm.loadModel(bytes, { runtime, contextLength: 128, sequences: 2 });
});
afterAll(async () => {
  vi.unstubAllGlobals();
  await model.dispose();
  await runtime.dispose();
});

test("llm: wrong arguments are typed errors", async () => {
  const { tokenizer, metadata } = model;
  const logits = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i));
  const resolved = { ...llm.resolveSampling({ seed: 1 }) };
  await callExports("llm", llm, {
    ChatTemplate: [{ source: "{{ messages[0].content }}", bosToken: "<s>", eosToken: "</s>", isToken: () => true }],
    Sampler: [resolved],
    StopStrings: [["end"]],
    TextStream: [whole(tokenizer), { after: 3, skipSpecial: true, shown: whole(new Set([1])) }],
    architectureStatus: ["llama"],
    refusedArchitectures: [],
    candidatesOf: [logits],
    createTokenizer: [whole(metadata)],
    loadModel: sampled(120, bytes, {
      runtime: whole(runtime),
      contextLength: 64,
      memoryLimit: 1e9,
      sequences: 1,
      batchSize: 8,
      cacheType: "f16",
      activations: "f32",
      layersOnGpu: undefined,
      adapters: [],
      draft: undefined,
      queue: { max: 1 },
      cache: false,
      signal,
      onProgress: noop,
    }),
    logprobsOf: [logits, 1, 2],
    probabilities: [llm.candidatesOf(logits)],
    resolveSampling: [sampling, { temperature: 1 }],
    sampleCandidates: [logits, [1, 2], resolved, 2],
    sampleToken: [logits, resolved, { history: [1, 2], position: 2 }],
    snapshotAdapters: sampled(20, new Uint8Array(40)),
    snapshotTokens: sampled(20, new Uint8Array(40)),
    tool: excused("returns what it is given, which generate checks"),
  });
  await callMethods("stops", new llm.StopStrings(["end"]), { push: ["text"], flush: [] });
  await callMethods("stream", new llm.TextStream(tokenizer), { push: [300], flush: [] });
  await callMethods("sampler", new llm.Sampler(resolved), { sample: [logits, { history: [1, 2], position: 2 }] });
});

test("a model: wrong arguments are typed errors", async () => {
  const saved = await model.createSession().save();
  await callMethods("model", model, {
    cacheUsage: excused("takes nothing"),
    createSession: [{ messages: [message] }],
    restoreSession: sampled(60, whole(saved), { signal, key: undefined }),
    logits: sampled(120, [0, 2817], { signal }),
    embed: sampled(150, ["a story", { ids: [0, 2817] }], { pooling: "mean", normalize: true, dimensions: 8, signal }),
    rerank: excused("the model is no reranker: see below"),
    perplexity: sampled(120, [0, 1, 2, 3, 4, 5, 6, 7], { contextLength: 4, chunks: 1, signal, onProgress: noop }),
    dispose: excused("takes nothing"),
  });
  await callMethods("tokenizer", model.tokenizer, {
    encode: ["a story", { addSpecial: true, parseSpecial: [[0, 1]] }],
    encodeAsync: ["a story", { addSpecial: true, parseSpecial: true, maxTokens: 10, signal }],
    decode: [[300, 301], { skipSpecial: true }],
    tokenBytes: [300],
    tokenText: [300],
    tokenId: ["</s>"],
    isSpecial: [300],
    isTextBoundary: [300],
    isEndOfGeneration: [300],
  });
  await callMethods("template", model.chatTemplate, {
    render: [[message], { ...chatOptions, addGenerationPrompt: true }],
    encode: [whole(model.tokenizer), [message], { addGenerationPrompt: true }],
    prepare: [[message], { addGenerationPrompt: true }],
  });
});

test("a reranker: wrong arguments are typed errors", async () => {
  await using reranker = await llm.loadModel(familyModel(readFamilyGolden("bert-rank")), { runtime });
  const rerank = (args: readonly unknown[]): unknown => reranker.rerank(...(args as Parameters<llm.Model["rerank"]>));
  expect(await complaintsOf("rerank", rerank, sampled(150, "w1", ["w2", "w3"], { topN: 1, signal }))).toEqual([]);
});

test("a session: wrong arguments are typed errors", async () => {
  const session = model.createSession();
  const formats = [{ regex: "a+" }, { gbnf: 'root ::= "a"' }, { lark: 'start: "a"' }, { choice: ["a", "b"] }, "json"];
  const formatted = (args: readonly unknown[]): unknown =>
    model.createSession().complete("a story", { maxTokens: 1, format: args[0] as llm.AnswerFormat });
  for (const format of formats) expect(await complaintsOf("format", formatted, [format])).toEqual([]);
  const complete = (args: readonly unknown[]): unknown =>
    model.createSession().complete(args[0] as typeof prompt, { maxTokens: 1, ...(args[1] as object) });
  for (const each of ["a story", [message], { prefix: "a", suffix: "b" }, { ids: [0, 2817] }])
    expect(await complaintsOf("session.complete", complete, [each, undefined])).toEqual([]);
  await callMethods("session", session, {
    generate: sampled(600, prompt, generateOptions),
    complete: sampled(200, prompt, generateOptions),
    run: sampled(200, prompt, runOptions),
    reset: [[message]],
    fork: [],
    truncate: [0],
    save: sampled(60, { signal, key: undefined }),
    dispose: excused("takes nothing"),
  });
});

test("benchmarks: wrong arguments are typed errors", async () => {
  await callExports("bench", bench, {
    benchModel: sampled(60, whole(model), { promptTokens: [2], generatedTokens: [1], depths: [0], repetitions: 1, signal }),
    llamaBenchTable: [whole(model.info), []],
  });
});

test("a worker: wrong arguments are typed errors", async () => {
  const script = new URL("../../../../packages/llm/test/workers/serving.ts", import.meta.url);
  const worker = new Worker(script, { execArgv: ["--conditions=@centella/source", "--no-warnings"] });
  try {
    const options = { worker: whole(worker), contextLength: 64, signal, onProgress: noop };
    await callExports("workers", workers, {
      WorkerModel: excused("loadModel makes it"),
      WorkerSession: excused("createSession makes it"),
      loadModel: sampled(60, bytes, options),
    });
    await callExports("serving", serving, { serveModels: [noop] });
    const remote = await workers.loadModel(bytes, { worker, contextLength: 64 });
    await callMethods("remote", remote, {
      cacheUsage: excused("takes nothing"),
      createSession: [{ messages: [message] }],
      restoreSession: sampled(30, new Uint8Array(3), { signal }),
      logits: sampled(60, [0, 2817], { signal }),
      embed: sampled(60, ["a story"], { pooling: "mean", normalize: true, signal }),
      rerank: sampled(30, "a story", ["a fox"], { topN: 1, signal }),
      perplexity: sampled(60, [0, 1, 2, 3, 4, 5, 6, 7], { contextLength: 4, chunks: 1, signal, onProgress: noop }),
      dispose: excused("takes nothing"),
    });
    await callMethods("remote session", remote.createSession(), {
      generate: sampled(100, prompt, generateOptions),
      complete: sampled(60, prompt, generateOptions),
      run: sampled(60, prompt, runOptions),
      reset: [[message]],
      fork: [],
      truncate: [0],
      save: sampled(30, { signal }),
      dispose: excused("takes nothing"),
    });
    await remote.dispose();
  } finally {
    await worker.terminate();
  }
});
