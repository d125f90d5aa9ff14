import type { Op } from "../program/op.ts";
import { selection, type TopKParams } from "./shared/order.ts";

/**
 * Where along an axis the k largest (or smallest) values are, in the order of `topK`; of equal values the first come first.
 * `x [..., n, ...] f32 -> y [..., k, ...] i32`.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const topKIndices: Op<["x"], TopKParams, "axis" | "largest"> = selection("topKIndices", "indices");
