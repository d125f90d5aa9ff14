import type { Op } from "../program/op.ts";
import { type ScanParams, scan } from "./shared/scan.ts";

/**
 * Cumulative product along an axis: `y[i] = x[0] * ... * x[i]`.
 * `x [...] -> y [...]`, f32.
 * @throws {DTypeError} unless x is f32
 * @throws {ShapeError} if x is a scalar, which has no axes
 * @throws {ArgumentError} if x has no such axis
 */
export const cumprod: Op<["x"], ScanParams, "axis"> = scan("cumprod", 1, (product, x) => product * x);
