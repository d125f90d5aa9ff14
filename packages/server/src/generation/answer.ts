import type { AdapterScales, GenerateOptions, GenerationFinish, GenerationPart, Prompt } from "@centella/llm";
import { ApiError } from "../errors.ts";
import type { FinishKind } from "../events.ts";
import type { Call } from "../http/route.ts";
import type { NumberedScale } from "../models/adapterList.ts";
import type { Lease } from "../models/modelEntry.ts";
import { type Slot, slotOf } from "../models/slots.ts";
import type { AnswerFinish, AnswerPart, ChoicePart } from "./answerParts.ts";
import { mergeChoices } from "./choices.ts";
import { estimatedTokens } from "./estimatedTokens.ts";
import type { Prefill } from "./prefills.ts";
import { ReadAhead } from "./readAhead.ts";
import { Reservation } from "./reservation.ts";
import { TextMeter } from "./textMeter.ts";

/** Texts to generate. */
export interface AnswerRequest {
  /** Name of the model. Default: the first one. */
  readonly model: string | undefined;
  readonly prompts: readonly Prompt[];
  readonly options: GenerateOptions;
  /** Texts for each prompt. Default 1. */
  readonly choices?: number | undefined;
  /** Lower numbers run first. Default 0. */
  readonly priority?: number | undefined;
  /** Number of the slot whose computed tokens the first text continues. Default: -1, any. */
  readonly slot?: number | undefined;
  /** Adapters by their ids in `/lora-adapters`, in the place of those that the model's name stands for. */
  readonly lora?: readonly NumberedScale[] | undefined;
  /** Milliseconds after which each text ends, once it has a line. Default: no limit. */
  readonly textMs?: number | undefined;
}

/** One or more texts that are generated for a request. Reading the parts drives the generation. */
export class Answer {
  readonly #call: Call;
  readonly #request: AnswerRequest;
  readonly #reservation: Reservation;
  readonly #parts: AsyncGenerator<ChoicePart, void, undefined>;
  readonly #slot: Slot | undefined;
  readonly #adapters: AdapterScales | undefined;
  #first: ChoicePart | undefined;
  #slotId = -1;
  #isOver = false;

  /**
   * Waits for its turn and checks the request: what this throws happened before anything was computed.
   * @throws {ApiError} for a model, prompt or option that cannot be used, and if the queue is full
   */
  static async start(call: Call, request: AnswerRequest): Promise<Answer> {
    const reservation = await Reservation.open(call, request.model);
    try {
      const answer = new Answer(call, request, reservation);
      checkBiases(request.options, reservation.lease);
      const { value } = await answer.#parts.next();
      answer.#first = value ?? undefined;
      return answer;
    } catch (error) {
      reservation.release();
      throw reservation.failure(error);
    }
  }

  private constructor(call: Call, request: AnswerRequest, reservation: Reservation) {
    this.#call = call;
    this.#request = request;
    this.#reservation = reservation;
    const { slot = -1 } = request;
    this.#slot = slot < 0 ? undefined : slotOf(reservation.lease.slots, slot, "id_slot");
    const { lora } = request;
    this.#adapters = lora === undefined ? reservation.lease.adapters : call.services.models.adapters.scalesOf(reservation.lease.name, lora);
    this.#parts = this.#run();
  }

  get lease(): Lease {
    return this.#reservation.lease;
  }

  /** Aborted when the client leaves, the time is over, or the server closes. */
  get signal(): AbortSignal {
    return this.#reservation.signal;
  }

  /** Number of the slot that has what the first text computed. -1 if none was free. */
  get slotId(): number {
    return this.#slotId;
  }

