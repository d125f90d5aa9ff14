import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import { chosenSum, distanceOf, leastTemperature, minPWeight, randomWord, topPSum, weightOf } from "./shared/sampling.ts";

/** Scalar definition of `sample`. */
export const sample: Reference<"sample"> = ([logits, position, seed, temperature, topK, topP, minP, mask, maskRow], _params, y) => {
  const n = logits.spec.shape.at(-1)!;
  const words = Math.ceil(n / 32);
  for (let row = 0; row < y.data.length; row++) {
    const start = (maskRow?.data[row] ?? -1) * words;
    const isMasked = mask !== undefined && start >= 0 && start < mask.data.length;
    const allowed = isMasked ? (mask.data.subarray(start, start + words) as Int32Array) : undefined;
    const candidates = candidatesOf(logits.data.subarray(row * n, (row + 1) * n) as Float32Array, allowed, row);
    const options = { temperature: temperature.data[row]!, topK: topK.data[row]!, topP: topP.data[row]!, minP: minP.data[row]! };
    const random = randomWord([seed.data[2 * row]!, seed.data[2 * row + 1]!], position.data[row]!);
    y.data[row] = choose(candidates, options, random);
  }
};

interface Candidate {
  readonly id: number;
  readonly logit: number;
}

interface Options {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
}

function candidatesOf(logits: Float32Array, mask: Int32Array | undefined, row: number): readonly Candidate[] {
  const isAllowed = (id: number): boolean => mask === undefined || ((mask[id >> 5]! >>> (id & 31)) & 1) === 1;
  const allowed = Array.from(logits, (logit, id): Candidate => ({ id, logit })).filter(({ id }) => isAllowed(id));
  const wrong = allowed.find(({ logit }) => !(logit < Number.POSITIVE_INFINITY));
  if (wrong !== undefined)
    throw new ArgumentError(
      "sample",
      "finite logits, or -Infinity to exclude one",
      `${wrong.logit} at ${wrong.id} of row ${row}`,
      "check the op that computed them",
    );
  const candidates = allowed.filter(({ logit }) => logit !== Number.NEGATIVE_INFINITY);
  if (candidates.length === 0)
    throw new ArgumentError("sample", "at least one candidate with a finite logit", `none in row ${row}`, "exclude fewer candidates");
  return candidates;
}

function choose(all: readonly Candidate[], { temperature, topK, topP, minP }: Options, random: number): number {
  const sorted = all.toSorted((a, b) => b.logit - a.logit || a.id - b.id);
  const greatest = sorted[0]!;
  if (!(temperature >= leastTemperature)) return greatest.id;
  const plain = ({ logit }: Candidate): number => weightOf(distanceOf(greatest.logit, logit, 1));
  let kept = topK > 0 ? sorted.slice(0, topK) : sorted;
  if (topP < 1) {
    const enough = topPSum(total(kept, plain), topP);
    let sum = 0;
    const last = kept.findIndex((each) => {
      sum += plain(each);
      return sum >= enough;
    });
    kept = kept.slice(0, last + 1);
  }
  kept = kept.filter((each) => plain(each) >= minPWeight(minP));
  const tempered = ({ logit }: Candidate): number => weightOf(distanceOf(greatest.logit, logit, temperature));
  const limit = chosenSum(total(kept, tempered), random);
  let sum = 0;
  const inOrder = kept.toSorted((a, b) => a.id - b.id);
  return inOrder.find((each) => {
    sum += tempered(each);
    return sum > limit;
  })!.id;
}

function total(candidates: readonly Candidate[], weight: (each: Candidate) => number): number {
  return candidates.reduce((sum, each) => sum + weight(each), 0);
}
