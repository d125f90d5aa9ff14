import { tupleOf } from "@centella/core/backend";
import { i32 } from "../emit/index.ts";
import type { Kernel, Task } from "../kernel.ts";
import { emitSource } from "./shared/recurrent.ts";

export const ssmConvWrite: Kernel<"ssmConvWrite"> = {
  emit(module) {
    const signature = {
      state: "i32",
      x: "i32",
      positions: "i32",
      rows: "i32",
      tokens: "i32",
      channels: "i32",
      kept: "i32",
      states: "i32",
    } as const;
    module.function("ssmConvWrite", signature, (f, { state, x, positions, rows, tokens, channels, kept, states }) => {
      const [t, distance, within, source] = f.locals("i32", 4);
      const [row, to] = f.locals("i32", 2);
      const rowBytes = f.let(i32.shl(channels, 2));
      f.for(t, 0, tokens, 1, () => {
        f.set(row, i32.load(i32.add(rows, i32.shl(t, 2))));
        const next = i32.add(t, 1);
        const isLast = i32.or(i32.eq(next, tokens), i32.ne(i32.load(i32.add(rows, i32.shl(next, 2))), row));
        f.if(i32.and(isLast, i32.ltU(row, states)), () => {
          f.set(to, i32.add(state, i32.mul(i32.mul(row, kept), rowBytes)));
          // Oldest first, so that values are read before they are overwritten.
          f.set(distance, kept);
          f.setI32(within, 0);
          f.while(distance, () => {
            f.advance(distance, -1);
            emitSource(f, { x, state, positions, rows, rowBytes, kept, states, t, distance, within, source });
            f.if(
              source,
              () => f.memoryCopy(to, source, rowBytes),
              () => f.memoryFill(to, 0, rowBytes),
            );
            f.advance(to, rowBytes);
          });
        });
      });
    });
  },
  build({ exports }, [state, x, positions, rows]) {
    const call = exports("ssmConvWrite");
    return ((run) => {
      const [tokens, channels] = tupleOf(run.shape(x), 2);
      const [states, kept] = tupleOf(run.shape(state), 3);
      const [stateAt, xAt] = [run.address(state), run.address(x)];
      call(stateAt, xAt, run.address(positions), run.address(rows), tokens, channels, kept, states);
    }) satisfies Task;
  },
};
