import type { Op } from "../program/op.ts";
import { type ScanParams, scan } from "./shared/scan.ts";

/** Running product along an axis, the element itself included. `x [...] -> y [...]`, f32. @throws {ShapeError | DTypeError | ArgumentError} */
export const cumprod: Op<["x"], ScanParams, "axis"> = scan("cumprod", 1, (product, x) => product * x);
