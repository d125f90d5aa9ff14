import type { DType } from "@centella/core";
import { isInteger } from "@centella/core/backend";
import type { Emitter, F32, I32, U32 } from "../emitter.ts";
import type { GpuKernelOf } from "../kernel.ts";
import { bitsOfFloat, computeType, loadNumber, roundedTo } from "../shared/dtypes.ts";
import { broadcastMap } from "../shared/elementwise.ts";

export const cast: GpuKernelOf<"cast"> = {
  element: { dtypes: ["f32", "f16", "bf16"], of: (k, [x], _number, dtype) => roundedTo(k, dtype, x as F32) },
  steps: (call, { dtype }) => [
    broadcastMap(call, ({ k }, [{ name, at }]) => {
      const from = call.inputs[0].dtype;
      if (from === dtype) return k.loadBits(name, at);
      // A bf16 is the upper half of an f32, so shifting bits keeps denormals.
      if (from === "bf16" && dtype === "f32") return k.shiftLeft(k.loadBits(name, at), 16);
      const value = loadNumber(k, from, name, at);
      if (dtype === "bool") {
        const isTrue = isInteger(from) ? k.compare("ne", value as U32, 0) : k.compare("ne", value as F32, 0);
        return k.select(isTrue, k.constant("u32", 1), 0);
      }
      if (computeType(from) === "f32") return ofFloat(k, value as F32, dtype);
      return isInteger(dtype) ? k.bitcast("u32", value) : bitsOfFloat(k, dtype, k.convert("f32", value as I32 | U32));
    }),
  ],
};

function ofFloat(k: Emitter, value: F32, dtype: DType): U32 {
  switch (dtype) {
    case "i32":
      return k.bitcast("u32", k.convert("i32", value));
    case "u32":
      return k.convert("u32", value);
    case "i8":
      return k.bitcast("u32", k.min(k.max(k.convert("i32", value), -128), 127));
    case "u8":
      return k.min(k.convert("u32", value), 255);
    default:
      return bitsOfFloat(k, dtype, value);
  }
}
