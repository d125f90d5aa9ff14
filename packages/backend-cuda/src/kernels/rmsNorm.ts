import type { ParamsOf } from "@centella/core";
import { asValue } from "@centella/gpu-kernels";
import { blockReducer } from "../ptx/reduce.ts";
import type { F32 } from "../ptx/types.ts";
import { input, type Kernel } from "./shared/kernel.ts";
import { foldRow, forEachOf, perRow } from "./shared/rows.ts";
import { resultArgs, sourceArgs, sourceOf, storeResult, surroundedName } from "./shared/surroundings.ts";

export const rmsNorm: Kernel<ParamsOf<"rmsNorm">> = {
  finishes: true,
  reads: "again",
  launches: (call, { eps }) => {
    const x = call.inputs[0]!;
    const options = { x, axis: x.shape.length - 1, args: { ...sourceArgs(call), w: input(1), ...resultArgs(call) } };
    return [
      perRow(call, surroundedName("rmsNorm", call.source, call.finish), options, (scope, { length, at }) => {
        const { k, pointer } = scope;
        const from = sourceOf(scope, call);
        const weight = pointer("w", "f32");
        const add = (a: F32, b: F32): F32 => k.add(a, b);
        const square = (value: F32): F32 => k.mul(value, value);
        const sum = blockReducer(k)(
          foldRow(scope, length, 0, (i) => square(from.first(at(i))), add),
          add,
        );
        const meanSquare = k.div(sum, k.convert("f32", asValue(k, length)));
        const factor = k.div(k.constant("f32", 1), k.sqrt(k.add(meanSquare, eps)));
        forEachOf(scope, length, (i) => {
          const scaled = k.mul(k.mul(from.again(at(i)), factor), k.load("f32", k.at("f32", weight, i)));
          storeResult(scope, call, at(i), scaled);
        });
      }),
    ];
  },
};
