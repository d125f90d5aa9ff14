import { tupleOf } from "@centella/core/backend";
import { asValue, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";

export const embedding: GpuKernelOf<"embedding"> = {
  steps: (call) => {
    const { dtype, shape } = call.inputs[0];
    const [rows, columns] = tupleOf(shape, 2);
    return [
      {
        kind: "map",
        name: dtype,
        args: { table: input(call, 0), ids: input(call, 1), y: output(call) },
        shape: call.output.shape,
        to: "y",
        body: (scope, index) => {
          const { k } = scope;
          const width = scope.extent(columns);
          const [row, column] = unflatten(k, index, [1, width]);
          const id = k.bitcast("u32", k.loadInteger("ids", asValue(k, row)));
          const value = k.variable("f32", 0);
          // As unsigned, a negative id is past the table too. Such rows are zeros.
          k.if(k.compare("lt", id, scope.extent(rows)), () => value.set(k.load("table", asValue(k, timesPlus(k, id, width, column)))));
          return value.get();
        },
      },
    ];
  },
};
