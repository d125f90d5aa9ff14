import type { ParamsOf, TensorSpec } from "@centella/core";
import { type GpuArgument, type GpuKernel, input, output } from "../kernel.ts";
import { forEachOf, perRow, rowsOf } from "../rows/rows.ts";

/** Whether all elements of a row are true, or any. Groups count per row; a second step packs the results, since a bool is a byte. */
export function truth(which: "all" | "any"): GpuKernel<ParamsOf<"sum">, readonly [TensorSpec]> {
  // Counts false elements for "all", true elements for "any".
  const wanted = which === "all" ? "eq" : "ne";
  return {
    steps: (call, { axis }) => {
      const x = call.inputs[0];
      const rows = rowsOf(x, axis);
      const shape = [...rows.outer, ...rows.inner];
      const found: GpuArgument = { kind: "scratch", dtype: "u32", elements: shape };
      return [
        perRow("rows", { rows, args: { x: input(call, 0), found } }, (scope, { row, length, at }) => {
          const { k } = scope;
          const own = k.variable("u32", 0);
          forEachOf(scope, length, (i) => k.if(k.compare(wanted, k.loadBits("x", at(i)), 0), () => own.set(1)));
          const [any] = k.reducer(["u32"])([own.get()], ([a], [b]) => [k.or(a, b)]);
          k.if(k.compare("eq", k.lane(), 0), () => k.store("found", row, any));
        }),
        {
          kind: "map",
          name: "pack",
          args: { found, y: output(call) },
          shape,
          to: "y",
          body: ({ k }, index) => (which === "all" ? k.xor(k.loadBits("found", index), 1) : k.loadBits("found", index)),
        },
      ];
    },
  };
}
