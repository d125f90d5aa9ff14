import { elementAt } from "@centella/quant/checks";
import { blocksOf } from "../cache/prefixCache.ts";
import type { Sequence } from "../cache/sequence.ts";
import { textsTogether } from "../cache/sequencePool.ts";
import type { AppliedAdapters } from "../load/adapterScales.ts";
import type { OutputRows } from "../scheduler/request.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { ModelContext } from "./modelContext.ts";
import { packTexts } from "./packTexts.ts";
import type { Pooling } from "./pooling.ts";

/** How the states of texts are computed. */
export interface StatesOptions {
  readonly pooling: Pooling;
  readonly adapters: AppliedAdapters | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Computes the pooled states `[width]` of texts. Texts that fit into one run share it, and a call takes one sequence's part of the cache.
 * @throws {BusyError | DisposedError}; the signal's reason
 */
export async function pooledStates(
  model: ModelContext,
  texts: readonly (readonly number[])[],
  { pooling, adapters, signal }: StatesOptions,
): Promise<Float32Array[]> {
  const scheduler = await model.embeddingScheduler;
  const { contextLength, isRecurrent, isEncoder, batchSize } = scheduler;
  const batches = packTexts(
    texts.map(({ length }) => length),
    { tokens: batchSize, blocks: blocksOf(contextLength), texts: textsTogether(contextLength, isRecurrent) },
  );
  // States that are not read need not be computed, but those of an encoder depend on the whole text, which is computed in a single run.
  const canShare = pooling === "last" && !isEncoder;
  const rows: OutputRows = pooling === "last" ? "last" : pooling === "cls" && isEncoder ? [0] : "all";
  const owner = {};
  const vectors: Float32Array[] = [];
  try {
    for (const [i, batch] of batches.entries()) {
      const inBatch = batch.map((text) => elementAt(texts, text));
      const prefixes = inBatch.map((ids) => (canShare ? ids.slice(0, -1) : []));
      const sequences = await model.pool.acquireTogether(owner, prefixes, { adapters, signal, isAdmitted: i > 0 });
      try {
        const states = await feedAll(scheduler, sequences, inBatch, { rows, signal });
        for (const [j, text] of batch.entries()) vectors[text] = pooled(elementAt(states, j), pooling, scheduler.width);
      } finally {
        for (const sequence of sequences) model.pool.release(sequence);
      }
    }
  } finally {
    model.pool.free(owner);
  }
  return vectors;
}

/** Feeds each sequence the rest of its text, all in the same runs as far as they fit. Waits for all of them, even if one fails. */
async function feedAll(
  scheduler: Scheduler,
  sequences: readonly Sequence[],
  texts: readonly (readonly number[])[],
  options: { readonly rows: OutputRows; readonly signal: AbortSignal | undefined },
): Promise<Float32Array[]> {
  scheduler.expect(sequences.length);
  const feeds = sequences.map((sequence, i) => scheduler.feed(sequence, elementAt(texts, i).slice(sequence.ids.length), options));
  await Promise.allSettled(feeds);
  return Promise.all(feeds);
}

/** `states [rows, width] -> [width]`. */
function pooled(states: Float32Array, pooling: Pooling, width: number): Float32Array {
  if (pooling !== "mean") return states.slice(0, width);
  const rows = Array.from({ length: states.length / width }, (_, row) => states.subarray(row * width, (row + 1) * width));
  return Float32Array.from({ length: width }, (_, i) => rows.reduce((sum, row) => sum + elementAt(row, i), 0) / rows.length);
}
