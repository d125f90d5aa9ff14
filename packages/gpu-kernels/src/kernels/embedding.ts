import { tupleOf } from "@centella/core/backend";
import { type F32, neighbourCount } from "../emitter.ts";
import { asValue, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { countOf, movedIf, moveStep, unitsOf, zeroUnit } from "../shared/moving.ts";

export const embedding: GpuKernelOf<"embedding"> = {
  steps: (call) => {
    const { dtype, shape } = call.inputs[0];
    const [rows, columns] = tupleOf(shape, 2);
    const { arePieces, counts } = unitsOf("f32", { width: [columns] });
    return [
      moveStep({
        name: dtype,
        args: { table: input(call, 0), ids: input(call, 1), y: output(call) },
        shape: [...call.inputs[1].shape, ...counts.width],
        arePieces,
        from: (scope, index) => {
          const { k } = scope;
          const width = countOf(scope, counts.width);
          const [row, within] = unflatten(k, index, [1, width]);
          const id = k.bitcast("u32", k.loadInteger("ids", asValue(k, row)));
          const values = (): readonly F32[] => {
            const at = timesPlus(k, id, width, within);
            return arePieces ? k.loadVector("table", asValue(k, times(k, at, neighbourCount))) : [k.load("table", asValue(k, at))];
          };
          // As unsigned, a negative id is past the table too. Such rows are zeros.
          return movedIf(
            k,
            k.compare("lt", id, scope.extent(rows)),
            () => values().map((value) => k.bitcast("u32", value)),
            zeroUnit(k, arePieces),
          );
        },
      }),
    ];
  },
};