  /**
   * The parts of all texts, in the order in which they are computed. Leaving the loop ends the generation.
   * @throws {ApiError} if the generation fails
   */
  async *parts(): AsyncGenerator<ChoicePart, void, undefined> {
    try {
      if (this.#first !== undefined) yield this.#first;
      for (let next = await this.#parts.next(); !next.done; next = await this.#parts.next()) yield next.value;
      this.#isOver = true;
    } catch (error) {
      throw this.#reservation.failure(error);
    } finally {
      await this.close();
    }
  }

  /** The finish of each text. @throws as {@link parts} */
  async finishes(): Promise<readonly AnswerFinish[]> {
    const finishes: AnswerFinish[] = [];
    for await (const { choice, part } of this.parts()) if (part.type === "finish") finishes[choice] = part;
    this.#call.signal.throwIfAborted();
    return finishes;
  }

  /** The reader has everything that was computed, and asks for no more. */
  pause(): void {
    this.#reservation.pause();
  }

  resume(): void {
    this.#reservation.resume();
  }

  /** Frees everything. Ends what still runs, because its client left. */
  async close(): Promise<void> {
    if (!this.#isOver) this.#reservation.cancel();
    await this.#parts.return();
    this.#reservation.release();
  }

  /** All parts. Texts of one prompt begin once the first of them has computed it. */
  #run(): AsyncGenerator<ChoicePart, void, undefined> {
    const { prompts, choices = 1 } = this.#request;
    return mergeChoices(
      prompts.flatMap((_, prompt) =>
        Array.from({ length: choices }, (_, i) => ({ after: i === 0 ? 0 : prompt * choices, open: () => this.#text(prompt, i) })),
      ),
    );
  }

  /** One text. The first part says that the prompt fits, before it is computed. */
  async *#text(prompt: number, choice: number): AsyncGenerator<AnswerPart, void, undefined> {
    const { prompts, options, priority = 0, textMs } = this.#request;
    const { lease, signal } = this.#reservation;
    const startedAt = performance.now();
    const tokens = estimatedTokens(prompts[prompt]!, options);
    const isFirst = prompt + choice === 0;
    const named = isFirst ? this.#slot : undefined;
    const permit = await this.#reservation.permit({ priority, tokens, slot: named });
    const slot = named ?? lease.slots.takeFree();
    let finish: AnswerFinish | undefined;
    let failure: ApiError | undefined;
    let prefill: Prefill | undefined;
    try {
      if (isFirst) this.#slotId = slot?.id ?? -1;
      prefill = await lease.prefills.begin(prompts[prompt]!, permit, signal, this.#adapters);
      const { services, requestId } = this.#call;
      if (services.emitsPrompts) services.events.emit({ type: "prompt", requestId, model: lease.name, prompt: prompts[prompt]! });
      const session = lease.slots.open(slot, named !== undefined, this.#adapters);
      const meter = new TextMeter({ context: this.#call.caller.maxContext, textMs }, signal);
      const generated = session.generate(prompts[prompt]!, { ...this.#options(options, choice), signal: meter.signal });
      for await (const part of aheadOf(generated, meter, prefill)) {
        if (part.type !== "finish") yield part;
        else {
          const kind = this.#reservation.isCancelled ? "cancelled" : kindOf(part);
          finish = { ...part, kind, reasoningTokens: meter.reasoningTokens };
          lease.confirm();
          yield finish;
        }
      }
    } catch (error) {
      failure = this.#reservation.failure(error);
      throw failure;
    } finally {
      if (prefill !== undefined) lease.prefills.end(prefill);
      if (slot !== undefined) lease.slots.release(slot, finish?.usage);
      this.#reservation.end(permit);
      const { requestId, route, services, traceparent } = this.#call;
      const kind = finish?.kind ?? unfinishedKind(failure);
      const { usage, timings } = finish ?? {};
      const durationMs = performance.now() - startedAt;
      const { queueMs } = permit;
      const text = { requestId, route, model: lease.name, finish: kind, queueMs, durationMs, usage, timings, traceparent };
      services.events.emit({ type: "finished", ...text });
    }
  }

  #options(options: GenerateOptions, choice: number): GenerateOptions {
    const { maxTokens: cap = Number.MAX_SAFE_INTEGER } = this.#call.caller;
    const { defaults } = this.#call.services;
    const { maxTokens = cap, seed } = { ...defaults, ...options };
    const most = Math.min(maxTokens, cap);
    return {
      ...defaults,
      ...options,
      ...(most < Number.MAX_SAFE_INTEGER && { maxTokens: most }),
      // Texts of one seed would be the same.
      ...(seed !== undefined && { seed: seed + choice }),
      progress: true,
      onAbort: "keep",
    };
  }
}

/** The parts of a text, read ahead after the first text: that is sent before a further one is computed. */
function aheadOf(parts: AsyncGenerator<GenerationPart, void, undefined>, meter: TextMeter, prefill: Prefill): ReadAhead<GenerationPart> {
  let hasText = false;
  return new ReadAhead(parts, (part) => {
    meter.count(part);
    prefill.record(part);
    const mayReadAhead = hasText;
    hasText ||= part.type !== "prefill";
    return mayReadAhead;
  });
}

/** @throws {ApiError} 400 for a token that the model does not have */
function checkBiases({ logitBias = {} }: GenerateOptions, { model }: Lease): void {
  const { vocabSize } = model.info;
  const unknown = Object.keys(logitBias).find((id) => !(Number(id) < vocabSize));
  if (unknown === undefined) return;
  throw new ApiError(400, "invalid_value", `logit_bias: expected ids of tokens below ${vocabSize}, got ${unknown}`, {
    param: "logit_bias",
  });
}

function kindOf({ reason }: GenerationFinish): FinishKind {
  if (reason === "toolCalls") return "tool_calls";
  return reason === "eos" || reason === "stop" ? "stop" : "length";
}

/** Why a text has no last part. */
function unfinishedKind(failure: ApiError | undefined): FinishKind {
  if (failure === undefined || failure.code === "cancelled") return "cancelled";
  return failure.status < 500 ? "refused" : "error";
}
