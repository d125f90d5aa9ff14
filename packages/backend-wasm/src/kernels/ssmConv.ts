import { tupleOf } from "@centella/core/backend";
import { f32, i32 } from "../emit/index.ts";
import type { Kernel, Task } from "../kernel.ts";
import { emitSource } from "./shared/recurrent.ts";

export const ssmConv: Kernel<"ssmConv"> = {
  emit(module) {
    const signature = {
      x: "i32",
      filter: "i32",
      state: "i32",
      positions: "i32",
      rows: "i32",
      y: "i32",
      channels: "i32",
      taps: "i32",
      states: "i32",
      begin: "i32",
      end: "i32",
    } as const;
    module.function("ssmConv", signature, (f, { x, filter, state, positions, rows, y, channels, taps, states, begin, end }) => {
      const [t, distance, within, source] = f.locals("i32", 4);
      const [weight, to, left] = f.locals("i32", 3);
      const rowBytes = f.let(i32.shl(channels, 2));
      const kept = f.let(i32.sub(taps, 1));
      f.for(t, begin, end, 1, () => {
        f.memoryFill(i32.add(y, i32.mul(t, rowBytes)), 0, rowBytes);
        f.setI32(within, 0);
        f.for(distance, 0, taps, 1, () => {
          emitSource(f, { x, state, positions, rows, rowBytes, kept, states, t, distance, within, source });
          f.if(source, () => {
            f.set(weight, i32.add(filter, i32.shl(i32.sub(kept, distance), 2)));
            f.set(to, i32.add(y, i32.mul(t, rowBytes)));
            f.set(left, channels);
            f.while(left, () => {
              f.store(to, f32.add(f32.load(to), f32.mul(f32.load(weight), f32.load(source))));
              f.advance(weight, i32.shl(taps, 2));
              f.advance(source, 4);
              f.advance(to, 4);
              f.advance(left, -1);
            });
          });
        });
      });
    });
  },
  build({ exports }, [x, filter, state, positions, rows], _params, y) {
    const fn = exports("ssmConv");
    return function* (run) {
      const [tokens, channels] = tupleOf(run.shape(x), 2);
      const [, taps] = tupleOf(run.shape(filter), 2);
      const [states] = tupleOf(run.shape(state), 3);
      const [xAt, filterAt, stateAt] = [run.address(x), run.address(filter), run.address(state)];
      const args = [xAt, filterAt, stateAt, run.address(positions), run.address(rows), run.address(y), channels, taps, states];
      yield { fn, args, total: tokens, grain: Math.max(1, Math.floor(2 ** 20 / Math.max(1, channels * taps))) };
    } satisfies Task;
  },
};
