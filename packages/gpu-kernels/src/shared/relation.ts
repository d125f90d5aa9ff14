import type { Bool, Comparison, Emitter } from "../emitter.ts";
import type { GpuKernel } from "../kernel.ts";
import { loadNumber } from "./dtypes.ts";
import { broadcastMap } from "./elementwise.ts";

/** A comparison with broadcasting, of two of one number dtype. */
export function comparison(name: Comparison): GpuKernel {
  return {
    steps: (call) => [
      broadcastMap(call, ({ k }, [a, b], at) => {
        const { dtype } = call.inputs[0]!;
        const holds = k.compare(name, loadNumber(k, dtype, a!, at[0]!), loadNumber(k, dtype, b!, at[1]!));
        return k.select(holds, k.constant("u32", 1), 0);
      }),
    ],
  };
}

/** A function of truth values with broadcasting. */
export function logical(holds: (k: Emitter, values: readonly Bool[]) => Bool): GpuKernel {
  return {
    steps: (call) => [
      broadcastMap(call, ({ k }, names, at) => {
        const values = names.map((name, i) => k.compare("ne", k.loadBits(name, at[i]!), 0));
        return k.select(holds(k, values), k.constant("u32", 1), 0);
      }),
    ],
  };
}
