import type { Op } from "../program/op.ts";
import { type SortParams, sorting } from "./shared/order.ts";

/** Values in ascending or descending order along an axis; a NaN counts as the largest. `x [...] -> y [...]`, f32. @throws {ShapeError | DTypeError | ArgumentError} */
export const sort: Op<["x"], SortParams, keyof SortParams> = sorting("sort", "values");
