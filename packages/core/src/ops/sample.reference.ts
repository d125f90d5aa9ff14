import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import type { SampleParams } from "./sample.ts";
import { uniformAt } from "./shared/philox.ts";

/** Scalar definition of `sample`, which backends may also compute with. Sums are f64, in the order that the op's documentation states. */
export const sample: Reference<"sample"> = ([logits, position], params, y) => {
  const n = logits.spec.shape.at(-1)!;
  for (let row = 0; row < y.data.length; row++) {
    const candidates = candidatesOf(logits.data.subarray(row * n, (row + 1) * n) as Float32Array, row);
    y.data[row] = choose(candidates, params, uniformAt(params.seed, position.data[row]! >>> 0));
  }
};

type Candidates = readonly { readonly id: number; readonly logit: number }[];

function candidatesOf(logits: Float32Array, row: number): Candidates {
  const wrong = logits.findIndex((logit) => !(logit < Number.POSITIVE_INFINITY));
  if (wrong >= 0)
    throw new ArgumentError(
      "sample",
      "finite logits, or -Infinity to exclude one",
      `${logits[wrong]} at ${wrong} of row ${row}`,
      "check the op that computed them",
    );
  const candidates = Array.from(logits, (logit, id) => ({ id, logit })).filter(({ logit }) => logit !== Number.NEGATIVE_INFINITY);
  if (candidates.length === 0)
    throw new ArgumentError("sample", "at least one finite logit", `none in row ${row}`, "exclude fewer candidates");
  return candidates;
}

function choose(all: Candidates, { temperature, topK, topP, minP }: SampleParams, uniform: number): number {
  const order = (a: Candidates[number], b: Candidates[number]): number => b.logit - a.logit || a.id - b.id;
  const greatest = all.reduce((best, each) => (order(each, best) < 0 ? each : best));
  if (temperature === 0) return greatest.id;
  const weight = ({ logit }: Candidates[number]): number => Math.exp(logit - greatest.logit);
  let kept = topK > 0 ? all.toSorted(order).slice(0, topK) : all;
  if (topP < 1) {
    const total = kept.reduce((sum, each) => sum + weight(each), 0);
    const sorted = kept.toSorted(order);
    let sum = 0;
    const last = sorted.findIndex((each) => {
      sum += weight(each) / total;
      return sum >= topP;
    });
    kept = last < 0 ? sorted : sorted.slice(0, last + 1);
  }
  if (minP > 0) {
    const limit = Math.fround(greatest.logit + Math.log(minP));
    kept = kept.filter(({ logit }) => logit >= limit);
  }
  return pick(kept, (logit) => Math.fround((logit - greatest.logit) / temperature), uniform);
}

/** First candidate at which the running sum of probabilities exceeds `uniform`, a number in [0, 1). */
function pick(kept: Candidates, scaled: (logit: number) => number, uniform: number): number {
  const weights = kept.map(({ logit }) => Math.exp(scaled(logit)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  const at = weights.findIndex((weight) => {
    sum += weight / total;
    return uniform < sum;
  });
  // Rounding can leave the total just below `uniform`: -1 then takes the last candidate.
  return kept.at(at)!.id;
}
