import type { Op } from "../program/op.ts";
import { type SortParams, sorting } from "./shared/order.ts";

/**
 * Sorts the values along an axis, in ascending or descending order. NaN counts as the largest value.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if x is a scalar, which has no axes
 * @throws {ArgumentError} if x has no such axis
 */
export const sort: Op<["x"], SortParams, keyof SortParams> = sorting("sort", "values");
