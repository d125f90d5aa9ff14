import { elementCount } from "@centella/core/backend";
import { i32 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { ranges } from "./shared/axes.ts";
import { copyBytes } from "./shared/copies.ts";

const signature = { value: "i32", indices: "i32", y: "i32", n: "i32", bytes: "i32", begin: "i32", end: "i32" } as const;

export const assign: Kernel<"assign"> = {
  build({ exports, emit }, [, value, indices], _params, y) {
    if (indices === undefined) {
      const copy = exports("decode.f32");
      return (run) => void copy(run.address(value), run.address(y), elementCount(run.shape(y)));
    }
    // A unit is a row. As unsigned, a negative index is beyond the rows, too.
    const call = emit("assign rows", (module, name) => {
      module.function(name, signature, (f, p) => {
        const [row, index, from, to, left] = f.locals("i32", 5);
        f.for(row, p.begin, p.end, 1, () => {
          f.set(index, i32.load(i32.add(p.indices, i32.shl(row, 2))));
          f.if(i32.ltU(index, p.n), () => {
            f.set(from, i32.add(p.value, i32.mul(row, p.bytes)));
            f.set(to, i32.add(p.y, i32.mul(index, p.bytes)));
            f.set(left, p.bytes);
            copyBytes(f, to, from, left);
          });
        });
      });
    });
    return (run) => {
      const [n = 0, ...row] = run.shape(y);
      const [count = 0] = run.shape(indices);
      const bytes = 4 * elementCount(row);
      return ranges(call, [run.address(value), run.address(indices), run.address(y), n, bytes], count, bytes / 4);
    };
  },
};
