import type { Op } from "../program/op.ts";
import { ternary } from "./shared/elementwise.ts";

/**
 * `y = a * b + c` with broadcasting, f32. Backends may round the product before they add.
 * `a [...], b [...], c [...] -> y [...]`. @throws {ShapeError | DTypeError}
 */
export const fma: Op<["a", "b", "c"]> = ternary({ name: "fma", inputs: ["a", "b", "c"], flops: 2, f: (a, b, c) => a * b + c });
