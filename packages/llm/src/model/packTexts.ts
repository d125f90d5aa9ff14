import { blocksOf } from "../cache/prefixCache.ts";

/** What texts that are computed together may take. */
export interface PackLimits {
  readonly tokens: number;
  readonly blocks: number;
  readonly texts: number;
}

/**
 * Distributes texts over as few batches as a first fit in descending order of length finds. A text beyond `tokens` gets a batch of its own.
 * @returns indices of the texts of each batch
 */
export function packTexts(lengths: readonly number[], limits: PackLimits): readonly (readonly number[])[] {
  const batches: { readonly texts: number[]; tokens: number; blocks: number }[] = [];
  const order = lengths.map((tokens, text) => ({ text, tokens })).sort((a, b) => b.tokens - a.tokens);
  for (const { text, tokens } of order) {
    const blocks = blocksOf(tokens);
    const fits = (batch: (typeof batches)[number]): boolean =>
      batch.texts.length < limits.texts && batch.tokens + tokens <= limits.tokens && batch.blocks + blocks <= limits.blocks;
    let batch = batches.find(fits);
    if (batch === undefined) {
      batch = { texts: [], tokens: 0, blocks: 0 };
      batches.push(batch);
    }
    batch.texts.push(text);
    batch.tokens += tokens;
    batch.blocks += blocks;
  }
  return batches.map(({ texts }) => texts);
}
