import { ArgumentError } from "../errors.ts";
import type { NoParams, Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec, type Shape } from "../spec.ts";
import { requireAxes, requireExtent, requireShape, resolveAxis } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { maxCandidates } from "./shared/sampling.ts";

/**
 * Draws an index from each row of logits. The options are tensors with a value for each row, so rows of different users share a program.
 * `logits [..., n] f32, position [...] i32, seed [..., 2] i32, temperature [...] f32, topK [...] i32, topP [...] f32, minP [...] f32,
 * mask [m, ceil(n / 32)]? i32, maskRow [...]? i32 -> y [...] i32`.
 *
 * - A temperature below 2^-16 chooses the greatest logit, the lowest index of equals. The other options then have no effect.
 * - Top-k keeps the `topK` greatest logits; 0 or less keeps all.
 * - Then top-p keeps the most likely candidates until their probabilities add up to `topP`, at least one; 1 or more keeps all.
 * - Then min-p keeps candidates at least `minP` times as likely as the most likely one; 0 or less keeps all.
 * - The choice among the rest has the probabilities `softmax(logits / temperature)`.
 *
 * This is llama.cpp's order. Equal logits are ordered by index. `maskRow` is a row of `mask`, whose bit `i % 32` of word `i / 32` says
 * whether index `i` may be chosen; rows outside the mask are not masked.
 *
 * All backends make the same choice, because weights are whole numbers of 28 bits. With `d` the distance to the greatest logit and
 * `e = trunc(d * log2(e) * 2^20)`, a weight is `2^(28 - e / 2^20)` rounded down, computed as in `weightOf`. Top-p compares sums of weights
 * with `floor(total * topP)`. For the choice, `d` is divided by the temperature, and the first candidate, by index, at which the running sum
 * exceeds `floor(total * r / 2^32)` is chosen. `r` is the first word of Philox4x32-10 with the seed (low word first) as the key and the
 * position as the counter, so any step can be repeated on its own.
 *
 * Logits of -Infinity are never chosen. NaN, +Infinity or a row without a candidate is an error on the scalar reference and gives -1 on
 * other backends.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} if only one of `mask` and `maskRow` is given, if a row has no or more than 2^24 logits, and for bad logits when
 *   the reference runs
 */
export const sample: Op<["logits", "position", "seed", "temperature", "topK", "topP", "minP"], NoParams, never, ["mask", "maskRow"]> = {
  name: "sample",
  inputs: ["logits", "position", "seed", "temperature", "topK", "topP", "minP"],
  optionalInputs: ["mask", "maskRow"],
  defaults: {},
  infer([logits, position, seed, temperature, topK, topP, minP, mask, maskRow]) {
    requireDType("sample", "logits", logits, ["f32"]);
    for (const [name, spec] of Object.entries({ position, seed, topK })) requireDType("sample", name, spec, ["i32"]);
    for (const [name, spec] of Object.entries({ temperature, topP, minP })) requireDType("sample", name, spec, ["f32"]);
    const axis = resolveAxis("sample", -1, logits.shape.length);
    const n = requireExtent("sample", "the last axis of logits", logits.shape[axis]!);
    if (n === 0)
      throw new ArgumentError("sample", "at least one logit per row", formatSpec(logits), "choose from a last axis of 1 or more");
    if (n > maxCandidates)
      throw new ArgumentError("sample", `at most ${maxCandidates} logits per row`, formatSpec(logits), "split the rows");
    const rows: Shape = logits.shape.slice(0, -1);
    for (const [name, spec] of Object.entries({ position, temperature, topK, topP, minP })) requireShape("sample", name, spec, rows);
    requireShape("sample", "seed", seed, [...rows, 2]);
    if ((mask === undefined) !== (maskRow === undefined))
      throw new ArgumentError(
        "sample",
        "both mask and maskRow, or none",
        mask === undefined ? "maskRow" : "mask",
        "pass the other one too",
      );
    if (mask !== undefined && maskRow !== undefined) {
      requireDType("sample", "mask", mask, ["i32"]);
      requireDType("sample", "maskRow", maskRow, ["i32"]);
      const [masks] = requireAxes("sample", "mask", mask, ["m", "words"]);
      requireShape("sample", "mask", mask, [masks, Math.ceil(n / 32)]);
      requireShape("sample", "maskRow", maskRow, rows);
    }
    return { dtype: "i32", shape: rows };
  },
  cost: ([logits, , , , , , , mask], _params, y) => ({
    flops: 20 * elementCount(logits.shape),
    bytes: byteLength(logits) + (mask === undefined ? 0 : byteLength(mask)) + 8 * byteLength(y),
  }),
};
