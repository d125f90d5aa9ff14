import { ArgumentError, UnsupportedError } from "@centella/core";
import { uniformAt } from "@centella/core/backend";
import { checkOptions, elementAt, type Kinds, number, oneOf, whole } from "@centella/quant/checks";
import type { Sequence } from "../cache/sequence.ts";
import { ModelError } from "../errors.ts";
import type { AnswerConstraint } from "../format/answerConstraint.ts";
import type { DiffusionShape } from "../load/modelShape.ts";
import { openChain } from "../sampling/openChain.ts";
import type { SamplingChain } from "../sampling/samplingChain.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { DiffusionOptions } from "./diffusionOptions.ts";
import type { ResolvedGeneration } from "./generateOptions.ts";
import type { FittedPrompt } from "./overflow.ts";

/** Tokens of an answer whose length is not given. */
const defaultLength = 256;
const defaultBlockLength = 32;

/** Stream of the random numbers of the order "random". Choices of tokens use stream 0, and XTC stream 1. */
const orderStream = 2;

const kinds: Kinds<DiffusionOptions> = {
  steps: whole(1),
  blockLength: whole(1),
  epsilon: number,
  order: oneOf("confidence", "entropy", "margin", "random"),
};

/** Inputs of a {@link DiffusionLoop}. */
export interface DiffusionContext {
  readonly scheduler: Scheduler;
  readonly tokenizer: Tokenizer;
  readonly sequence: Sequence;
  readonly prompt: FittedPrompt;
  readonly options: ResolvedGeneration;
  /** What excludes tokens, which no such text can have. */
  readonly constraint: AnswerConstraint | undefined;
  readonly diffusion: DiffusionShape | undefined;
}

/** @throws {ArgumentError | UnsupportedError} for options that do not apply; {ModelError} if the file names no token for masks */
export async function openDiffusion(context: DiffusionContext): Promise<DiffusionLoop> {
  const { options, constraint } = context;
  const { epsilon, blockLength } = checkOptions("generate.diffusion", options.diffusion ?? {}, kinds);
  if (epsilon !== undefined && (blockLength !== undefined || !(epsilon >= 0 && epsilon < 1)))
    throw new ArgumentError(
      "generate.diffusion",
      "epsilon from 0 to below 1, without blockLength",
      String(epsilon),
      "leave one of them out",
    );
  const reason = "the model fills in the tokens of a text in any order";
  if (constraint !== undefined) throw new UnsupportedError("format and tools", reason);
  if (options.logprobs !== undefined) throw new UnsupportedError("logprobs", reason);
  return new DiffusionLoop(context, await openChain(options.sampling, options.dryBreakers, context.tokenizer));
}

/** Positions that are filled in before those after them. */
interface Block {
  readonly start: number;
  readonly end: number;
  /** For each step, the number of tokens to fill in, of those that are still masked. */
  readonly counts: readonly ((masked: number) => number)[];
}

/** A token for a masked position. */
interface Choice {
  readonly position: number;
  readonly id: number;
  readonly confidence: number;
}

/**
 * Fills in masked tokens after a prompt, as llama.cpp's `diffusion-cli` does: each step computes the whole text, chooses a token for every
 * masked position of a block, and keeps those that it is surest of. The tokens of a block are yielded once all of them are known.
 */
export class DiffusionLoop {
  readonly #context: DiffusionContext;
  readonly #chain: SamplingChain;
  readonly #shape: { readonly maskId: number; readonly shiftsLogits: boolean };
  /** The prompt, and the tokens after it. */
  readonly #ids: number[];
  #given = 0;
  decodeMs = 0;
  readonly draftedTokens = 0;
  readonly acceptedTokens = 0;
  readonly shiftedTokens = 0;

  constructor(context: DiffusionContext, chain: SamplingChain) {
    const { diffusion, prompt, options, scheduler } = context;
    const { maskId = -1, shiftsLogits = true } = diffusion ?? {};
    if (!whole(0, scheduler.vocabSize - 1).accepts(maskId))
      throw new ModelError(
        `metadata: expected tokenizer.ggml.mask_token_id from 0 to ${scheduler.vocabSize - 1}, got ${diffusion?.maskId ?? "none"}; convert the model again`,
      );
    this.#context = context;
    this.#chain = chain;
    this.#shape = { maskId, shiftsLogits };
    const wanted = options.maxTokens === Number.MAX_SAFE_INTEGER ? defaultLength : options.maxTokens;
    const length = Math.min(wanted, scheduler.contextLength - prompt.ids.length);
    this.#ids = [...prompt.ids, ...new Array<number>(length).fill(maskId)];
  }

  /** Whether the text ends with the context. */
  get isFull(): boolean {
    return this.#given === this.#context.scheduler.contextLength;
  }

