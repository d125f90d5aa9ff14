import { type BackendFactory, createRuntime } from "@centella/core";
import { loadModel, type Model } from "@centella/llm";
import { type BenchRow, benchModel, llamaBenchTable } from "@centella/llm/bench";
import { named } from "@centella/quant/checks";
import { type ModelShape, shapes } from "../model/shapes.ts";
import type { FileType } from "../model/tensors.ts";
import type { Scale } from "./kernel.ts";
import { warmUp } from "./measureKernel.ts";
import { ModelSource } from "./modelSource.ts";

/** Names of the models on the command line, and their shapes. */
const modelShapes = { "1b": "llama-3.2-1b", "8b": "llama-3.1-8b" } as const;

export type ModelName = keyof typeof modelShapes;

export const modelNames: readonly ModelName[] = ["1b", "8b"];

/** Types of weights that models can have here. */
export const modelTypes: readonly FileType[] = ["Q4_K_M", "Q8_0", "F16"];

/** Models to measure: each name with each type. */
export interface ModelChoice {
  readonly names: readonly ModelName[];
  readonly types: readonly FileType[];
  /** Numbers of texts that are generated at once, each in a test of its own. */
  readonly streams: readonly number[];
}

/** The tests of llama-bench that a model runs. */
interface ModelTests {
  readonly promptTokens: readonly number[];
  readonly generatedTokens: readonly number[];
  /** Tokens before those that are generated in a further test. */
  readonly depth: number;
  /** Tokens of each of several texts that are generated at once. */
  readonly streamTokens: number;
  /** Work of the GPU before the tests. One that paused runs at a fraction of its clocks, and weights take seconds to load. */
  readonly warmUpSeconds: number;
}

/** A model of random weights. */
interface TestedModel {
  readonly name: string;
  readonly shape: ModelShape;
  readonly type: FileType;
}

/** How models are measured. */
interface ModelSettings extends ModelChoice {
  readonly scale: Scale;
  /** Runs of each test. */
  readonly repetitions: number;
  /** Whether the time is over. */
  readonly isOver: () => boolean;
}

/** For software GPUs, which take seconds for a token of a real model. */
export const tinyShape: ModelShape = {
  ...shapes["smollm2-135m"]!,
  layers: 1,
  embedding: 128,
  feedForward: 256,
  heads: 2,
  kvHeads: 1,
  headSize: 64,
  vocabulary: 1000,
};

const tests: Readonly<Record<Scale, ModelTests>> = {
  full: { promptTokens: [512, 4096], generatedTokens: [128], depth: 8192, streamTokens: 256, warmUpSeconds: 1 },
  tiny: { promptTokens: [8], generatedTokens: [2], depth: 16, streamTokens: 3, warmUpSeconds: 0 },
};

/** Every model of a choice. Software GPUs have a tiny one in place of all names. */
export function testedModels(scale: Scale, { names, types }: ModelChoice): readonly TestedModel[] {
  const known = names.map((name) => ({ name: modelShapes[name], shape: named(shapes, modelShapes[name]) }));
  const models = scale === "full" ? known : [{ name: "tiny", shape: tinyShape }];
  return models.flatMap((model) => types.map((type) => ({ ...model, type })));
}

/** Results of a model, or the reason why there are none. */
export interface ModelResult {
  readonly model: string;
  readonly backend: string;
  /** From the call of `loadModel` until it resolves. */
  readonly readySeconds?: number;
  /** From the call of `loadModel` to the first token. */
  readonly firstTokenSeconds?: number;
  readonly rows?: readonly BenchRow[];
  /** The rows with llama-bench's columns. */
  readonly table?: string;
  readonly failed?: string;
  readonly skipped?: string;
}

/** Loads and measures each model on a backend of its own, until the time is over. */
export async function* measureModels(factory: BackendFactory, settings: ModelSettings): AsyncGenerator<ModelResult> {
  for (const tested of testedModels(settings.scale, settings)) {
    const about = { model: `${tested.name} ${tested.type}`, backend: factory.name };
    if (settings.isOver()) yield { ...about, skipped: "the time was over" };
    else yield { ...about, ...(await measureModel(factory, tested, settings)) };
  }
}

async function measureModel(
  factory: BackendFactory,
  { name, shape, type }: TestedModel,
  { scale, streams, repetitions, isOver }: ModelSettings,
): Promise<Omit<ModelResult, "model" | "backend">> {
  const { depth, streamTokens, warmUpSeconds, ...test } = tests[scale];
  const runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  const source = new ModelSource(name, shape, type);
  try {
    const start = performance.now();
    const secondsSoFar = (): number => (performance.now() - start) / 1e3;
    const longest = Math.max(...test.generatedTokens);
    const contextLength = Math.max(depth, ...test.promptTokens) + longest + 2;
    await using model = await loadModel(source, { runtime, contextLength });
    const readySeconds = secondsSoFar();
    await model.createSession().complete({ ids: [100] }, { maxTokens: 1, temperature: 0, reasoning: false });
    const firstTokenSeconds = secondsSoFar();
    await warmUp(newPrompts(model, Math.min(...test.promptTokens)), warmUpSeconds);
    const rows: BenchRow[] = [];
    for (const tested of [test, { ...test, promptTokens: [], depths: [depth] }]) {
      for await (const row of benchModel(model, { ...tested, repetitions })) {
        rows.push(row);
        if (isOver()) break;
      }
      if (isOver()) break;
    }
    await model.dispose();
    for (const count of streams) {
      if (isOver()) break;
      await using several = await loadModel(source, { runtime, contextLength: streamTokens + 8, sequences: count });
      rows.push(await streamsRow(several, count, streamTokens, repetitions));
    }
    return { readySeconds, firstTokenSeconds, rows, table: llamaBenchTable(model.info, rows) };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  } finally {
    await runtime.dispose();
  }
}

/** A function that computes another prompt of `tokens` tokens with each call. First tokens differ, so that none is in the cache. */
function newPrompts(model: Model, tokens: number): () => Promise<unknown> {
  let calls = 0;
  return async () => {
    using session = model.createSession();
    const ids = Array.from({ length: tokens }, () => 100);
    ids[0] = 101 + (calls++ % 800);
    await session.complete({ ids }, { maxTokens: 1, temperature: 0, reasoning: false });
  };
}

/** The rate of several texts together, prompts of 3 tokens included. */
async function streamsRow(model: Model, count: number, tokens: number, repetitions: number): Promise<BenchRow> {
  const options = { maxTokens: tokens, temperature: 0, repeatPenalty: 1, ignoreEos: true, reasoning: false } as const;
  const tokensPerSecond: number[] = [];
  // A first repetition is not counted.
  for (let i = -1; i < repetitions; i++) {
    const sessions = Array.from({ length: count }, () => model.createSession());
    const start = performance.now();
    await Promise.all(sessions.map((session, at) => session.complete({ ids: [100 + at, 200 + i + 1, 300] }, options)));
    if (i >= 0) tokensPerSecond.push((1e3 * count * tokens) / (performance.now() - start));
    for (const session of sessions) session.dispose();
  }
  return { test: `tg${tokens} × ${count}`, kind: "generation", tokens: count * tokens, depth: 0, tokensPerSecond, timeToFirstTokenMs: [] };
}
