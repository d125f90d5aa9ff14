/** Natural logarithm of the probability of each id after those before it: `logits` has a row of `vocabSize` for each. The first has none. */
export function logprobsOf(logits: Float32Array, ids: readonly number[]): readonly (number | undefined)[] {
  const vocabSize = logits.length / ids.length;
  return ids.map((id, index) => {
    if (index === 0) return undefined;
    const row = logits.subarray((index - 1) * vocabSize, index * vocabSize);
    let max = Number.NEGATIVE_INFINITY;
    for (const logit of row) max = Math.max(max, logit);
    let sum = 0;
    for (const logit of row) sum += Math.exp(logit - max);
    return row[id]! - max - Math.log(sum);
  });
}

/** Colour of a probability: none for what the model expected, the colour of danger for what surprised it. */
export function heatOf(logprob: number | undefined): string {
  const surprise = logprob === undefined ? 0 : Math.min(1, -logprob / 10);
  return `color-mix(in oklab, var(--danger-soft) ${Math.round(100 * surprise)}%, var(--accent-soft))`;
}