  async *tokens(): AsyncGenerator<number, void, undefined> {
    const { prompt, options } = this.#context;
    this.#given = prompt.ids.length;
    let step = 0;
    for (const { start, end, counts } of blocksOf(this.#given, this.#ids.length, options.diffusion ?? {})) {
      const began = performance.now();
      for (const countOf of counts) {
        const masked = this.#maskedBetween(start, end);
        const count = countOf(masked.length);
        // A step that keeps nothing changes nothing.
        if (count > 0) await this.#fill(masked, count, step);
        step++;
      }
      this.decodeMs += performance.now() - began;
      for (const id of this.#ids.slice(start, end)) {
        this.#given++;
        yield id;
      }
    }
  }

  #maskedBetween(start: number, end: number): readonly number[] {
    return Array.from({ length: end - start }, (_, i) => start + i).filter((position) => this.#ids[position] === this.#shape.maskId);
  }

  /** Fills in the `count` masked positions whose tokens are surest, and of equals the first ones. */
  async #fill(masked: readonly number[], count: number, step: number): Promise<void> {
    const { scheduler, sequence, options } = this.#context;
    const { maskId, shiftsLogits } = this.#shape;
    const rows = masked.map((position) => (shiftsLogits ? Math.max(0, position - 1) : position));
    const known = this.#ids.filter((id) => id !== maskId);
    const choices: Choice[] = [];
    await eachLogits(scheduler, sequence, { ids: this.#ids, rows, signal: options.signal }, (logits, row) => {
      choices.push(this.#choose(logits, elementAt(masked, row), known, step));
    });
    choices.sort((a, b) => b.confidence - a.confidence || a.position - b.position);
    for (const { position, id } of choices.slice(0, count)) this.#ids[position] = id;
  }

  /** Chooses a token for a position, by logits that are changed: a mask is no token. */
  #choose(logits: Float32Array, position: number, known: readonly number[], step: number): Choice {
    const { seed } = this.#context.options.sampling;
    const { order = "confidence" } = this.#context.options.diffusion ?? {};
    logits[this.#shape.maskId] = Number.NEGATIVE_INFINITY;
    const draw = step * this.#ids.length + position;
    const id = this.#chain.sample(logits, { history: known, position: draw });
    return { position, id, confidence: order === "random" ? uniformAt(seed, draw, orderStream) : confidenceOf(logits, id, order) };
  }
}

/** The blocks of the positions from `start` to `end`. */
function blocksOf(start: number, end: number, { steps = end - start, blockLength, epsilon }: DiffusionOptions): readonly Block[] {
  if (epsilon !== undefined)
    return [{ start, end, counts: Array.from({ length: steps }, (_, step) => (masked) => shareOf(masked, step, steps, epsilon)) }];
  const length = blockLength ?? defaultBlockLength;
  const blocks = Math.ceil((end - start) / length);
  const perBlock = Math.max(1, Math.floor(steps / blocks));
  return Array.from({ length: blocks }, (_, block) => {
    const from = start + block * length;
    const to = Math.min(end, from + length);
    const [each, more] = [Math.floor((to - from) / perBlock), (to - from) % perBlock];
    return { start: from, end: to, counts: Array.from({ length: perBlock }, (_, step) => () => each + (step < more ? 1 : 0)) };
  });
}

/** Number of tokens of a step between two of the times that fall evenly from 1 to `epsilon`; in f32, as llama.cpp computes it. */
function shareOf(masked: number, step: number, steps: number, epsilon: number): number {
  if (step === steps - 1) return masked;
  const f32 = Math.fround;
  const timeAt = (n: number): number => f32(1 - f32(f32(n / steps) * f32(1 - f32(epsilon))));
  return Math.trunc(f32(masked * f32(1 - f32(timeAt(step + 1) / timeAt(step)))));
}

/** How sure a model with these logits is of a token, by its distribution before any sampling option. */
export function confidenceOf(logits: Float32Array, id: number, order: "confidence" | "entropy" | "margin"): number {
  const best = logits.indexOf(logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY));
  const max = elementAt(logits, best);
  let [total, weighted, second] = [0, 0, 0];
  for (const [other, logit] of logits.entries()) {
    const weight = Math.exp(logit - max);
    total += weight;
    if (weight > 0) weighted += weight * (logit - max);
    if (other !== best) second = Math.max(second, weight);
  }
  if (order === "confidence") return Math.exp(elementAt(logits, id) - max) / total;
  return order === "margin" ? (1 - second) / total : weighted / total - Math.log(total);
}

/** A text and its rows whose logits are needed. */
interface TextRows {
  readonly ids: readonly number[];
  readonly rows: readonly number[];
  readonly signal: AbortSignal | undefined;
}

/** Calls `visit` with the logits of each of the rows, in as many runs of the whole text as they need. */
async function eachLogits(
  scheduler: Scheduler,
  sequence: Sequence,
  { ids, rows, signal }: TextRows,
  visit: (logits: Float32Array, row: number) => void,
): Promise<void> {
  const { vocabSize, maxVerifiedTokens: most } = scheduler;
  for (let start = 0; start < rows.length; start += most) {
    const some = rows.slice(start, start + most);
    sequence.restart([]);
    const logits = await scheduler.feed(sequence, ids, { rows: some, signal });
    for (const i of some.keys()) visit(logits.subarray(i * vocabSize, (i + 1) * vocabSize), start + i);
  }
  sequence.restart([]);
}

/** Logits of all tokens of a text that is computed in single runs: `[ids.length, vocabSize]`. */
export async function allLogits(
  scheduler: Scheduler,
  sequence: Sequence,
  ids: readonly number[],
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  const { vocabSize } = scheduler;
  const all = new Float32Array(ids.length * vocabSize);
  await eachLogits(scheduler, sequence, { ids, rows: [...ids.keys()], signal }, (logits, row) => all.set(logits, row * vocabSize));
  return all;
}
