import type { Op } from "../program/op.ts";
import { type ScanParams, scan } from "./shared/scan.ts";

/** Running sum along an axis, the element itself included. `x [...] -> y [...]`, f32. @throws {ShapeError | DTypeError | ArgumentError} */
export const cumsum: Op<["x"], ScanParams, "axis"> = scan("cumsum", 0, (sum, x) => sum + x);
