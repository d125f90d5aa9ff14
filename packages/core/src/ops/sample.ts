import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, type Shape } from "../spec.ts";
import { requireExtent, requireFromZero, requireNumber, requireShape, requireWhole, resolveAxis } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface SampleParams {
  /** A whole number from 0; the same seed, position and logits give the same choice everywhere. */
  readonly seed: number;
  /** Divides the logits; 0 always takes the greatest. */
  readonly temperature: number;
  /** Keeps the k greatest logits; 0 keeps all. */
  readonly topK: number;
  /** Keeps the most likely candidates whose probabilities add up to p, at least one; 1 keeps all. */
  readonly topP: number;
  /** Keeps candidates that are at least p times as likely as the most likely one; 0 keeps all. */
  readonly minP: number;
}

/**
 * Chooses an index of each row by its probability, `softmax` of the row over `temperature`, after top-k, top-p and min-p in this
 * order (llama.cpp's): the first candidate at which the running sum of probabilities exceeds the random number. Candidates are
 * in order of descending logits (equal ones by index) if top-k or top-p sorts them, else by index. The random number is
 * {@link uniformAt} of the seed and the row's position, so that any step can be repeated alone.
 * `logits [..., n] f32, position [...] i32 -> y [...] i32`. Logits at -Infinity are never chosen; NaN, +Infinity or a row without a
 * finite logit is an error on the scalar reference, and gives -1 on the others.
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
    requireDType("sample", "logits", logits, ["f32"]);
    requireDType("sample", "position", position, ["i32"]);
    const axis = resolveAxis("sample", -1, logits.shape.length);
    if (requireExtent("sample", "the last axis of logits", logits.shape[axis]!) === 0)
      throw new ArgumentError("sample", "logits to choose from", "none", "the last axis has them");
    const rows: Shape = logits.shape.slice(0, -1);
    requireShape("sample", "position", position, rows);
    return { dtype: "i32", shape: rows };
  },
  cost: ([logits, position], _params, y) => ({
    flops: 4 * elementCount(logits.shape),
    bytes: byteLength(logits) + byteLength(position) + byteLength(y),
  }),
};
