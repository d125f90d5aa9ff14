import { checkValue, elementAt, isRecord, kind, listOf } from "@centella/quant/checks";
import { ContextOverflowError, maxCountedTokens } from "../errors.ts";
import { checkIds, numberList } from "../tokenizer/tokenIds.ts";
import type { EmbedOptions } from "./measureOptions.ts";
import type { ModelContext } from "./modelContext.ts";
import type { Pooling } from "./pooling.ts";

/** A text, which is tokenized with the special tokens that the model expects around it, or ids, which are used unchanged. */
export type EmbedInput = string | { readonly ids: ArrayLike<number> };

const textOrIds = kind("a text or { ids }", (value) => typeof value === "string" || (isRecord(value) && numberList.accepts(value.ids)));
const textList = listOf("texts or { ids }", textOrIds);

/** @throws {ContextOverflowError | ArgumentError | BusyError} */
export async function embed(model: ModelContext, inputs: readonly EmbedInput[], options: EmbedOptions): Promise<Float32Array[]> {
  checkValue("embed", inputs, textList);
  const pooling = options.pooling ?? model.pooling ?? "mean";
  const texts: (readonly number[])[] = [];
  for (const input of inputs) texts.push(await idsOf(model, input, options.signal));
  const scheduler = await model.embeddingScheduler;
  const { pool } = model;
  return pool.useOnce(options.signal, async (sequence) => {
    const vectors: Float32Array[] = [];
    for (const ids of texts) {
      pool.next(sequence);
      const states = await scheduler.feed(sequence, ids, { rows: pooling === "last" ? "last" : "all", signal: options.signal });
      const vector = pooled(states, pooling, states.length / (pooling === "last" ? 1 : ids.length));
      vectors.push(options.normalize === false ? vector : normalized(vector));
    }
    return vectors;
  });
}

async function idsOf(model: ModelContext, input: EmbedInput, signal: AbortSignal | undefined): Promise<readonly number[]> {
  const { scheduler } = model;
  const maxTokens = maxCountedTokens(scheduler.contextLength);
  const encoded = typeof input === "string" ? await model.tokenizer.encodeAsync(input, { maxTokens, signal }) : input.ids;
  const ids = checkIds(encoded, scheduler.vocabSize);
  if (ids.length > scheduler.contextLength) throw new ContextOverflowError(ids.length, scheduler.contextLength, scheduler.contextLength);
  return ids;
}

/** `states [rows, width] -> [width]`. */
function pooled(states: Float32Array, pooling: Pooling, width: number): Float32Array {
  if (pooling !== "mean") return states.slice(0, width);
  const rows = Array.from({ length: states.length / width }, (_, row) => states.subarray(row * width, (row + 1) * width));
  return Float32Array.from({ length: width }, (_, i) => rows.reduce((sum, row) => sum + elementAt(row, i), 0) / rows.length);
}

function normalized(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
