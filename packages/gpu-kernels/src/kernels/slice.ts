import { asValue, plus, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { countOf, moveStep, rowAndPlace, unitsOf } from "../shared/moving.ts";
import { normalAxis } from "../shared/strided.ts";

export const slice: GpuKernelOf<"slice"> = {
  steps: (call, { axis: given, start, step }) => {
    const { shape, dtype } = call.inputs[0];
    const taken = call.output.shape;
    const axis = normalAxis(given, shape.length);
    // A start from the end needs a number of elements; a symbolic axis starts at 0.
    const first = start < 0 ? start + (shape[axis] as number) : start;
    const inner = shape.slice(axis + 1);
    // What follows one another in both tensors: all places of the axis, or one.
    const outer = taken.slice(0, step === 1 ? axis : axis + 1);
    const { arePieces, counts } = unitsOf(dtype, {
      run: taken.slice(outer.length),
      row: shape.slice(axis),
      skipped: [first, ...inner],
    });
    return [
      moveStep({
        name: dtype,
        args: { x: input(call, 0), y: output(call) },
        shape: [...outer, ...counts.run],
        arePieces,
        from: (scope, index, load) => {
          const { k } = scope;
          const run = countOf(scope, counts.run);
          const [place, within] = rowAndPlace(k, index, outer, run);
          const [row, taking] = step === 1 ? [place, 0] : unflatten(k, place, [1, scope.whole(taken[axis] as number)]);
          const start = timesPlus(k, times(k, taking, scope.whole(step)), run, countOf(scope, counts.skipped));
          return load("x", asValue(k, plus(k, timesPlus(k, row, countOf(scope, counts.row), start), within)));
        },
      }),
    ];
  },
};
