import { asValue, timesPlus } from "../extent.ts";
import { type GpuKernelOf, type GpuStep, input, output } from "../kernel.ts";
import { dimAt } from "../rows/rows.ts";
import { countOf, rowAndPlace, unitsOf } from "../shared/moving.ts";

export const assign: GpuKernelOf<"assign"> = {
  steps: (call) => {
    const [target, value, indices] = call.inputs;
    const { dtype } = target;
    const args = { value: input(call, 1), y: output(call) };
    const whole: GpuStep = {
      kind: "map",
      name: dtype,
      args,
      shape: target.shape,
      to: "y",
      isElementwise: true,
      body: ({ k }, index) => k.loadBits("value", index),
    };
    if (indices === undefined) return [whole];
    const { arePieces, counts } = unitsOf(dtype, { width: target.shape.slice(1) });
    return [
      {
        kind: "each",
        name: `${dtype}_${arePieces ? "rows_pieces" : "rows"}`,
        args: { ...args, indices: input(call, 2) },
        shape: [dimAt(value, 0), ...counts.width],
        body: (scope, at) => {
          const { k } = scope;
          const width = countOf(scope, counts.width);
          const [row, within] = rowAndPlace(k, at, [dimAt(value, 0)], width);
          // As unsigned, a negative index is beyond the rows, too.
          const index = k.bitcast("u32", k.loadInteger("indices", asValue(k, row)));
          k.if(k.compare("lt", index, scope.extent(dimAt(target, 0))), () => {
            const to = asValue(k, timesPlus(k, index, width, within));
            if (arePieces) k.storePiece("y", to, k.loadPiece("value", at));
            else k.store("y", to, k.loadBits("value", at));
          });
        },
      },
    ];
  },
};
