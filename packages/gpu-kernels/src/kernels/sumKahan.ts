import type { Emitter, F32 } from "../emitter.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { forEachOf, perRow } from "../shared/rows.ts";

/** A sum and its rounding error. */
type Pair = readonly [sum: F32, lost: F32];

export const sumKahan: GpuKernelOf<"sumKahan"> = {
  steps: (call, { axis }) => [
    perRow("", { x: call.inputs[0], axis, args: { x: input(call, 0), y: output(call) } }, (scope, { row, length, at }) => {
      const { k } = scope;
      const [sum, lost] = [k.variable("f32", 0), k.variable("f32", 0)];
      forEachOf(scope, length, (i) => {
        const [s, l] = added(k, [sum.get(), lost.get()], [k.load("x", at(i)), k.constant("f32", 0)]);
        sum.set(s);
        lost.set(l);
      });
      const [all, rest] = k.reducer(["f32", "f32"])([sum.get(), lost.get()], (a, b) => added(k, a, b));
      // The error is NaN once the sum is infinite or NaN.
      const isBounded = k.compare("lt", k.abs(all), Number.POSITIVE_INFINITY);
      k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, k.select(isBounded, k.add(all, rest), all)));
    }),
  ],
};

/** Neumaier's step: the rounding error of the larger operand's sum is exact. */
function added(k: Emitter, a: Pair, b: Pair): Pair {
  const sum = k.add(a[0], b[0]);
  const isFirst = k.compare("ge", k.abs(a[0]), k.abs(b[0]));
  const [large, small] = [k.select(isFirst, a[0], b[0]), k.select(isFirst, b[0], a[0])];
  const error = k.add(k.sub(large, sum), small);
  return [sum, k.add(k.add(a[1], b[1]), error)];
}
