import type { Op } from "../program/op.ts";
import { ternary } from "./shared/elementwise.ts";

/**
 * Multiplies and adds: `y = a * b + c`. Backends may round the product before they add.
 * `a [...], b [...], c [...] -> y [...]` with broadcasting, f32.
 * @throws {ShapeError} if the shapes do not broadcast
 * @throws {DTypeError} unless all inputs are f32
 */
export const fma: Op<["a", "b", "c"]> = ternary({ name: "fma", inputs: ["a", "b", "c"], flops: 2, f: (a, b, c) => a * b + c });
