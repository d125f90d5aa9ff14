import type { ParamsOf } from "@centella/core";
import { tupleOf } from "@centella/core/backend";
import type { Expression } from "../elementwise/expression.ts";
import { elementwise } from "../elementwise/kernel.ts";
import { f32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";

type Params = ParamsOf<"batchNorm">;

const expression: Expression<Params> = {
  scalars: ({ eps }) => [eps],
  emit({ scalars }, x, mean, variance, w, bias) {
    const [eps] = tupleOf(scalars, 1);
    return f32x4.add(f32x4.mul(f32x4.sub(x, mean), f32x4.div(w, f32x4.sqrt(f32x4.add(variance, eps)))), bias);
  },
};

/** A loop over points. The values of a channel broadcast over its points. */
export const batchNorm: Kernel<"batchNorm"> = elementwise<Params>({
  body: (_count, params, { dtype }) => [{ op: "batchNorm", expression, params, inputs: [0, 1, 2, 3, 4], output: dtype }],
  shapes(inputs) {
    const [x, ...perChannel] = tupleOf(inputs, 5);
    return [x, ...perChannel.map((channels) => [...channels, ...x.slice(2).map(() => 1)])];
  },
});
