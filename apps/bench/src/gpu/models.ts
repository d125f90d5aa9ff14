import { type BackendFactory, createRuntime } from "@centella/core";
import { loadModel, type Model } from "@centella/llm";
import { type BenchRow, benchModel, llamaBenchTable } from "@centella/llm/bench";
import { type ModelShape, shapes } from "../model/shapes.ts";
import type { FileType } from "../model/tensors.ts";
import type { Scale } from "./kernel.ts";
import { ModelSource } from "./modelSource.ts";

/** A model of random weights, and the tests of llama-bench that it runs. */
interface ModelTest {
  readonly name: string;
  readonly shape: ModelShape;
  readonly type: FileType;
  readonly promptTokens: readonly number[];
  readonly generatedTokens: readonly number[];
  /** Tokens before those that are generated in a further test. */
  readonly depth: number;
  /** Texts that are generated at once, and the tokens of each. */
  readonly streams: { readonly count: number; readonly tokens: number };
}

/** How models are measured. */
interface ModelSettings {
  readonly scale: Scale;
  /** Runs of each test. */
  readonly repetitions: number;
  /** Whether the time is over. */
  readonly isOver: () => boolean;
}

/** For software GPUs, which take seconds for a token of a real model. */
const tinyShape: ModelShape = {
  ...shapes["smollm2-135m"]!,
  layers: 1,
  embedding: 128,
  feedForward: 256,
  heads: 2,
  kvHeads: 1,
  headSize: 64,
  vocabulary: 1000,
};

const tests: Readonly<Record<Scale, readonly ModelTest[]>> = {
  full: [modelTest("llama-3.2-1b"), modelTest("llama-3.1-8b")],
  tiny: [
    { name: "tiny", shape: tinyShape, type: "Q8_0", promptTokens: [8], generatedTokens: [2], depth: 16, streams: { count: 2, tokens: 3 } },
  ],
};

function modelTest(name: string): ModelTest {
  const streams = { count: 8, tokens: 96 };
  return { name, shape: shapes[name]!, type: "Q4_K_M", promptTokens: [512, 4096], generatedTokens: [128], depth: 8192, streams };
}

/** Results of a model, or the reason why there are none. */
export interface ModelResult {
  readonly model: string;
  readonly backend: string;
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
  for (const test of tests[settings.scale]) {
    const about = { model: `${test.name} ${test.type}`, backend: factory.name };
    if (settings.isOver()) yield { ...about, skipped: "the time was over" };
    else yield { ...about, ...(await measureModel(factory, test, settings)) };
  }
}

async function measureModel(
  factory: BackendFactory,
  { name, shape, type, depth, streams, ...test }: ModelTest,
  { repetitions, isOver }: ModelSettings,
): Promise<Omit<ModelResult, "model" | "backend">> {
  const runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  const source = new ModelSource(name, shape, type);
  try {
    const start = performance.now();
    const longest = Math.max(...test.generatedTokens);
    const contextLength = Math.max(depth, ...test.promptTokens) + longest + 2;
    await using model = await loadModel(source, { runtime, contextLength });
    await model.createSession().complete({ ids: [100] }, { maxTokens: 1, temperature: 0, reasoning: false });
    const firstTokenSeconds = (performance.now() - start) / 1e3;
    const rows: BenchRow[] = [];
    for (const tested of [test, { ...test, promptTokens: [], depths: [depth] }]) {
      for await (const row of benchModel(model, { ...tested, repetitions })) {
        rows.push(row);
        if (isOver()) break;
      }
      if (isOver()) break;
    }
    await model.dispose();
    if (!isOver()) {
      await using several = await loadModel(source, { runtime, contextLength: streams.tokens + 8, sequences: streams.count });
      rows.push(await streamsRow(several, streams, repetitions));
    }
    return { firstTokenSeconds, rows, table: llamaBenchTable(model.info, rows) };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  } finally {
    await runtime.dispose();
  }
}

/** The rate of several texts together, prompts of 3 tokens included. */
async function streamsRow(model: Model, { count, tokens }: ModelTest["streams"], repetitions: number): Promise<BenchRow> {
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
