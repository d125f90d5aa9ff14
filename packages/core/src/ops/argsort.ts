import type { Op } from "../program/op.ts";
import { type SortParams, sorting } from "./shared/order.ts";

/**
 * Indices that sort along an axis; equal values keep their order, a NaN counts as the largest. `x [...] f32 -> y [...] i32`.
 * @throws {ShapeError | DTypeError | ArgumentError}
 */
export const argsort: Op<["x"], SortParams, keyof SortParams> = sorting("argsort", "indices");
