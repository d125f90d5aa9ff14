import { elementAt } from "@centella/quant/checks";
import { ShapeError } from "../../errors.ts";
import { type Dim, formatSpec, type TensorSpec } from "../../spec.ts";
import { requireDType } from "./elementwise.ts";

/** Extent of the channel axis of `x [N, C, ...]`. @throws {ShapeError | DTypeError} unless f32 of rank 2 or more */
export function requireChannels(op: string, x: TensorSpec): Dim {
  requireDType(op, "x", x, ["f32"]);
  if (x.shape.length < 2) throw new ShapeError(op, "x [N, C, ...]", formatSpec(x), "reshape it");
  return elementAt(x.shape, 1);
}
