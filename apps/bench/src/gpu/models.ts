import { type BackendFactory, createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
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
  readonly repetitions: number;
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
  tiny: [{ name: "tiny", shape: tinyShape, type: "Q8_0", promptTokens: [8], generatedTokens: [2], repetitions: 1 }],
};

function modelTest(name: string): ModelTest {
  return { name, shape: shapes[name]!, type: "Q4_K_M", promptTokens: [512, 4096], generatedTokens: [128], repetitions: 3 };
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
export async function* measureModels(factory: BackendFactory, scale: Scale, isOver: () => boolean): AsyncGenerator<ModelResult> {
  for (const test of tests[scale]) {
    const about = { model: `${test.name} ${test.type}`, backend: factory.name };
    if (isOver()) yield { ...about, skipped: "the time was over" };
    else yield { ...about, ...(await measureModel(factory, test, isOver)) };
  }
}

async function measureModel(
  factory: BackendFactory,
  { name, shape, type, ...test }: ModelTest,
  isOver: () => boolean,
): Promise<Omit<ModelResult, "model" | "backend">> {
  const runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  try {
    const start = performance.now();
    const contextLength = Math.max(...test.promptTokens) + Math.max(...test.generatedTokens) + 2;
    await using model = await loadModel(new ModelSource(name, shape, type), { runtime, contextLength });
    await model.createSession().complete({ ids: [100] }, { maxTokens: 1, temperature: 0, reasoning: false });
    const firstTokenSeconds = (performance.now() - start) / 1e3;
    const rows: BenchRow[] = [];
    for await (const row of benchModel(model, test)) {
      rows.push(row);
      if (isOver()) break;
    }
    return { firstTokenSeconds, rows, table: llamaBenchTable(model.info, rows) };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  } finally {
    await runtime.dispose();
  }
}
