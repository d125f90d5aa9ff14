import type { ParamsOf } from "@centella/core";
import { asValue } from "@centella/gpu-kernels";
import { blockReducer } from "../ptx/reduce.ts";
import type { F32 } from "../ptx/types.ts";
import { input, type Kernel } from "./shared/kernel.ts";
import { foldRow, forEachOf, perRow } from "./shared/rows.ts";
import { resultArgs, sourceArgs, sourceOf, storeResult, surroundedName } from "./shared/surroundings.ts";

/** A block per row: two passes for its mean and variance, a third writes. */
export const layerNorm: Kernel<ParamsOf<"layerNorm">> = {
  finishes: true,
  reads: "again",
  launches: (call, { eps }) => {
    const x = call.inputs[0]!;
    const hasBias = call.inputs[2] !== undefined;
    const args = { ...sourceArgs(call), w: input(1), ...(hasBias ? { bias: input(2) } : {}), ...resultArgs(call) };
    const name = surroundedName(hasBias ? "layerNorm_bias" : "layerNorm", call.source, call.finish);
    return [
      perRow(call, name, { x, axis: x.shape.length - 1, args }, (scope, { length, at }) => {
        const { k, pointer } = scope;
        const from = sourceOf(scope, call);
        const weight = pointer("w", "f32");
        const bias = hasBias ? pointer("bias", "f32") : undefined;
        const add = (a: F32, b: F32): F32 => k.add(a, b);
        const n = k.convert("f32", asValue(k, length));
        const reduce = blockReducer(k);
        const sum = foldRow(scope, length, 0, (i) => from.first(at(i)), add);
        const mean = k.div(reduce(sum, add), n);
        const square = (value: F32): F32 => k.mul(value, value);
        const squares = reduce(
          foldRow(scope, length, 0, (i) => square(k.sub(from.again(at(i)), mean)), add),
          add,
        );
        const factor = k.div(k.constant("f32", 1), k.sqrt(k.add(k.div(squares, n), eps)));
        forEachOf(scope, length, (i) => {
          const scaled = k.mul(k.mul(k.sub(from.again(at(i)), mean), factor), k.load("f32", k.at("f32", weight, i)));
          storeResult(scope, call, at(i), bias === undefined ? scaled : k.add(scaled, k.load("f32", k.at("f32", bias, i))));
        });
      }),
    ];
  },
};
