import { isInteger } from "../dtype.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount } from "../spec.ts";
import { bytesPerRow } from "./shared/axes.ts";
import { requireAxes } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

/**
 * Looks up rows of a table: `y[..., :] = table[ids[...], :]`.
 * `table [V, d], ids [...] i32 -> y [..., d] f32`. The table is f32, f16, bf16 or a block type; it may also be a tensor of activations.
 *
 * An id outside `[0, V)` is an error on the scalar reference; other backends write a row of zeros and never read outside the table.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} for an id out of range, when the reference runs
 */
export const embedding: Op<["table", "ids"]> = {
  name: "embedding",
  inputs: ["table", "ids"],
  defaults: {},
  infer([table, ids]) {
    if (isInteger(table.dtype)) requireDType("embedding", "table", table, ["f32", "f16", "bf16", "a block type"]);
    const [, d] = requireAxes("embedding", "table", table, ["V", "d"]);
    requireDType("embedding", "ids", ids, ["i32"]);
    return { dtype: "f32", shape: [...ids.shape, d] };
  },
  cost([table, ids], _params, y) {
    return { flops: 0, bytes: bytesPerRow(table) * elementCount(ids.shape) + byteLength(ids) + byteLength(y) };
  },
};
