/** Times of one subject, in seconds. */
export interface Timing {
  readonly median: number;
  readonly best: number;
  readonly samples: number;
}

/**
 * Runs `work` until at least `minSeconds` and `minSamples` are spent, after `warmup` uncounted calls. These machines
 * are shared: quote the median, and ratios of subjects measured in the same run.
 */
export async function measure(
  work: () => Promise<unknown>,
  {
    warmup = 3,
    minSamples = 10,
    minSeconds = 0.3,
  }: { readonly warmup?: number; readonly minSamples?: number; readonly minSeconds?: number } = {},
): Promise<Timing> {
  for (let i = 0; i < warmup; i++) await work();
  const seconds: number[] = [];
  let total = 0;
  while (seconds.length < minSamples || total < minSeconds) {
    const start = performance.now();
    await work();
    const elapsed = (performance.now() - start) / 1e3;
    seconds.push(elapsed);
    total += elapsed;
  }
  seconds.sort((a, b) => a - b);
  return { median: seconds[seconds.length >> 1]!, best: seconds[0]!, samples: seconds.length };
}

/** Seeded uniform values in [-1, 1): zeros and constants run faster than real data. */
export function randomData(length: number, seed: number): Float32Array {
  let state = seed >>> 0;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}
