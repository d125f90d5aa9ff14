import type { Op } from "../program/op.ts";
import { selection, type TopKParams } from "./shared/order.ts";

/**
 * The k largest (or smallest) values along an axis, in order. NaN counts as the largest value. `topKIndices` returns their indices.
 * `x [..., n, ...] -> y [..., k, ...]`, f32.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if x is a scalar or the axis is symbolic
 * @throws {ArgumentError} if x has no such axis or fewer than k elements along it
 */
export const topK: Op<["x"], TopKParams, "axis" | "largest"> = selection("topK", "values");
