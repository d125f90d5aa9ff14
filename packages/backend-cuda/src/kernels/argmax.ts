import type { ParamsOf } from "@centella/core";
import { asValue } from "@centella/gpu-kernels";
import { blockLocatedReducer, type Located } from "../ptx/reduce.ts";
import { input, type Kernel, output } from "./shared/kernel.ts";
import { forEachOf, normalAxis, perRow } from "./shared/rows.ts";

export const argmax: Kernel<ParamsOf<"argmax">> = {
  launches: (call, { axis }) => {
    const x = call.inputs[0]!;
    const options = { x, axis: normalAxis(axis, x.shape.length), args: { x: input(0), y: output } };
    return [
      perRow(call, "argmax", options, (scope, { row, length, at }) => {
        const { k, pointer } = scope;
        const from = pointer("x", "f32");
        const value = k.variable("f32", Number.NEGATIVE_INFINITY);
        // The row's length stands for "none yet".
        const index = k.variable("u32", asValue(k, length));
        forEachOf(scope, length, (i) => {
          const candidate = k.load("f32", k.at("f32", from, at(i)));
          const best = value.get();
          const isFirst = k.compare("eq", index.get(), length);
          const isLarger = k.or(k.or(k.compare("gt", candidate, best), k.isNaN(candidate)), isFirst);
          k.if(k.and(isLarger, k.not(k.isNaN(best))), () => {
            value.set(candidate);
            index.set(i);
          });
        });
        const combine = (a: Located, b: Located): Located => {
          const aNaN = k.isNaN(a.value);
          const bNaN = k.isNaN(b.value);
          const greater = k.or(k.compare("gt", b.value, a.value), k.and(bNaN, k.not(aNaN)));
          const equal = k.or(k.compare("eq", b.value, a.value), k.and(aNaN, bNaN));
          const earlier = k.compare("lt", b.index, a.index);
          const take = k.or(greater, k.and(equal, earlier));
          return { value: k.select(take, b.value, a.value), index: k.select(take, b.index, a.index) };
        };
        const best = blockLocatedReducer(k)({ value: value.get(), index: index.get() }, combine);
        const place = k.convert("s32", best.index);
        k.if(k.compare("eq", k.thread(), 0), () => k.store("s32", k.at("s32", pointer("y", "s32"), row), place));
      }),
    ];
  },
};
