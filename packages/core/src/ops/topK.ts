import type { Op } from "../program/op.ts";
import { selection, type TopKParams } from "./shared/order.ts";

/**
 * The k largest (or smallest) values along an axis, in order; a NaN counts as the largest. `topKIndices` returns their indices.
 * `x [..., n, ...] -> y [..., k, ...]`, f32.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const topK: Op<["x"], TopKParams, "axis" | "largest"> = selection("topK", "values");
