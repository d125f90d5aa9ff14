import { UnsupportedError } from "@centella/core";
import type { PartialJson } from "@centella/grammar";
import type { Sequence } from "../cache/sequence.ts";
import type { Answer } from "../chat/conversation.ts";
import type { Separation } from "../chat/reasoning.ts";
import { ContextOverflowError } from "../errors.ts";
import type { AnswerConstraint } from "../format/answerConstraint.ts";
import type { DiffusionShape } from "../load/modelShape.ts";
import { deviceSampling, requireChoice } from "../sampling/deviceSampling.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { CallCollector } from "../tools/callCollector.ts";
import { DecodeLoop, type RowSampler, type TokenSampler } from "./decodeLoop.ts";
import type { Drafter } from "./drafter.ts";
import type { ResolvedGeneration } from "./generateOptions.ts";
import type { GenerationFinish, GenerationPart, PrefillProgress } from "./generationParts.ts";
import type { DraftOwner } from "./modelDrafter.ts";
import type { FittedPrompt, ResolvedOverflow } from "./overflow.ts";
import type { ReasoningBudget } from "./reasoningBudget.ts";
import { TextAssembly } from "./textAssembly.ts";

/** Inputs of one generation. */
export interface GenerationContext {
  readonly scheduler: Scheduler;
  readonly tokenizer: Tokenizer;
  /** Waits for a sequence that holds a prefix of the prompt, without its last token, whose logits are needed. */
  readonly openSequence: () => Promise<Sequence>;
  /** How the model fills in masked tokens, if it does. */
  readonly diffusion: DiffusionShape | undefined;
  /** The beginning of the text. */
  readonly prompt: FittedPrompt;
  /** Ids of the prompt that was given: of the text's beginning, or those that an encoder has read. */
  readonly given: readonly number[];
  readonly options: ResolvedGeneration;
  readonly overflow: ResolvedOverflow;
  readonly reasoning: Separation | undefined;
  /** Excludes tokens with which the answer would not match the format. */
  readonly constraint: AnswerConstraint | undefined;
  /** The model that drafts tokens, if there is one, and the owner of what it caches. */
  readonly draft: DraftOwner | undefined;
  /** Finds calls of tools in the answer. */
  readonly calls: CallCollector | undefined;
  /** Reads the value of the beginning of an answer, if parts report it. */
  readonly partial: PartialJson | undefined;
  /** Text of the message that the answer continues. */
  readonly begun: string | undefined;
  /** See {@link GenerationFinish}. */
  readonly warnings: readonly string[];
  /** `performance.now()` at the start of the iteration. */
  readonly startedAt: number;
}

/** Generates the tokens of a text. */
interface TokenSource {
  readonly loop: TokenLoop;
  readonly tokens: AsyncGenerator<number, void, undefined>;
}

/** The state of a loop that generates tokens. */
type TokenLoop = Pick<DecodeLoop, "isFull" | "decodeMs" | "draftedTokens" | "acceptedTokens" | "shiftedTokens">;

type Ending = Pick<GenerationFinish, "reason" | "limit" | "stop">;

/** Computes the uncached part of the prompt, then one token after another. The sequence is valid at every moment. */
export class Generation {
  readonly #context: GenerationContext;
  /** Ids of the prompt and of the generated text. */
  readonly #history: number[];
  readonly #text: TextAssembly;
  #sequence: Sequence | undefined;
  #loop: TokenLoop | undefined;
  #cachedTokens = 0;
  #prefilledTokens = 0;
  #promptMs = 0;
  #timeToFirstTokenMs = 0;

  constructor(context: GenerationContext) {
    this.#context = context;
    this.#history = [...context.prompt.ids];
    this.#text = new TextAssembly(context, this.#history);
  }

  /** The sequence that the generation runs on; undefined until one is acquired. */
  get sequence(): Sequence | undefined {
    return this.#sequence;
  }

  /** The answer, up to the last part that was read, including the text of the message that it continues. */
  get answer(): Answer {
    return this.#text.answer;
  }

