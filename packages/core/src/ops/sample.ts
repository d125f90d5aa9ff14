import { ArgumentError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec, type Shape } from "../spec.ts";
import { requireExtent, requireFromZero, requireNumber, requireShape, requireWhole, resolveAxis } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface SampleParams {
  /** Whole number from 0. The same seed, position and logits give the same choice everywhere. */
  readonly seed: number;
  /** Divisor of the logits. 0 always chooses the greatest one. */
  readonly temperature: number;
  /** Keeps the `topK` greatest logits; 0 keeps all. */
  readonly topK: number;
  /** Keeps the most likely candidates until their probabilities add up to `topP`, at least one; 1 keeps all. */
  readonly topP: number;
  /** Keeps candidates that are at least `minP` times as likely as the most likely one; 0 keeps all. */
  readonly minP: number;
}

/**
 * Draws an index from each row by its probability: the softmax of the row divided by `temperature`, after top-k, top-p and min-p in this
 * order, as in llama.cpp.
 * `logits [..., n] f32, position [...] i32 -> y [...] i32`.
 *
 * The result is the first candidate at which the running sum of probabilities exceeds the random number. Candidates are ordered by
 * descending logits, ties by index, if top-k or top-p sorts them, else by index. The random number is {@link uniformAt} of the seed and
 * the row's position, so any step can be repeated on its own.
 *
 * Logits of -Infinity are never chosen. NaN, +Infinity or a row without a finite logit is an error on the scalar reference and gives -1 on
 * other backends.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} if an option is out of range, and for bad logits when the reference runs
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
      throw new ArgumentError("sample", "at least one logit per row", formatSpec(logits), "choose from a last axis of 1 or more");
    const rows: Shape = logits.shape.slice(0, -1);
    requireShape("sample", "position", position, rows);
    return { dtype: "i32", shape: rows };
  },
  cost: ([logits, position], _params, y) => ({
    flops: 4 * elementCount(logits.shape),
    bytes: byteLength(logits) + byteLength(position) + byteLength(y),
  }),
};
