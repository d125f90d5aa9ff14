import type { Op } from "../program/op.ts";
import { type ScanParams, scan } from "./shared/scan.ts";

/**
 * Cumulative sum along an axis: `y[i] = x[0] + ... + x[i]`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if x is a scalar, which has no axes
 * @throws {ArgumentError} if x has no such axis
 */
export const cumsum: Op<["x"], ScanParams, "axis"> = scan("cumsum", 0, (sum, x) => sum + x);
