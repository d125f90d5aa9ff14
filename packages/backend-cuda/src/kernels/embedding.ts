import { timesPlus, unflatten } from "@centella/gpu-kernels";
import { elementwise, floatElem, input, type Kernel, loadFloat, output } from "./shared/kernel.ts";

export const embedding: Kernel = {
  unsupported: ([table]) => (["i32", "u32", "i8", "u8"].includes(table!.dtype) ? `no kernel for a table of ${table!.dtype}` : undefined),
  launches: (call) => {
    const { dtype, shape } = call.inputs[0]!;
    const args = { table: input(0), ids: input(1), y: output };
    return [
      elementwise(call, `embedding_${dtype}`, { shape: call.output.shape, args }, (scope, index) => {
        const { k, pointer } = scope;
        const width = scope.extent(shape[1]!);
        const [row, column] = unflatten(k, index, [1, width]);
        const id = k.bitcast("u32", k.load("s32", k.at("s32", pointer("ids", "s32"), row!)));
        const value = k.variable("f32", 0);
        // Unsigned: a negative id is beyond the table too. Such rows are zeros.
        k.if(k.compare("lt", id, scope.extent(shape[0]!)), () => {
          value.set(loadFloat(k, dtype, pointer("table", floatElem(dtype)), timesPlus(k, id, width, column!)));
        });
        k.store("f32", k.at("f32", pointer("y", "f32"), index), value.get());
      }),
    ];
  },
};
