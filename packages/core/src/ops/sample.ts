import { ArgumentError } from "../errors.ts";
import type { Op } from "../op.ts";
import { byteLength, elementCount, type Shape } from "../spec.ts";
import { requireExtent, requireFromZero, requireNumber, requireShape, requireWhole, resolveAxis } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { uniformAt } from "./shared/philox.ts";

export interface SampleParams {
  /** A whole number from 0; the same seed, position and logits give the same choice everywhere. */
  readonly seed: number;
  /** Divides the logits; 0 takes the greatest always. */
  readonly temperature: number;
  /** Keeps the k greatest logits; 0 keeps all. */
  readonly topK: number;
  /** Keeps the most likely whose probabilities add up to p, at least one; 1 keeps all. */
  readonly topP: number;
  /** Keeps those that are at least p times as likely as the most likely one; 0 keeps all. */
  readonly minP: number;
}

type Candidates = readonly { readonly id: number; readonly logit: number }[];

/**
 * Chooses an index of each row by its probability, `softmax` of the row over `temperature`, after top-k, top-p and min-p in this
 * order (llama.cpp's): the first candidate at which the running sum of probabilities exceeds the random number. Candidates stand in
 * the order of falling logits (equal ones by index) where top-k or top-p sorts them, else by index. The random number is
 * {@link uniformAt} of the seed and the row's position, so that any step can be repeated alone.
 * `logits [..., n] f32, position [...] i32 -> y [...] i32`. Logits at -Infinity are never chosen; NaN, +Infinity or a row without a
 * finite logit is an error on the scalar reference.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const sample: Op<["logits", "position"], SampleParams, Exclude<keyof SampleParams, "seed">> = {
  name: "sample",
  inputs: ["logits", "position"],
  defaults: { temperature: 1, topK: 0, topP: 1, minP: 0 },
  required: ["seed"],
  infer([logits, position], { seed, temperature, topK, topP, minP }) {
    requireWhole("sample", "seed", seed, 0);
    requireFromZero("sample", "temperature", temperature);
    requireWhole("sample", "topK", topK, 0);
    for (const [option, value] of Object.entries({ topP, minP }))
      requireNumber("sample", option, value, "a number from 0 to 1", (p) => p >= 0 && p <= 1);
    requireDType("sample", "logits", logits!, ["f32"]);
    requireDType("sample", "position", position!, ["i32"]);
    const axis = resolveAxis("sample", -1, logits!.shape.length);
    if (requireExtent("sample", "the last axis of logits", logits!.shape[axis]!) === 0)
      throw new ArgumentError("sample", "logits to choose from", "none", "the last axis has them");
    const rows: Shape = logits!.shape.slice(0, -1);
    requireShape("sample", "position", position!, rows);
    return { dtype: "i32", shape: rows };
  },
  cost: ([logits, position], _params, y) => ({
    flops: 4 * elementCount(logits!.shape),
    bytes: byteLength(logits!) + byteLength(position!) + byteLength(y),
  }),
  reference([logits, position], params, y) {
    const n = logits!.spec.shape.at(-1)!;
    for (let row = 0; row < y.data.length; row++) {
      const candidates = candidatesOf(logits!.data.subarray(row * n, (row + 1) * n) as Float32Array, row);
      y.data[row] = choose(candidates, params, uniformAt(params.seed, position!.data[row]! >>> 0));
    }
  },
};

function candidatesOf(logits: Float32Array, row: number): Candidates {
  const wrong = logits.findIndex((logit) => !(logit < Number.POSITIVE_INFINITY));
  if (wrong >= 0)
    throw new ArgumentError("sample", "finite logits, or -Infinity to exclude one", `${logits[wrong]} at ${wrong} of row ${row}`);
  const candidates = Array.from(logits, (logit, id) => ({ id, logit })).filter(({ logit }) => logit !== Number.NEGATIVE_INFINITY);
  if (candidates.length === 0) throw new ArgumentError("sample", "at least one finite logit", `none in row ${row}`, "exclude less");
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

/** The candidate under `uniform` in [0, 1). */
function pick(kept: Candidates, scaled: (logit: number) => number, uniform: number): number {
  const weights = kept.map(({ logit }) => Math.exp(scaled(logit)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  const at = weights.findIndex((weight) => {
    sum += weight / total;
    return uniform < sum;
  });
  // Rounding can leave the whole sum just below `uniform`.
  return kept.at(at)!.id;
}
