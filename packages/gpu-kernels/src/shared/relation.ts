import type { TensorSpec } from "@centella/core";
import { mapTuple } from "@centella/core/backend";
import type { Bool, Comparison, Emitter } from "../emitter.ts";
import type { GpuKernel } from "../kernel.ts";
import { loadNumber } from "./dtypes.ts";
import { broadcastMap, type RequiredSpecs } from "./elementwise.ts";

/** Comparison with broadcasting of two tensors of one number dtype. */
export function comparison(name: Comparison): GpuKernel<object, readonly [TensorSpec, TensorSpec]> {
  return {
    steps: (call) => [
      broadcastMap(call, ({ k }, [a, b]) => {
        const { dtype } = call.inputs[0];
        const holds = k.compare(name, loadNumber(k, dtype, a.name, a.at), loadNumber(k, dtype, b.name, b.at));
        return k.select(holds, k.constant("u32", 1), 0);
      }),
    ],
  };
}

/** A function of truth values with broadcasting. */
export function logical<const Inputs extends RequiredSpecs>(
  holds: (k: Emitter, values: { readonly [I in keyof Inputs]: Bool }) => Bool,
): GpuKernel<object, Inputs> {
  return {
    steps: (call) => [
      broadcastMap(call, ({ k }, inputs) => {
        const values = mapTuple(inputs, ({ name, at }) => k.compare("ne", k.loadBits(name, at), 0));
        return k.select(holds(k, values), k.constant("u32", 1), 0);
      }),
    ],
  };
}
