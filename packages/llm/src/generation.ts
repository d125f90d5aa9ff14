import type { Decoder } from "./decoder.ts";
import { ContextOverflowError } from "./errors.ts";
import type { ResolvedGeneration } from "./generateOptions.ts";
import type { Sequence } from "./kvCache.ts";
import { breakerSequences } from "./sampling/dryBreakers.ts";
import { type ChosenLogprob, logprobsOf } from "./sampling/logprobs.ts";
import { Sampler } from "./sampling/sampleToken.ts";
import { StopStrings } from "./stopStrings.ts";
import { TextStream } from "./tokenizer/textStream.ts";
import type { Tokenizer } from "./tokenizer/tokenizer.ts";

/** A piece of text: whole characters, certainly no part of a stop string. */
export interface GeneratedText {
  readonly type: "text";
  readonly text: string;
  /** Tokens since the piece before. */
  readonly ids: readonly number[];
  /** Of the tokens of `ids`, with the option `logprobs`. */
  readonly logprobs?: readonly ChosenLogprob[];
}

/** The last part of a generation. */
export interface GenerationFinish {
  readonly type: "finish";
  /** "eos": the model ended its text; "stop": a stop string did; "length": `limit` was reached. */
  readonly reason: "eos" | "stop" | "length";
  /** With reason "length". */
  readonly limit?: "maxTokens" | "context";
  /** The stop string, with reason "stop". */
  readonly stop?: string;
  /** The whole text. */
  readonly text: string;
  /** Every token that was generated, the one that ended the text included. */
  readonly ids: readonly number[];
  /** Of the tokens of `ids`, with the option `logprobs`. */
  readonly logprobs?: readonly ChosenLogprob[];
  readonly promptIds: readonly number[];
  /** Repeats the generation with the same prompt and options. */
  readonly seed: number;
  readonly usage: Usage;
  readonly timings: Timings;
}

export type GenerationPart = GeneratedText | GenerationFinish;

/** Tokens of a generation. */
export interface Usage {
  readonly promptTokens: number;
  /** Prompt tokens that were still in the cache and were not computed again. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** Times of a generation, without the time that the consumer took between parts. Rates are 0 where nothing was computed. */
export interface Timings {
  /** Computing the prompt's uncached tokens. */
  readonly promptMs: number;
  /** Computing and choosing all tokens but the first. */
  readonly decodeMs: number;
  /** From the start of the iteration to the first token, tokenization included. */
  readonly timeToFirstTokenMs: number;
  readonly promptTokensPerSecond: number;
  readonly decodeTokensPerSecond: number;
}

/** What one generation works with. */
export interface GenerationContext {
  readonly decoder: Decoder;
  readonly tokenizer: Tokenizer;
  /** Holds a beginning of the prompt, but not its last token: that one's logits are wanted. */
  readonly sequence: Sequence;
  readonly promptIds: readonly number[];
  readonly options: ResolvedGeneration;
  /** `performance.now()` at the start of the iteration. */
  readonly startedAt: number;
}

type Ending = Pick<GenerationFinish, "reason" | "limit" | "stop">;

/** @throws {ContextOverflowError} if the prompt leaves no room for a token */
export function checkRoom(promptTokens: number, contextLength: number): void {
  if (promptTokens >= contextLength) throw new ContextOverflowError(promptTokens, contextLength, contextLength - 1);
}

/** Computes the prompt as far as it is not cached, then one token after another. The sequence is valid at every moment. */
export async function* generation(context: GenerationContext): AsyncGenerator<GenerationPart, void, undefined> {
  const { decoder, tokenizer, sequence, promptIds, options, startedAt } = context;
  const { sampling, signal } = options;
  const stops = new StopStrings(options.stop);
  const stream = new TextStream(tokenizer, { after: promptIds.at(-1)! });
  const history = [...promptIds];
  let text = "";
  let told = promptIds.length;
  const logprobs: ChosenLogprob[] = [];
  /** The ids since the last part, and what goes with them. */
  const pending = (): Pick<GeneratedText, "ids" | "logprobs"> => {
    const from = told;
    told = history.length;
    return {
      ids: history.slice(from),
      ...(options.logprobs !== undefined && { logprobs: logprobs.slice(from - promptIds.length) }),
    };
  };
  const sampler = new Sampler(
    sampling.dryMultiplier === 0 ? sampling : { ...sampling, dryBreakers: breakerSequences(tokenizer, options.dryBreakers) },
  );
  const choose = (logits: Float32Array): number => {
    const id = sampler.sample(logits, { history });
    if (options.logprobs !== undefined) logprobs.push(logprobsOf(logits, id, options.logprobs));
    return id;
  };
  let decodeMs = 0;

  const cachedTokens = sequence.ids.length;
  const promptStart = performance.now();
  const promptLogits = await decoder.feed(sequence, promptIds.slice(cachedTokens), { rows: "last", signal });
  const promptMs = performance.now() - promptStart;
  let id = choose(promptLogits);
  const timeToFirstTokenMs = performance.now() - startedAt;

  let ending: Ending | undefined;
  for (;;) {
    history.push(id);
    if (tokenizer.isEndOfGeneration(id)) {
      ending = { reason: "eos" };
      break;
    }
    const piece = stops.push(stream.push(id));
    if (piece.text !== "") {
      text += piece.text;
      yield { type: "text", text: piece.text, ...pending() };
    }
    ending = piece.stopped === undefined ? limitReached(history.length, context) : { reason: "stop", stop: piece.stopped };
    if (ending !== undefined) break;
    signal?.throwIfAborted();
    const stepStart = performance.now();
    id = choose(await decoder.feed(sequence, [id], { rows: "last", signal }));
    decodeMs += performance.now() - stepStart;
  }

  if (ending.reason !== "stop") {
    const rest = stops.push(stream.flush());
    if (rest.stopped !== undefined) ending = { reason: "stop", stop: rest.stopped };
    const tail = rest.text + (rest.stopped === undefined ? stops.flush() : "");
    if (tail !== "") {
      text += tail;
      yield { type: "text", text: tail, ...pending() };
    }
  }
  const ids = history.slice(promptIds.length);
  const rate = (tokens: number, ms: number): number => (ms > 0 ? (tokens / ms) * 1000 : 0);
  yield {
    type: "finish",
    ...ending,
    text,
    ids,
    ...(options.logprobs !== undefined && { logprobs }),
    promptIds,
    seed: sampling.seed,
    usage: { promptTokens: promptIds.length, cachedTokens, completionTokens: ids.length },
    timings: {
      promptMs,
      decodeMs,
      timeToFirstTokenMs,
      promptTokensPerSecond: rate(promptIds.length - cachedTokens, promptMs),
      decodeTokensPerSecond: rate(ids.length - 1, decodeMs),
    },
  };
}

function limitReached(tokens: number, { decoder, promptIds, options }: GenerationContext): Ending | undefined {
  if (tokens - promptIds.length >= options.maxTokens) return { reason: "length", limit: "maxTokens" };
  if (tokens >= decoder.contextLength) return { reason: "length", limit: "context" };
  return undefined;
}
