import { ArgumentError } from "@centella/core";
import { abortSignal, check, checkOptions, isRecord, type Kinds, kind, listOf, whole } from "@centella/quant/checks";
import type { GenerateOptions } from "../generate/generateOptions.ts";
import type { Model } from "../model/model.ts";

/** What to measure. Prompt and generation tests run at every depth. */
export interface BenchOptions {
  /** Lengths of prompts, in tokens. Default: 128 and 512. */
  readonly promptTokens?: readonly number[] | undefined;
  /** Lengths of generated texts, in tokens. Default: 32. */
  readonly generatedTokens?: readonly number[] | undefined;
  /** Tokens that are in the cache before the test starts. Default: 0. */
  readonly depths?: readonly number[] | undefined;
  /** Number of runs of each test, after one run that is not counted. Default: 5. */
  readonly repetitions?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Results of one test. */
export interface BenchRow {
  /** Name as in llama-bench: `pp512`, `tg32 @ d8192`. */
  readonly test: string;
  readonly kind: "prompt" | "generation";
  readonly tokens: number;
  readonly depth: number;
  /** Rate of each repetition. */
  readonly tokensPerSecond: readonly number[];
  /** Milliseconds from the start of each repetition to its first token. */
  readonly timeToFirstTokenMs: readonly number[];
}

type ResolvedBench = Readonly<Record<"promptTokens" | "generatedTokens" | "depths", readonly number[]>> & {
  readonly repetitions: number;
};

/**
 * Measures a model as llama-bench does: prompts of random tokens that are not cached ("pp"), and greedy texts that never end ("tg"). Tests
 * run one at a time, each after `depth` tokens. A row is yielded as soon as it is measured.
 *
 * @throws {ArgumentError} at the first step for options out of range, e.g. a test that is longer than the model's context
 */
export async function* benchModel(model: Model, options: BenchOptions = {}): AsyncGenerator<BenchRow, void, undefined> {
  check("benchModel", "model", model, modelKind);
  const { promptTokens, generatedTokens, depths, repetitions } = resolve(model, options);
  const setting: Setting = {
    repetitions,
    ids: new FreshIds(model.info.vocabSize),
    generation: { temperature: 0, repeatPenalty: 1, ignoreEos: true, reasoning: false, signal: options.signal },
  };
  for (const depth of depths) {
    for (const tokens of promptTokens) yield await benchRow(model, { kind: "prompt", tokens, depth }, setting);
    for (const tokens of generatedTokens) yield await benchRow(model, { kind: "generation", tokens, depth }, setting);
  }
}

/** What all tests share. */
interface Setting {
  readonly repetitions: number;
  readonly ids: FreshIds;
  readonly generation: GenerateOptions;
}

async function benchRow(
  model: Model,
  { kind, tokens, depth }: Pick<BenchRow, "kind" | "tokens" | "depth">,
  { repetitions, ids: fresh, generation }: Setting,
): Promise<BenchRow> {
  const session = model.createSession();
  const before = fresh.take(depth);
  const isPrompt = kind === "prompt";
  const tokensPerSecond: number[] = [];
  const timeToFirstTokenMs: number[] = [];
  try {
    for (let run = -1; run < repetitions; run++) {
      const ids = [...before, ...fresh.take(isPrompt ? tokens : 1)];
      const { usage, timings } = await session.complete({ ids }, { ...generation, maxTokens: isPrompt ? 1 : tokens + 1 });
      if (run < 0) continue;
      if (isPrompt && usage.cachedTokens > depth) {
        throw new Error(`bench: expected ${depth} cached tokens, got ${usage.cachedTokens}; this is a bug, please report it`);
      }
      // If the cache of the depth was evicted, the whole prompt was computed. The rate counts the tokens that were computed.
      tokensPerSecond.push(isPrompt ? timings.promptTokensPerSecond : timings.decodeTokensPerSecond);
      timeToFirstTokenMs.push(timings.timeToFirstTokenMs);
    }
  } finally {
    session.dispose();
  }
  const test = `${isPrompt ? "pp" : "tg"}${tokens}${depth === 0 ? "" : ` @ d${depth}`}`;
  return { test, kind, tokens, depth, tokensPerSecond, timeToFirstTokenMs };
}

/** Pseudorandom ids that do not repeat, so that no run finds its prompt in the cache. Every call of `benchModel` gets the same sequence. */
class FreshIds {
  readonly #vocabSize: number;
  #state = 1;

  constructor(vocabSize: number) {
    this.#vocabSize = vocabSize;
  }

  take(count: number): readonly number[] {
    return Array.from({ length: count }, () => {
      // The multiplier of MINSTD. Ids from 0 to 2 are special tokens in most vocabularies.
      this.#state = (this.#state * 48271) % 2147483647;
      return this.#vocabSize > 8 ? 3 + (this.#state % (this.#vocabSize - 3)) : this.#state % this.#vocabSize;
    });
  }
}

const kinds: Kinds<BenchOptions> = {
  promptTokens: listOf("numbers of tokens from 1", whole(1)),
  generatedTokens: listOf("numbers of tokens from 1", whole(1)),
  depths: listOf("numbers of tokens from 0", whole(0)),
  repetitions: whole(1),
  signal: abortSignal,
};
const modelKind = kind("a loaded model", (value) => isRecord(value) && isRecord(value.info) && typeof value.logits === "function");

function resolve({ info: { contextLength } }: Model, options: BenchOptions): ResolvedBench {
  checkOptions("benchModel", options, kinds);
  const { promptTokens = [128, 512], generatedTokens = [32], depths = [0], repetitions = 5 } = options;
  const resolved = { promptTokens, generatedTokens, depths, repetitions };
  const longest = Math.max(0, ...resolved.depths) + Math.max(...resolved.promptTokens, ...resolved.generatedTokens.map((n) => n + 1), 0);
  if (longest + 1 > contextLength) {
    throw new ArgumentError(
      "benchModel",
      `tests that fit the context of ${contextLength} tokens`,
      `one of ${longest + 1}`,
      "load the model with a longer contextLength, or ask for shorter tests",
    );
  }
  return resolved;
}
