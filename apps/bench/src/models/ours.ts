import { statSync } from "node:fs";
import { type BackendFactory, createRuntime, reference, UnsupportedError } from "@centella/core";
import { loadModel, type Model, UnsupportedArchitectureError } from "@centella/llm";
import { Skip } from "../runner/subject.ts";
import type { ModelCompetitor, ModelRunner } from "./competitor.ts";

/** Larger files are not computed on the reference: it holds all weights in f32 and takes seconds per token. */
const referenceLimitBytes = 400 * 2 ** 20;

/** The likeliest token, as the peers choose it: without penalties that a file recommends. */
const greedy = { temperature: 0, repeatPenalty: 1 } as const;

/** A backend of this project, opened anew for each model. */
export function oursModel(factory: BackendFactory, threads: number | undefined): ModelCompetitor {
  return { name: factory.name, side: "ours", threads, open: (file, contextLength) => open(factory, file, contextLength) };
}

async function open(factory: BackendFactory, file: string, contextLength: number): Promise<ModelRunner> {
  const { model, dispose } = await load(factory, file, contextLength);
  const session = model.createSession();
  const seconds = async (ids: readonly number[], maxTokens: number): Promise<{ readonly seconds: number; readonly cached: number }> => {
    const start = performance.now();
    const { usage } = await session.complete({ ids }, { ...greedy, maxTokens });
    // A text that ends early took less: the time is for as many tokens as were asked for.
    return { seconds: ((performance.now() - start) / 1e3 / usage.completionTokens) * maxTokens, cached: usage.cachedTokens };
  };
  let prompts = 0;
  // Loaded when it is first asked for: a cache for several texts, with no more room than they take.
  let together: Promise<Awaited<ReturnType<typeof load>>> | undefined;
  /** A first token of its own keeps a prompt from being found in the cache. */
  const fresh = (ids: readonly number[]): readonly number[] => [10 + (prompts++ % (model.info.vocabSize - 10)), ...ids.slice(1)];
  return {
    async prefill(ids) {
      const { seconds: taken, cached } = await seconds(fresh(ids), 1);
      if (cached > 0) throw new Error(`prefill: expected nothing in the cache, got ${cached} tokens`);
      return taken;
    },
    async decode(prompt, tokens) {
      await seconds(prompt, 1);
      return (await seconds(prompt, tokens)).seconds;
    },
    async decodeTogether(texts, tokens) {
      const room = Math.max(...texts.map((ids) => ids.length)) + tokens;
      together ??= load(factory, file, room, model.info.activations, texts.length);
      const { model: shared } = await together;
      const sessions = texts.map(() => shared.createSession());
      const complete = async (maxTokens: number): Promise<number> => {
        const finished = await Promise.all(texts.map((ids, i) => sessions[i]!.complete({ ids }, { ...greedy, maxTokens })));
        return finished.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
      };
      await complete(1);
      const start = performance.now();
      const computed = await complete(tokens);
      // Texts that end early took less, as above.
      return ((performance.now() - start) / 1e3 / computed) * tokens * texts.length;
    },
    async abort(ids) {
      const whole = (await seconds(fresh(ids), 1)).seconds;
      const controller = new AbortController();
      const reason = new Error("aborted by the benchmark");
      const reading = session.complete({ ids: fresh(ids) }, { ...greedy, maxTokens: 1, signal: controller.signal }).then(
        () => "complete",
        (error: unknown) => (error === reason ? "refused" : Promise.reject(error)),
      );
      await new Promise((resolve) => setTimeout(resolve, 500 * whole));
      const start = performance.now();
      controller.abort(reason);
      // A run that was faster than the one before is over: the abort then takes no time.
      await reading;
      return (performance.now() - start) / 1e3;
    },
    async distance(ids) {
      if (statSync(file).size > referenceLimitBytes) return undefined;
      const got = await lastLogits(model, ids);
      const exact = await load(reference(), file, contextLength, model.info.activations);
      try {
        return 1 - cosine(got, await lastLogits(exact.model, ids));
      } finally {
        await exact.dispose();
      }
    },
    async dispose() {
      await (await together)?.dispose();
      await dispose();
    },
  };
}

async function load(
  factory: BackendFactory,
  file: string,
  contextLength: number,
  activations?: "ggml" | "f32",
  sequences: number = 1,
): Promise<{ readonly model: Model; readonly dispose: () => Promise<void> }> {
  const runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  try {
    const model = await loadModel(file, { runtime, contextLength, activations, sequences });
    const dispose = async (): Promise<void> => {
      await model.dispose();
      await runtime.dispose();
    };
    return { model, dispose };
  } catch (error) {
    await runtime.dispose();
    if (error instanceof UnsupportedArchitectureError || error instanceof UnsupportedError) throw new Skip(error.message);
    throw error;
  }
}

async function lastLogits(model: Model, ids: readonly number[]): Promise<Float32Array> {
  return (await model.logits(ids)).slice(-model.info.vocabSize);
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    ab += a[i]! * b[i]!;
    aa += a[i]! * a[i]!;
    bb += b[i]! * b[i]!;
  }
  return ab / Math.sqrt(aa * bb);
}
