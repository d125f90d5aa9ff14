import { elementAt, lastOf } from "@centella/quant/checks";
import type { Sequence } from "../cache/sequence.ts";
import type { AnswerConstraint } from "../format/answerConstraint.ts";
import type { DraftModel, DraftSequence } from "../model/modelContext.ts";
import { exclude, logSumExp } from "../sampling/candidates.ts";
import { type DeviceSampling, deviceSampling } from "../sampling/deviceSampling.ts";
import { openChain } from "../sampling/openChain.ts";
import type { SamplingChain } from "../sampling/samplingChain.ts";
import type { RunSequence } from "../scheduler/request.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { Drafter } from "./drafter.ts";
import type { ResolvedGeneration } from "./generateOptions.ts";

/** A draft model, and the owner of the tokens that it caches. */
export interface DraftOwner {
  readonly model: DraftModel;
  readonly owner: object;
}

/** What the drafts of one text depend on. */
export interface ModelDrafterContext extends DraftOwner {
  /** The text, except for its newest token. */
  readonly target: Sequence;
  readonly tokenizer: Tokenizer;
  readonly options: Pick<ResolvedGeneration, "sampling" | "dryBreakers" | "draftTokens" | "signal">;
  /** Excludes tokens with which the text would not match its format. */
  readonly constraint: Pick<AnswerConstraint, "maskAfter"> | undefined;
}

/** Opens a drafter, which is asked after `first`. */
export async function openModelDrafter(context: ModelDrafterContext, first: Drafter | undefined): Promise<Drafter> {
  const drafter = await ModelDrafter.open(context);
  return first === undefined ? drafter : new FirstDraft([first, drafter]);
}

/** A step of a draft: tokens to append to a sequence of the draft model, and what the choice of the token after them depends on. */
interface DraftStep {
  readonly sequence: RunSequence;
  readonly ids: readonly number[];
  /** The whole text with the draft so far. */
  readonly history: readonly number[];
  readonly mask: Uint32Array | undefined;
  /** Maximum number of steps after this one. */
  readonly following: number;
}

/** Computes a step and returns the token that it chooses. Undefined if there is none, or none that is likely enough. */
type TakeStep = (step: DraftStep) => Promise<number | undefined>;

/** Computes a run that predicts a whole draft and returns the tokens that it chooses, as {@link TakeStep} does. */
type TakeBlock = (block: DraftedBlock) => Promise<readonly number[]>;

/** A draft that one run predicts. */
interface DraftedBlock extends Pick<DraftStep, "sequence" | "ids" | "history"> {
  readonly firstRow: number;
  /** Bits of the tokens that may follow the text and a part of the draft; undefined if the draft may not go on. */
  readonly maskAfter: ((draft: readonly number[]) => Uint32Array | undefined) | undefined;
}

/**
 * Drafts tokens with a smaller model of the same vocabulary (Leviathan et al., "Fast inference from transformers via speculative decoding",
 * 2023). They are sampled with the text's options, and with the random numbers that the text uses at the same positions, so that both models
 * often choose the same token. The text does not depend on the drafts: each of its tokens is sampled from the target's logits.
 *
 * Between two drafts, the text is only in the draft model's prefix cache. Rejected tokens are dropped there when the text goes on without
 * them.
 */
class ModelDrafter implements Drafter {
  readonly #context: ModelDrafterContext;
  readonly #takeStep: TakeStep;
  readonly #takeBlock: TakeBlock;
  readonly #maxLength: number;
  /** Number of tokens of the next draft: more after drafts that were accepted, fewer after those that were not. */
  #length: number;

  private constructor(context: ModelDrafterContext, takeStep: TakeStep, takeBlock: TakeBlock) {
    this.#context = context;
    this.#takeStep = takeStep;
    this.#takeBlock = takeBlock;
    this.#maxLength = context.options.draftTokens ?? context.model.tokens;
    this.#length = this.#maxLength;
  }

  static async open(context: ModelDrafterContext): Promise<ModelDrafter> {
    const {
      model,
      tokenizer,
      options: { sampling: wanted, dryBreakers, signal },
    } = context;
    const { vocabSize } = model.scheduler;
    const logitBias = Object.fromEntries(Object.entries(wanted.logitBias).filter(([id]) => Number(id) < vocabSize));
    // Mirostat adapts to the tokens that the text has.
    const options = { ...wanted, mirostat: 0, logitBias } as const;
    const sampling = model.minProbability > 0 ? undefined : deviceSampling(options);
    if (sampling !== undefined && context.constraint === undefined)
      return new ModelDrafter(context, stepOnDevice(model, sampling, signal), blockOnDevice(model, sampling, signal));
    const chain = await openChain(options, dryBreakers, tokenizer);
    const takeStep = sampling === undefined ? stepOnHost(model, chain, signal) : stepOnDevice(model, sampling, signal);
    // Which tokens may follow a token that was chosen is known on the host alone.
    return new ModelDrafter(context, takeStep, blockOnHost(model, chain, signal));
  }