  async *parts(): AsyncGenerator<GenerationPart, void, undefined> {
    const { tokenizer, options, startedAt } = this.#context;
    let ending: Ending | undefined;
    try {
      const { loop, tokens } = yield* this.#begin();
      for await (const id of tokens) {
        this.#timeToFirstTokenMs ||= performance.now() - startedAt;
        this.#history.push(id);
        const isEnd = !options.ignoreEos && tokenizer.isEndOfGeneration(id);
        // yield* would await each part, and the end of the list.
        if (!isEnd) for (const part of this.#text.push(id)) yield part;
        ending = isEnd ? { reason: "eos" } : this.#ending(loop);
        if (ending !== undefined) break;
        options.signal?.throwIfAborted();
      }
      ending ??= { reason: "length", limit: "maxTokens" };
    } catch (error) {
      const { onAbort, signal } = options;
      if (onAbort === "discard" || signal?.aborted !== true || error !== signal.reason) throw error;
      ending = { reason: "aborted" };
    }
    yield* this.#text.flush();
    const { stopped } = this.#text;
    if (stopped !== undefined) ending = { reason: "stop", stop: stopped };
    const hasCalls = ending.reason === "eos" && this.#text.toolCalls.length > 0;
    yield this.#finish(hasCalls ? { reason: "toolCalls" } : ending);
  }

  async *#begin(): AsyncGenerator<PrefillProgress, TokenSource, undefined> {
    const { options, openSequence, diffusion } = this.#context;
    options.signal?.throwIfAborted();
    const sequence = await openSequence();
    this.#sequence = sequence;
    return diffusion === undefined ? yield* this.#decode(sequence) : this.#fill(sequence);
  }

  /** Computes the prompt, then one token after another. */
  async *#decode(sequence: Sequence): AsyncGenerator<PrefillProgress, TokenSource, undefined> {
    const { scheduler, options, overflow } = this.#context;
    if (options.diffusion !== undefined) throw new UnsupportedError("diffusion", "the model generates one token after another");
    const sampler = await this.#sampler();
    const { maxTokens, signal } = options;
    const drafter = await this.#drafter(sequence);
    const loop = new DecodeLoop({ scheduler, sequence, history: this.#history, sampler, overflow, maxTokens, drafter, signal });
    this.#loop = loop;
    const first = yield* this.#timedPrefill(sequence, loop);
    return { loop, tokens: loop.tokens(first) };
  }

  /** Fills in masked tokens after the prompt. The code is loaded on demand. */
  async #fill(sequence: Sequence): Promise<TokenSource> {
    const { openDiffusion } = await import("./diffusionLoop.ts");
    const loop = await openDiffusion({ ...this.#context, sequence });
    this.#loop = loop;
    return { loop, tokens: loop.tokens() };
  }

  /** Returns why the text ends with the last token, or undefined. @throws {ContextOverflowError} if a full context is an error */
  #ending(loop: TokenLoop): Ending | undefined {
    const { scheduler, prompt, options, overflow } = this.#context;
    const { stopped } = this.#text;
    const count = this.#history.length - prompt.ids.length;
    if (stopped !== undefined) return { reason: "stop", stop: stopped };
    if (count >= options.maxTokens) return { reason: "length", limit: "maxTokens" };
    if (!loop.isFull || overflow.generation === "shift") return undefined;
    if (overflow.generation === "stop") return { reason: "length", limit: "context" };
    throw new ContextOverflowError(prompt.ids.length, scheduler.contextLength, scheduler.contextLength - 1, count);
  }

  /** Drafts tokens that the format forces, that the text repeats, or that another model expects. */
  async #drafter(sequence: Sequence): Promise<Drafter | undefined> {
    const { options, constraint, scheduler, draft } = this.#context;
    const { promptLookup, draftTokens, jumpForward } = options;
    const lookup = promptLookup > 0 ? new (await import("./promptLookup.ts")).PromptLookup(promptLookup) : undefined;
    const other = draft === undefined || draftTokens === 0 ? lookup : await this.#modelDrafter(draft, sequence, lookup);
    if (constraint === undefined) return other;
    return constraint.drafter({
      forces: jumpForward,
      other,
      sequences: () => scheduler.sequencesInRun,
      isAhead: () => scheduler.defersChoices,
    });
  }

