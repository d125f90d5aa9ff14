import type { AcquireOptions } from "../cache/sequencePool.ts";
import type { ModelContext } from "../model/modelContext.ts";

/** States `[ids.length, width]` of a prompt, which the model's encoder computes. */
export async function encodePrompt(model: ModelContext, ids: readonly number[], options: AcquireOptions): Promise<Float32Array> {
  const encoder = await model.embeddingScheduler;
  return model.pool.useOnce(options, (sequence) => encoder.feed(sequence, ids, { rows: "all", signal: options.signal }));
}
