import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Emitter, F32 } from "../emitter.ts";
import { asValue } from "../extent.ts";
import { type GpuKernel, input, output } from "../kernel.ts";
import { perRow } from "./rows.ts";

/** Running combination along an axis. Each lane combines a part of the row, then repeats it from the combination of all earlier parts. */
export function scan(initial: number, combine: (k: Emitter, a: F32, b: F32) => F32): GpuKernel<ParamsOf<"cumsum">, readonly [TensorSpec]> {
  return {
    steps: (call, { axis }) => [
      perRow("", { x: call.inputs[0], axis, args: { x: input(call, 0), y: output(call) } }, ({ k }, { length, at }) => {
        const lane = k.lane();
        const part = k.quotient(k.add(asValue(k, length), k.lanes - 1), k.lanes);
        const start = k.mul(lane, part);
        const end = k.min(k.add(start, part), length);
        const own = k.variable("f32", initial);
        k.for(start, end, 1, (i) => own.set(combine(k, own.get(), k.load("x", at(i)))));
        const parts = k.shared("f32", k.lanes);
        parts.set(lane, own.get());
        k.sync();
        const running = k.variable("f32", initial);
        k.for(0, lane, 1, (before) => running.set(combine(k, running.get(), parts.get(before))));
        k.for(start, end, 1, (i) => {
          const place = at(i);
          running.set(combine(k, running.get(), k.load("x", place)));
          k.store("y", place, running.get());
        });
      }),
    ],
  };
}