  async draft(history: readonly number[], room: number): Promise<readonly number[]> {
    const {
      model,
      owner,
      target,
      options: { signal },
    } = this.#context;
    const { scheduler } = model;
    // Shorter than the history after the context was shifted.
    const text = [...target.ids, lastOf(history)];
    const count = Math.min(this.#length, room, scheduler.contextLength - text.length + 1);
    if (count < 1 || history.some((id) => id >= scheduler.vocabSize)) return [];
    const opened = await model.open(text, { owner, target, signal });
    if (opened === undefined) return [];
    try {
      return await this.#draft(opened, history, count);
    } finally {
      opened.close();
    }
  }

  adapt(drafted: number, accepted: number): void {
    this.#length = accepted === drafted ? Math.min(this.#maxLength, this.#length + 1) : accepted + 1;
  }

  async #draft({ sequence, ids, firstRow }: DraftSequence, history: readonly number[], count: number): Promise<readonly number[]> {
    const { constraint, tokenizer } = this.#context;
    if (firstRow !== undefined) {
      const maskAfter = constraint && ((chosen: readonly number[]) => constraint.maskAfter(chosen));
      const block = await this.#takeBlock({ sequence, ids, firstRow, history, maskAfter });
      const end = block.findIndex((id) => id >= tokenizer.vocabSize);
      return block.slice(0, Math.min(count, end < 0 ? count : end));
    }
    const draft: number[] = [];
    while (draft.length < count) {
      const mask = constraint?.maskAfter(draft);
      if (constraint !== undefined && mask === undefined) break;
      const id = await this.#takeStep({
        sequence,
        ids: draft.length === 0 ? ids : draft.slice(-1),
        history: [...history, ...draft],
        mask,
        following: constraint === undefined ? count - draft.length - 1 : 0,
      });
      if (id === undefined || id >= tokenizer.vocabSize) break;
      // A recurrent draft model keeps the state here, for a text that goes on without the draft.
      if (draft.length === 0) sequence.beginDraft();
      draft.push(id);
    }
    return draft;
  }
}

/** Asks several drafters in turn, until one has a draft. */
class FirstDraft implements Drafter {
  readonly #drafters: readonly Drafter[];
  /** Where the last draft came from. */
  #source: Drafter | undefined;

  constructor(drafters: readonly Drafter[]) {
    this.#drafters = drafters;
  }

  async draft(history: readonly number[], room: number): Promise<readonly number[]> {
    for (const drafter of this.#drafters) {
      const ids = await drafter.draft(history, room);
      this.#source = drafter;
      if (ids.length > 0) return ids;
    }
    return [];
  }

  adapt(drafted: number, accepted: number): void {
    this.#source?.adapt(drafted, accepted);
  }
}

/** Steps whose tokens the device chooses. */
function stepOnDevice({ scheduler }: DraftModel, sampling: DeviceSampling, signal: AbortSignal | undefined): TakeStep {
  return async ({ sequence, ids, history, mask, following }) => {
    const choice = { sampling, position: history.length, masks: mask && [mask] };
    const [id = -1] = await scheduler.feedChoosing(sequence, ids, { rows: "last", following, signal }, choice);
    return id < 0 ? undefined : id;
  };
}

/** Steps whose tokens the host chooses, because the options need the logits or a probability. */
function stepOnHost({ scheduler, minProbability }: DraftModel, chain: SamplingChain, signal: AbortSignal | undefined): TakeStep {
  return async ({ sequence, ids, history, mask }) => {
    const logits = await scheduler.feed(sequence, ids, { rows: "last", signal });
    return choose(logits, { chain, mask, history, minProbability });
  };
}

/** Drafts whose tokens the device chooses. */
function blockOnDevice({ scheduler }: DraftModel, sampling: DeviceSampling, signal: AbortSignal | undefined): TakeBlock {
  return async ({ sequence, ids, history, firstRow }) => {
    const choice = { sampling, position: history.length - firstRow };
    const chosen = [...(await scheduler.feedChoosing(sequence, ids, { rows: "all", signal }, choice))].slice(firstRow);
    const end = chosen.findIndex((id) => id < 0);
    return end < 0 ? chosen : chosen.slice(0, end);
  };
}

/** Drafts whose tokens the host chooses, one after another. */
function blockOnHost({ scheduler, minProbability }: DraftModel, chain: SamplingChain, signal: AbortSignal | undefined): TakeBlock {
  return async ({ sequence, ids, history, firstRow, maskAfter }) => {
    const { vocabSize } = scheduler;
    const logits = await scheduler.feed(sequence, ids, { rows: "all", signal });
    const draft: number[] = [];
    for (let row = firstRow; row < ids.length; row++) {
      const mask = maskAfter?.(draft);
      if (maskAfter !== undefined && mask === undefined) break;
      const own = logits.subarray(row * vocabSize, (row + 1) * vocabSize);
      const id = choose(own, { chain, mask, history: [...history, ...draft], minProbability });
      if (id === undefined) break;
      draft.push(id);
    }
    return draft;
  };
}

interface HostChoice extends Pick<DraftStep, "history" | "mask"> {
  readonly chain: SamplingChain;
  readonly minProbability: number;
}

/** The token that the host chooses by the logits, which it may change. Undefined if it is not likely enough. */
function choose(logits: Float32Array, { chain, mask, history, minProbability }: HostChoice): number | undefined {
  if (mask !== undefined) exclude(logits, mask);
  const id = chain.sample(logits, { history });
  const isLikely = minProbability === 0 || Math.exp(elementAt(logits, id) - logSumExp(logits)) >= minProbability;
  return isLikely ? id : undefined;
}
