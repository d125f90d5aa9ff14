import { ArgumentError, elementCount, layoutOf } from "@centella/core";
import { quantize as encode } from "@centella/quant";
import type { Kernel, ParamsOf } from "../kernel.ts";

/** Elements between two pauses: whole blocks of every type. */
const chunk = 1 << 14;

/** Made in JavaScript by what defines the formats: the searches of k-quants are long, and a model is quantised once. */
export const quantize: Kernel<ParamsOf<"quantize">> = {
  build({ heap }, [x], { dtype }, y) {
    const { elements, bytes } = layoutOf(dtype);
    return function* (run) {
      const [from, to, count] = [run.address(x!) / 4, run.address(y), elementCount(run.shape(y))];
      for (let at = 0; at < count; at += chunk) {
        const end = Math.min(count, at + chunk);
        const values = heap.f32.subarray(from + at, from + end);
        const odd = values.findIndex((value) => !Number.isFinite(value));
        if (odd >= 0) throw new ArgumentError("quantize", "finite values", `${values[odd]} at ${at + odd}`);
        encode(dtype, values, heap.u8.subarray(to + (at / elements) * bytes, to + (end / elements) * bytes));
        yield;
      }
    };
  },
};
