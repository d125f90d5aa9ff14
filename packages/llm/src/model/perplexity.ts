import { ArgumentError, UnsupportedError } from "@centella/core";
import { checkValue, elementAt, whole } from "@centella/quant/checks";
import { checkIds } from "../tokenizer/tokenIds.ts";
import type { PerplexityOptions } from "./measureOptions.ts";
import type { ModelContext } from "./modelContext.ts";

/** A text's perplexity: `exp` of the mean negative log likelihood of its tokens. */
export interface Perplexity {
  readonly perplexity: number;
  /** Standard error of {@link perplexity}. */
  readonly error: number;
  /** Number of tokens whose likelihood counts. */
  readonly tokens: number;
  readonly chunks: number;
  readonly contextLength: number;
}

/** Rows of logits that are in memory at a time. */
const rowsAtOnce = 64;

/**
 * Measures perplexity as llama.cpp's `perplexity` does, so that figures can be compared. The text is cut into chunks of `contextLength`
 * tokens, which are computed independently. BOS replaces a chunk's first token if the model uses BOS. The second half of each chunk counts.
 * @throws {ArgumentError} if the text is shorter than a chunk; {BusyError | DisposedError}
 */
export async function perplexity(model: ModelContext, text: string | ArrayLike<number>, options: PerplexityOptions): Promise<Perplexity> {
  model.requireOwnLogits("perplexity");
  if (model.diffusion !== undefined)
    throw new UnsupportedError("perplexity", "the model fills in masked tokens, and predicts no next token");
  const { scheduler, pool } = model;
  const { signal, onProgress } = options;
  const n = checkValue("contextLength", options.contextLength ?? Math.min(512, scheduler.contextLength), whole(4, scheduler.contextLength));
  const bosId = typeof text === "string" && model.tokenizer.addBos ? model.tokenizer.bosId : undefined;
  const ids = checkIds(typeof text === "string" ? await model.tokenizer.encodeAsync(text, { signal }) : text, scheduler.vocabSize);
  const available = Math.floor(ids.length / n);
  if (available === 0)
    throw new ArgumentError("perplexity", `a text of at least ${n} tokens`, String(ids.length), "use a longer text or a smaller context");
  const total = Math.min(available, checkValue("chunks", options.chunks ?? available, whole(1)));
  const first = Math.floor(n / 2);
  let [sum, squares, tokens] = [0, 0, 0];
  const adapters = model.applied("perplexity", options.adapters);
  await pool.useOnce({ adapters, signal }, async (sequence) => {
    for (let chunk = 0; chunk < total; chunk++) {
      const part = ids.slice(chunk * n, (chunk + 1) * n);
      if (bosId !== undefined) part[0] = bosId;
      pool.next(sequence);
      await scheduler.feed(sequence, part.slice(0, first), { rows: "none", signal });
      // The last token's logits predict a token of the next chunk.
      for (let start = first; start < n - 1; start += rowsAtOnce) {
        const end = Math.min(n - 1, start + rowsAtOnce);
        const logits = await scheduler.feed(sequence, part.slice(start, end), { rows: "all", signal });
        for (let i = start; i < end; i++) {
          const row = logits.subarray((i - start) * scheduler.vocabSize, (i - start + 1) * scheduler.vocabSize);
          const surprise = -logLikelihood(row, elementAt(part, i + 1));
          sum += surprise;
          squares += surprise * surprise;
          tokens++;
        }
      }
      onProgress?.({ done: chunk + 1, total, perplexity: Math.exp(sum / tokens) });
    }
  });
  const mean = sum / tokens;
  const value = Math.exp(mean);
  const error = tokens > 1 ? value * Math.sqrt(Math.max(0, squares / tokens - mean * mean) / (tokens - 1)) : 0;
  return { perplexity: value, error, tokens, chunks: total, contextLength: n };
}

/** `ln softmax(logits)[id]`. */
function logLikelihood(logits: Float32Array, id: number): number {
  let max = Number.NEGATIVE_INFINITY;
  for (const logit of logits) max = Math.max(max, logit);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - max);
  return elementAt(logits, id) - max - Math.log(sum);
}
