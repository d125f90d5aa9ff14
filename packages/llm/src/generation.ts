import type { Decoder } from "./decoder.ts";
import { ContextOverflowError } from "./errors.ts";
import type { ResolvedGeneration } from "./generateOptions.ts";
import type { Sequence } from "./kvCache.ts";
import type { FittedPrompt, ResolvedOverflow } from "./overflow.ts";
import type { Separation } from "./reasoning.ts";
import { Chain, needsRare } from "./sampling/chain.ts";
import type { ChosenLogprob } from "./sampling/logprobs.ts";
import { type StopResult, StopStrings } from "./stopStrings.ts";
import type { TextSpan, TextSplitter } from "./textSplitter.ts";
import { TextStream } from "./tokenizer/textStream.ts";
import type { Tokenizer } from "./tokenizer/tokenizer.ts";
import { type Chooser, TokenSource } from "./tokenSource.ts";

/**
 * A piece of the answer, of what the model thinks before it, or of what it says to tools or about using them: whole characters, certainly no
 * part of a stop string.
 */
export interface GeneratedText {
  readonly type: "text" | "reasoning" | "commentary";
  readonly text: string;
  /** The tool that a commentary is for, if it is for one. */
  readonly recipient?: string;
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
  /** The whole text, without the reasoning. */
  readonly text: string;
  /** What the model thought before it, where its parts are told apart. */
  readonly reasoning?: string;
  /** What it said to tools, or about using them, where it did: a message for each, as it is written (arguments of calls are JSON mostly). */
  readonly commentary?: readonly Commentary[];
  /** Every token that was generated, the one that ended the text included. */
  readonly ids: readonly number[];
  /** Of the tokens of `ids`, with the option `logprobs`. */
  readonly logprobs?: readonly ChosenLogprob[];
  readonly promptIds: readonly number[];
  /** Repeats the generation with the same prompt and options, on the same backend and host. */
  readonly seed: number;
  readonly usage: Usage;
  readonly timings: Timings;
}

/** A message to a tool, or to the user about what will be done with tools. */
export interface Commentary {
  readonly recipient?: string;
  readonly text: string;
}

/** How far the prompt is computed, with the option `progress`: once before the first run and after each. */
export interface PrefillProgress {
  readonly type: "prefill";
  /** Prompt tokens that are in the cache. */
  readonly done: number;
  readonly total: number;
}

/** What a generation yields: text as it grows, progress of the prompt, and the end. */
export type GenerationPart = GeneratedText | PrefillProgress | GenerationFinish;

/** Tokens of a generation. */
export interface Usage {
  readonly promptTokens: number;
  /** Prompt tokens that were still in the cache and were not computed again. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Tokens that an {@link OverflowPolicy} left out, of the prompt and while generating. */
  readonly truncatedTokens: number;
  /** Messages of the chat that it left out. */
  readonly droppedMessages: number;
  /** Tokens that were guessed, with the option `promptLookup`, and those of them that came true. */
  readonly draftedTokens: number;
  readonly acceptedTokens: number;
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
  readonly prompt: FittedPrompt;
  readonly options: ResolvedGeneration;
  readonly overflow: ResolvedOverflow;
  readonly reasoning: Separation | undefined;
  /** `performance.now()` at the start of the iteration. */
  readonly startedAt: number;
}

type Ending = Pick<GenerationFinish, "reason" | "limit" | "stop">;

/** Computes the prompt as far as it is not cached, then one token after another. The sequence is valid at every moment. */
export async function* generation(context: GenerationContext): AsyncGenerator<GenerationPart, void, undefined> {
  const { decoder, tokenizer, sequence, prompt, options, overflow, startedAt } = context;
  const { sampling, signal } = options;
  const promptIds = prompt.ids;
  const history = [...promptIds];
  const text = new TextAssembly(context, history);
  const rare = needsRare(sampling) || options.logprobs !== undefined ? await import("./sampling/rare.ts") : undefined;
  const breakers = sampling.dryMultiplier === 0 ? {} : { dryBreakers: rare!.breakerSequences(tokenizer, options.dryBreakers) };
  const sampler = new Chain({ ...sampling, ...breakers }, rare);
  const choose = (logits: Float32Array): number => {
    const id = sampler.sample(logits, { history });
    if (options.logprobs !== undefined) text.logprobs.push(rare!.logprobsOf(logits, id, options.logprobs));
    return id;
  };
  const source = new TokenSource({
    decoder,
    sequence,
    history,
    choose: sampler.isGreedy && options.logprobs === undefined ? undefined : choose,
    overflow,
    promptLookup: options.promptLookup,
    signal,
  });

  const cachedTokens = sequence.ids.length;
  const promptStart = performance.now();
  const first = yield* prefill(context, source);
  const promptMs = performance.now() - promptStart;
  let timeToFirstTokenMs = 0;
  let ending: Ending | undefined;
  for await (const id of source.tokens(first)) {
    timeToFirstTokenMs ||= performance.now() - startedAt;
    history.push(id);
    if (tokenizer.isEndOfGeneration(id)) {
      ending = { reason: "eos" };
      break;
    }
    yield* text.push(id);
    if (text.stopped !== undefined) ending = { reason: "stop", stop: text.stopped };
    else if (history.length - promptIds.length >= options.maxTokens) ending = { reason: "length", limit: "maxTokens" };
    else if (source.isFull && overflow.generation === "stop") ending = { reason: "length", limit: "context" };
    else if (source.isFull && overflow.generation === "error") {
      throw new ContextOverflowError(promptIds.length, decoder.contextLength, decoder.contextLength - 1, history.length - promptIds.length);
    }
    if (ending !== undefined) break;
    signal?.throwIfAborted();
  }
  yield* text.flush();
  if (text.stopped !== undefined) ending = { reason: "stop", stop: text.stopped };

  const ids = history.slice(promptIds.length);
  const { decodeMs, draftedTokens, acceptedTokens, shiftedTokens } = source;
  yield {
    type: "finish",
    ...ending!,
    text: text.text,
    ...(context.reasoning !== undefined && { reasoning: text.reasoning }),
    ...(text.commentary.length > 0 && { commentary: text.commentary }),
    ids,
    ...(options.logprobs !== undefined && { logprobs: text.logprobs.slice(0, ids.length) }),
    promptIds,
    seed: sampling.seed,
    usage: {
      promptTokens: promptIds.length,
      cachedTokens,
      completionTokens: ids.length,
      truncatedTokens: prompt.truncatedTokens + shiftedTokens,
      droppedMessages: prompt.droppedMessages,
      draftedTokens,
      acceptedTokens,
    },
    timings: {
      promptMs,
      decodeMs,
      timeToFirstTokenMs,
      promptTokensPerSecond: rate(promptIds.length - cachedTokens, promptMs),
      decodeTokensPerSecond: rate(ids.length - 1, decodeMs),
    },
  };
}

