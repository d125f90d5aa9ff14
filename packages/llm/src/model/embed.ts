import { ArgumentError, UnsupportedError } from "@centella/core";
import { checkValue, isRecord, kind, listOf } from "@centella/quant/checks";
import { ContextOverflowError, maxCountedTokens } from "../errors.ts";
import { checkIds, numberList } from "../tokenizer/tokenIds.ts";
import type { EmbedOptions } from "./measureOptions.ts";
import type { ModelContext } from "./modelContext.ts";
import { pooledStates } from "./pooledStates.ts";
import type { Pooling } from "./pooling.ts";

/** A text, which is tokenized with the special tokens that the model expects around it, or ids, which are used unchanged. */
export type EmbedInput = string | { readonly ids: ArrayLike<number> };

const textOrIds = kind("a text or { ids }", (value) => typeof value === "string" || (isRecord(value) && numberList.accepts(value.ids)));
const textList = listOf("texts or { ids }", textOrIds);

/** @throws {ContextOverflowError | ArgumentError | UnsupportedError | BusyError} */
export async function embed(model: ModelContext, inputs: readonly EmbedInput[], options: EmbedOptions): Promise<Float32Array[]> {
  checkValue("embed", inputs, textList);
  const { dimensions, signal } = options;
  const adapters = model.applied("embed", options.adapters);
  const pooling = options.pooling ?? poolingOf(model);
  const { width } = await model.embeddingScheduler;
  if (dimensions !== undefined && dimensions > width) {
    const fix = "ask for fewer, or leave the option out";
    throw new ArgumentError("embed", `dimensions to be at most ${width}, the length of the model's vectors`, dimensions.toString(), fix);
  }
  const texts: (readonly number[])[] = [];
  for (const input of inputs) texts.push(await idsOf(model, input, signal));
  const vectors = await pooledStates(model, texts, { pooling, adapters, signal });
  return vectors.map((vector) => {
    const part = dimensions === undefined ? vector : vector.slice(0, dimensions);
    return options.normalize === false ? part : normalized(part);
  });
}

/** The file's pooling. @throws {UnsupportedError} if the model ranks, so that its states were not trained to be compared */
function poolingOf({ pooling = "mean" }: ModelContext): Pooling {
  if (pooling !== "rank") return pooling;
  throw new UnsupportedError("embed", "the model is a reranker; use model.rerank(), or name a pooling if you want its states all the same");
}

async function idsOf(model: ModelContext, input: EmbedInput, signal: AbortSignal | undefined): Promise<readonly number[]> {
  const { scheduler } = model;
  const maxTokens = maxCountedTokens(scheduler.contextLength);
  const encoded = typeof input === "string" ? await model.tokenizer.encodeAsync(input, { maxTokens, signal }) : input.ids;
  const ids = checkIds(encoded, scheduler.vocabSize);
  if (ids.length > scheduler.contextLength) throw new ContextOverflowError(ids.length, scheduler.contextLength, scheduler.contextLength);
  return ids;
}

function normalized(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
