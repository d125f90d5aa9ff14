import { quantize as quantizeBlocks } from "@centella/quant";
import { decode } from "../backend/decode.ts";
import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import { byteLength } from "../spec.ts";

export const quantize: Reference<"quantize"> = ([x], { dtype }, y) => {
  const values = x.data as Float32Array;
  const at = values.findIndex((value) => !Number.isFinite(value));
  if (at >= 0) throw new ArgumentError("quantize", "finite values", `${values[at]} at ${at}`, "clip them first");
  const blocks = (y.stored as Uint8Array | undefined) ?? new Uint8Array(byteLength(y.spec));
  quantizeBlocks(dtype, values, blocks);
  y.data.set(decode(y.spec, blocks));
};