/** Computes what is not cached of the prompt and tells how to choose the token after it. */
async function* prefill(
  { decoder, sequence, prompt, options }: GenerationContext,
  source: TokenSource,
): AsyncGenerator<PrefillProgress, Chooser, undefined> {
  const { signal, progress } = options;
  const total = prompt.ids.length;
  // In steps of the largest run, so that there is something to tell between them.
  const step = progress ? decoder.batchSize : total;
  for (;;) {
    const done = sequence.ids.length;
    if (progress) yield { type: "prefill", done, total };
    const ids = prompt.ids.slice(done, done + step);
    const isLast = done + ids.length === total;
    if (!isLast) {
      await decoder.feed(sequence, ids, { rows: "none", signal });
      continue;
    }
    const first = await source.compute(ids, { rows: "last", signal });
    if (progress) yield { type: "prefill", done: total, total };
    return first;
  }
}

/** The text of a generation: stop strings end it, reasoning is told from the answer. */
class TextAssembly {
  text = "";
  reasoning = "";
  readonly commentary: Commentary[] = [];
  stopped: string | undefined;
  readonly logprobs: ChosenLogprob[] = [];
  readonly #stops: StopStrings;
  readonly #stream: TextStream;
  readonly #splitter: TextSplitter | undefined;
  readonly #history: readonly number[];
  readonly #promptTokens: number;
  readonly #wantsLogprobs: boolean;
  #told: number;

  constructor({ tokenizer, options, reasoning, prompt }: GenerationContext, history: readonly number[]) {
    const after = prompt.ids.at(-1)!;
    this.#stops = new StopStrings(options.stop);
    const markup = reasoning?.markup ?? [];
    this.#stream = new TextStream(tokenizer, { after, ...(reasoning && { shown: spelling(tokenizer, markup) }) });
    if (reasoning !== undefined) {
      const longest = Math.max(...markup.map(({ length }) => length));
      const promptEnd = tokenizer.decode(prompt.ids.slice(-longest - 8), { skipSpecial: false });
      this.#splitter = reasoning.createSplitter(promptEnd);
    }
    this.#history = history;
    this.#promptTokens = prompt.ids.length;
    this.#told = prompt.ids.length;
    this.#wantsLogprobs = options.logprobs !== undefined;
  }

  *push(id: number): Iterable<GeneratedText> {
    yield* this.#take(this.#stops.push(this.#stream.push(id)));
  }

  /** Lets out what was held back, unless a stop string ended the text. */
  *flush(): Iterable<GeneratedText> {
    if (this.stopped === undefined) yield* this.#take(this.#stops.push(this.#stream.flush()));
    const rest = this.stopped === undefined ? this.#stops.flush() : "";
    yield* this.#parts(this.#splitter === undefined ? spansOf(rest) : [...this.#splitter.push(rest), ...this.#splitter.flush()]);
  }

  *#take({ text, stopped }: StopResult): Iterable<GeneratedText> {
    this.stopped = stopped;
    yield* this.#parts(this.#splitter?.push(text) ?? spansOf(text));
  }

  *#parts(spans: readonly TextSpan[]): Iterable<GeneratedText> {
    for (const { type, text, recipient, isFirst } of spans) {
      const to = recipient === undefined ? {} : { recipient };
      if (type !== "commentary") this[type] += text;
      else if (isFirst) this.commentary.push({ text, ...to });
      else this.commentary.push({ ...to, text: this.commentary.pop()!.text + text });
      const from = this.#told;
      this.#told = this.#history.length;
      const logprobs = this.#wantsLogprobs && {
        logprobs: this.logprobs.slice(from - this.#promptTokens, this.#told - this.#promptTokens),
      };
      yield { type, text, ...to, ids: this.#history.slice(from), ...logprobs };
    }
  }
}

function spansOf(text: string): readonly TextSpan[] {
  return text === "" ? [] : [{ type: "text", text }];
}

/** Tokens that spell markup: they have to be seen. */
function spelling(tokenizer: Tokenizer, markup: readonly string[]): ReadonlySet<number> {
  return new Set(markup.flatMap((tag) => [...tokenizer.encode(tag, { addSpecial: false, parseSpecial: true })]));
}

function rate(tokens: number, ms: number): number {
  return ms > 0 ? (tokens / ms) * 1000 : 0;
}
