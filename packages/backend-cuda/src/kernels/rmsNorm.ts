import type { ParamsOf } from "@centella/core";
import { register } from "../ptx/extent.ts";
import { blockReducer } from "../ptx/reduce.ts";
import type { F32 } from "../ptx/types.ts";
import { input, type Kernel, output } from "./shared/kernel.ts";
import { foldRow, forEachOf, perRow } from "./shared/rows.ts";

export const rmsNorm: Kernel<ParamsOf<"rmsNorm">> = {
  launches: (call, { eps }) => {
    const x = call.inputs[0]!;
    const options = { x, axis: x.shape.length - 1, args: { x: input(0), w: input(1), y: output } };
    return [
      perRow(call, "rmsNorm", options, (scope, { length, at }) => {
        const { k, pointer } = scope;
        const [from, weight, to] = [pointer("x", "f32"), pointer("w", "f32"), pointer("y", "f32")];
        const add = (a: F32, b: F32): F32 => k.add(a, b);
        const load = (i: Parameters<typeof at>[0]): F32 => k.load("f32", k.at("f32", from, at(i)));
        const square = (value: F32): F32 => k.mul(value, value);
        const sum = blockReducer(k)(
          foldRow(scope, length, 0, (i) => square(load(i)), add),
          add,
        );
        const meanSquare = k.div(sum, k.convert("f32", register(k, length)));
        const factor = k.div(k.constant("f32", 1), k.sqrt(k.add(meanSquare, eps)));
        forEachOf(scope, length, (i) => {
          const scaled = k.mul(k.mul(load(i), factor), k.load("f32", k.at("f32", weight, i)));
          k.store("f32", k.at("f32", to, at(i)), scaled);
        });
      }),
    ];
  },
};