  async #modelDrafter(draft: DraftOwner, target: Sequence, lookup: Drafter | undefined): Promise<Drafter> {
    const { openModelDrafter } = await import("./modelDrafter.ts");
    return openModelDrafter({ ...this.#context, ...draft, target }, lookup);
  }

  /** Tokens are chosen on the device, unless an option needs their logits. */
  async #sampler(): Promise<TokenSampler> {
    const { options, constraint } = this.#context;
    const budget = await this.#budget();
    /** The budget's token, or else the chosen one. */
    const settle = (choose: () => number): number => {
      const id = budget?.next() ?? choose();
      constraint?.accept(id);
      budget?.accept(id);
      return id;
    };
    const sampling = options.logprobs === undefined ? deviceSampling(options.sampling) : undefined;
    if (sampling === undefined) return { kind: "host", sample: await this.#hostSampler(settle) };
    const masks = constraint && ((draft: readonly number[]) => constraint.masks(draft));
    const choose = (chosen: number): number => {
      // A place where the format allows nothing has an error of its own.
      if (chosen < 0) constraint?.mask();
      return requireChoice(chosen);
    };
    const maskAfter = constraint && ((id: number) => constraint.maskAfterNext(id));
    return { kind: "device", sampling, masks, maskAfter, settle: (chosen) => settle(() => choose(chosen)) };
  }

  /** Returns a function that samples tokens by their logits. */
  async #hostSampler(settle: (choose: () => number) => number): Promise<(logits: Float32Array) => number> {
    const { tokenizer, options, constraint } = this.#context;
    const { logprobs, dryBreakers } = options;
    const { openChain } = await import("../sampling/openChain.ts");
    const chain = await openChain(options.sampling, dryBreakers, tokenizer);
    const place = { history: this.#history };
    const sample = (logits: Float32Array): number => settle(() => chain.sample(constraint?.masked(logits) ?? logits, place));
    if (logprobs === undefined) return sample;
    const { logprobsOf } = await import("../sampling/logprobs.ts");
    return (logits) => {
      const id = sample(logits);
      this.#text.logprobs.push(logprobsOf(logits, id, logprobs));
      return id;
    };
  }

  /** Ends the reasoning after a number of tokens. The code is loaded on demand. */
  async #budget(): Promise<ReasoningBudget | undefined> {
    const { tokenizer, options, reasoning, prompt } = this.#context;
    const { budget } = options.control ?? {};
    if (budget === undefined || reasoning === undefined) return undefined;
    const { ReasoningBudget } = await import("./reasoningBudget.ts");
    return new ReasoningBudget(tokenizer, reasoning.format, { budget, promptIds: prompt.ids });
  }

  async *#timedPrefill(sequence: Sequence, loop: DecodeLoop): AsyncGenerator<PrefillProgress, RowSampler, undefined> {
    this.#cachedTokens = sequence.ids.length;
    const start = performance.now();
    try {
      return yield* this.#prefill(sequence, loop);
    } finally {
      this.#promptMs = performance.now() - start;
      this.#prefilledTokens = sequence.ids.length - this.#cachedTokens;
    }
  }

  /** Computes the uncached part of the prompt. @returns a sampler of the first token */
  async *#prefill(sequence: Sequence, loop: DecodeLoop): AsyncGenerator<PrefillProgress, RowSampler, undefined> {
    const { scheduler, prompt, options } = this.#context;
    const { signal, progress } = options;
    const total = prompt.ids.length;
    // One run per step, to report progress between the runs.
    const step = progress ? scheduler.batchSize : total;
    for (;;) {
      const done = sequence.ids.length;
      if (progress) yield { type: "prefill", done, total };
      const ids = prompt.ids.slice(done, done + step);
      const isLast = done + ids.length === total;
      if (!isLast) {
        await scheduler.feed(sequence, ids, { rows: "none", signal });
        continue;
      }
      const first = await loop.computeLast(ids);
      if (progress) yield { type: "prefill", done: total, total };
      return first;
    }
  }

  #finish(ending: Ending): GenerationFinish {
    const { prompt, given, options, warnings, constraint } = this.#context;
    const { text, reasoning, commentary, toolCalls, logprobs } = this.#text;
    const ids = this.#history.slice(prompt.ids.length);
    const { decodeMs = 0, draftedTokens = 0, acceptedTokens = 0, shiftedTokens = 0 } = this.#loop ?? {};
    return {
      type: "finish",
      ...ending,
      text,
      ...(this.#context.reasoning !== undefined && { reasoning }),
      ...(commentary.length > 0 && { commentary }),
      ...(toolCalls.length > 0 && { toolCalls }),
      ids,
      ...(options.logprobs !== undefined && { logprobs: logprobs.slice(0, ids.length) }),
      ...(toolCalls.length === 0 && constraint?.outcome(text, ending.reason === "eos")),
      promptIds: given,
      seed: options.sampling.seed,
      ...(warnings.length > 0 && { warnings }),
      usage: {
        promptTokens: given.length,
        cachedTokens: this.#cachedTokens,
        completionTokens: ids.length,
        truncatedTokens: prompt.truncatedTokens + shiftedTokens,
        droppedMessages: prompt.droppedMessages,
        draftedTokens,
        acceptedTokens,
      },
      timings: {
        promptMs: this.#promptMs,
        decodeMs,
        timeToFirstTokenMs: this.#timeToFirstTokenMs,
        promptTokensPerSecond: rate(this.#prefilledTokens, this.#promptMs),
        decodeTokensPerSecond: rate(ids.length - 1, decodeMs),
      },
    };
  }
}

function rate(count: number, ms: number): number {
  return ms > 0 && count > 0 ? (count / ms) * 1000 : 0;
}
