import type { Op } from "../program/op.ts";
import { selection, type TopKParams } from "./shared/order.ts";

/**
 * Indices of the k largest (or smallest) values along an axis, in the order of `topK`. Among equal values the first ones come first.
 * `x [..., n, ...] f32 -> y [..., k, ...] i32`.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if x is a scalar or the axis is symbolic
 * @throws {ArgumentError} if x has no such axis or fewer than k elements along it
 */
export const topKIndices: Op<["x"], TopKParams, "axis" | "largest"> = selection("topKIndices", "indices");
