import type { PtxBuilder } from "../../ptx/builder.ts";
import type { Extent } from "../../ptx/extent.ts";
import { blockReducer } from "../../ptx/reduce.ts";
import type { F32 } from "../../ptx/types.ts";
import { input, type Kernel, output } from "./kernel.ts";
import { foldRow, normalAxis, perRow } from "./rows.ts";

/** Kernel of a reduction over one axis or all; `finish` sees the combined value and the number of elements. */
export function reduction(
  name: string,
  initial: number,
  combine: (k: PtxBuilder, a: F32, b: F32) => F32,
  finish: (k: PtxBuilder, value: F32, length: Extent) => F32 = (_k, value) => value,
): Kernel<{ readonly axis: number | null }> {
  return {
    launches: (call, { axis }) => {
      const x = call.inputs[0]!;
      const options = { x, axis: normalAxis(axis, x.shape.length), args: { x: input(0), y: output } };
      return [
        perRow(call, name, options, (scope, { row, length, at }) => {
          const { k, pointer } = scope;
          const from = pointer("x", "f32");
          const join = (a: F32, b: F32): F32 => combine(k, a, b);
          const own = foldRow(scope, length, initial, (i) => k.load("f32", k.at("f32", from, at(i))), join);
          const all = finish(k, blockReducer(k)(own, join), length);
          k.if(k.compare("eq", k.thread(), 0), () => k.store("f32", k.at("f32", pointer("y", "f32"), row), all));
        }),
      ];
    },
  };
}
