import type { Op } from "../program/op.ts";
import { type SortParams, sorting } from "./shared/order.ts";

/**
 * Indices that sort the values along an axis. Equal values keep their order; NaN counts as the largest value.
 * `x [...] f32 -> y [...] i32`.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if x is a scalar, which has no axes
 * @throws {ArgumentError} if x has no such axis
 */
export const argsort: Op<["x"], SortParams, keyof SortParams> = sorting("argsort", "indices");
