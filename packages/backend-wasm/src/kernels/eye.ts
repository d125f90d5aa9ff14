import { tupleOf } from "@centella/core/backend";
import { f32, i32 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { ranges } from "./shared/axes.ts";

export const eye: Kernel<"eye"> = {
  build({ emit }, _inputs, _params, y) {
    const call = emit("eye", (module, name) => {
      module.function(name, { y: "i32", columns: "i32", begin: "i32", end: "i32" }, (f, { y: to, columns, begin, end }) => {
        const rowBytes = f.let(i32.shl(columns, 2));
        const row = f.local("i32");
        f.advance(to, i32.mul(begin, rowBytes));
        f.for(row, begin, end, 1, () => {
          f.memoryFill(to, 0, rowBytes);
          f.if(i32.ltU(row, columns), () => f.store(i32.add(to, i32.shl(row, 2)), f32.const(1)));
          f.advance(to, rowBytes);
        });
      });
    });
    return (run) => {
      const [rows, columns] = tupleOf(run.shape(y), 2);
      return ranges(call, [run.address(y), columns], rows, columns);
    };
  },
};
