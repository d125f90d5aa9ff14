import { statSync } from "node:fs";
import { type BackendFactory, createRuntime, reference, UnsupportedError } from "@centella/core";
import { loadModel, type Model, UnsupportedArchitectureError } from "@centella/llm";
import { elementAt } from "@centella/quant/checks";
import { Skip } from "../runner/subject.ts";
import type { ModelCompetitor, ModelRunner } from "./competitor.ts";
import { greedy, TimedSession } from "./timedSession.ts";

/** Larger files are not computed on the reference: it holds all weights in f32 and takes seconds per token. */
const referenceLimitBytes = 400 * 2 ** 20;

/** A backend of this project, opened separately for each model. */
export function oursModel(factory: BackendFactory, threads: number | undefined): ModelCompetitor {
  return { name: factory.name, side: "ours", threads, open: (file, contextLength) => open(factory, file, contextLength) };
}

async function open(factory: BackendFactory, file: string, contextLength: number): Promise<ModelRunner> {
  return new OurRunner(factory, file, contextLength, await load(factory, file, contextLength));
}

class OurRunner implements ModelRunner {
  readonly #factory: BackendFactory;
  readonly #file: string;
  readonly #contextLength: number;
  readonly #loaded: LoadedModel;
  readonly #session: TimedSession;
  /** The model with a cache for several texts, loaded on first use with exactly the room that they need. */
  #together: Promise<LoadedModel> | undefined;

  constructor(factory: BackendFactory, file: string, contextLength: number, loaded: LoadedModel) {
    this.#factory = factory;
    this.#file = file;
    this.#contextLength = contextLength;
    this.#loaded = loaded;
    this.#session = new TimedSession(loaded.model.createSession(), loaded.model.info.vocabSize);
  }

  prefill(ids: readonly number[]): Promise<number> {
    return this.#session.prefill(ids);
  }

  decode(prompt: readonly number[], tokens: number): Promise<number> {
    return this.#session.decode(prompt, tokens);
  }

  async decodeTogether(texts: readonly (readonly number[])[], tokens: number): Promise<number> {
    const { activations } = this.#loaded.model.info;
    const room = Math.max(...texts.map((ids) => ids.length)) + tokens;
    this.#together ??= load(this.#factory, this.#file, room, activations, texts.length);
    const { model } = await this.#together;
    const pairs = texts.map((ids) => ({ ids, session: model.createSession() }));
    const complete = async (maxTokens: number): Promise<number> => {
      const finished = await Promise.all(pairs.map(({ ids, session }) => session.complete({ ids }, { ...greedy, maxTokens })));
      return finished.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
    };
    await complete(1);
    const start = performance.now();
    const computed = await complete(tokens);
    // Scaled to all tokens, because a text may end early.
    return ((performance.now() - start) / 1e3 / computed) * tokens * texts.length;
  }

  async abort(ids: readonly number[]): Promise<number> {
    const whole = await this.prefill(ids);
    const controller = new AbortController();
    const reason = new Error("aborted by the benchmark");
    const options = { ...greedy, maxTokens: 1, signal: controller.signal };
    const reading = this.#session.session.complete({ ids: this.#session.fresh(ids) }, options).then(
      () => "complete",
      (error: unknown) => (error === reason ? "refused" : Promise.reject(error)),
    );
    await new Promise((resolve) => setTimeout(resolve, 500 * whole));
    const start = performance.now();
    controller.abort(reason);
    // A run that was faster than the previous one is over by now, and the abort takes no time.
    await reading;
    return (performance.now() - start) / 1e3;
  }

  async distance(ids: readonly number[]): Promise<number | undefined> {
    if (statSync(this.#file).size > referenceLimitBytes) return undefined;
    const { model } = this.#loaded;
    const got = await lastLogits(model, ids);
    const exact = await load(reference(), this.#file, this.#contextLength, model.info.activations);
    try {
      return 1 - cosine(got, await lastLogits(exact.model, ids));
    } finally {
      await exact.dispose();
    }
  }

  async dispose(): Promise<void> {
    await (await this.#together)?.dispose();
    await this.#loaded.dispose();
  }
}

interface LoadedModel {
  readonly model: Model;
  readonly dispose: () => Promise<void>;
}

async function load(
  factory: BackendFactory,
  file: string,
  contextLength: number,
  activations?: Model["info"]["activations"],
  sequences: number = 1,
): Promise<LoadedModel> {
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
  for (const [i, p] of a.entries()) {
    const q = elementAt(b, i);
    ab += p * q;
    aa += p * p;
    bb += q * q;
  }
  return ab / Math.sqrt(aa * bb);
}
