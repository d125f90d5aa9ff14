import type { ParamsOf } from "@centella/core";
import { register } from "../ptx/extent.ts";
import { blockReducer } from "../ptx/reduce.ts";
import type { F32 } from "../ptx/types.ts";
import { input, type Kernel, output } from "./shared/kernel.ts";
import { foldRow, forEachOf, perRow } from "./shared/rows.ts";

/** A block per row: two passes for its mean and variance, a third writes. */
export const layerNorm: Kernel<ParamsOf<"layerNorm">> = {
  launches: (call, { eps }) => {
    const x = call.inputs[0]!;
    const hasBias = call.inputs[2] !== undefined;
    const args = { x: input(0), w: input(1), ...(hasBias ? { bias: input(2) } : {}), y: output };
    return [
      perRow(call, hasBias ? "layerNorm_bias" : "layerNorm", { x, axis: x.shape.length - 1, args }, (scope, { length, at }) => {
        const { k, pointer } = scope;
        const [from, weight, to] = [pointer("x", "f32"), pointer("w", "f32"), pointer("y", "f32")];
        const bias = hasBias ? pointer("bias", "f32") : undefined;
        const add = (a: F32, b: F32): F32 => k.add(a, b);
        const load = (i: Parameters<typeof at>[0]): F32 => k.load("f32", k.at("f32", from, at(i)));
        const n = k.convert("f32", register(k, length));
        const reduce = blockReducer(k);
        const mean = k.div(reduce(foldRow(scope, length, 0, load, add), add), n);
        const square = (value: F32): F32 => k.mul(value, value);
        const squares = reduce(
          foldRow(scope, length, 0, (i) => square(k.sub(load(i), mean)), add),
          add,
        );
        const factor = k.div(k.constant("f32", 1), k.sqrt(k.add(k.div(squares, n), eps)));
        forEachOf(scope, length, (i) => {
          const scaled = k.mul(k.mul(k.sub(load(i), mean), factor), k.load("f32", k.at("f32", weight, i)));
          k.store("f32", k.at("f32", to, at(i)), bias === undefined ? scaled : k.add(scaled, k.load("f32", k.at("f32", bias, i))));
        });
      }),
    ];
  },
};
