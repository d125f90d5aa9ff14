import { elementAt } from "@centella/quant/checks";
import { random } from "./random.ts";

/**
 * Samples of one subject in one row: one list per pass over the suite. Samples of a pass were taken within moments; passes are further
 * apart.
 */
export type Passes = readonly (readonly number[])[];

/** A median with the bounds of its 95 % bootstrap interval. */
export interface Estimate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

const resamples = 1000;

/** Middle value; the mean of the two middle ones for an even count, NaN for none. */
export function median(values: readonly number[]): number {
  return medianOfSorted(Float64Array.from(values).sort());
}

/**
 * Median of all samples with its 95 % percentile bootstrap interval. Passes are drawn with replacement, then samples within each drawn
 * pass. So a machine that drifts between passes widens the interval, which independent samples would not show. Deterministic for a seed.
 */
export function estimateMedian(passes: Passes, seed: number): Estimate {
  const next = random(seed);
  const medians = new Float64Array(resamples);
  for (let i = 0; i < resamples; i++) medians[i] = medianOfSorted(Float64Array.from(draw(passes, next)).sort());
  medians.sort();
  return { median: median(passes.flat()), low: quantile(medians, 0.025), high: quantile(medians, 0.975) };
}

/**
 * Speed of `subject` relative to `other`: the median of `other[i] / subject[i]` over samples that were taken next to each other, with its
 * interval. Pairing cancels load that slowed both.
 * @throws {RangeError} unless both have the same samples in the same passes
 */
export function estimateRatio(subject: Passes, other: Passes, seed: number): Estimate {
  const pairs = subject.map((pass, p) => {
    const counterpart = other[p];
    if (counterpart?.length !== pass.length || subject.length !== other.length) {
      throw new RangeError("ratio: expected samples in pairs, got passes of different lengths; measure both in one run");
    }
    return pass.map((seconds, i) => elementAt(counterpart, i) / seconds);
  });
  return estimateMedian(pairs, seed);
}

/** Verdict of an interval about a ratio. */
export type Verdict = "faster" | "slower" | "equal";

/** "equal" means that these samples show no difference. */
export function verdictOf({ low, high }: Estimate): Verdict {
  if (low > 1) return "faster";
  return high < 1 ? "slower" : "equal";
}

/** Whether two measurements of the same thing agree: their intervals overlap. */
export function agree(a: Estimate, b: Estimate): boolean {
  return a.low <= b.high && b.low <= a.high;
}

function draw(passes: Passes, next: () => number): number[] {
  const drawn: number[] = [];
  for (let p = 0; p < passes.length; p++) {
    const pass = elementAt(passes, Math.floor(next() * passes.length));
    for (let i = 0; i < pass.length; i++) drawn.push(elementAt(pass, Math.floor(next() * pass.length)));
  }
  return drawn;
}

function medianOfSorted(sorted: Float64Array): number {
  if (sorted.length === 0) return Number.NaN;
  const middle = sorted.length >> 1;
  const upper = elementAt(sorted, middle);
  return sorted.length % 2 === 1 ? upper : (elementAt(sorted, middle - 1) + upper) / 2;
}

/** Linear interpolation between the nearest ranks. */
function quantile(sorted: Float64Array, q: number): number {
  const at = q * (sorted.length - 1);
  const below = elementAt(sorted, Math.floor(at));
  const above = elementAt(sorted, Math.ceil(at));
  return below + (above - below) * (at - Math.floor(at));
}
