import { lastOf } from "@centella/quant/checks";
import { roundTo } from "../backend/decode.ts";
import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";

export const kvWrite: Reference<"kvWrite"> = ([, k, v, slots], _params, cache) => {
  const [size, heads, width] = cache.spec.shape as readonly [number, number, number];
  const [dK, dV] = [lastOf(k.spec.shape), lastOf(v.spec.shape)];
  const row = new Float32Array(heads * width);
  slots.data.forEach((slot, t) => {
    if (slot < 0 || slot >= size)
      throw new ArgumentError("kvWrite", `slots from 0 to ${size - 1}`, `${slot} at ${t}`, "correct the slots, or make a larger cache");
    for (let h = 0; h < heads; h++) {
      row.set(k.data.subarray((t * heads + h) * dK, (t * heads + h + 1) * dK), h * width);
      row.set(v.data.subarray((t * heads + h) * dV, (t * heads + h + 1) * dV), h * width + dK);
    }
    cache.data.set(roundTo(cache.spec.dtype, row), slot * heads * width);
  });
};
