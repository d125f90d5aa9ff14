import { elementAt, sameShape } from "@centella/core/backend";
import { asValue } from "../extent.ts";
import { type GpuKernelOf, input, output } from "../kernel.ts";
import { broadcastIndices, broadcastMap } from "../shared/elementwise.ts";
import { moveStep, unitsOf } from "../shared/moving.ts";

export const expand: GpuKernelOf<"expand"> = {
  steps: (call) => {
    const [{ shape, dtype }] = call.inputs;
    const expanded = call.output.shape;
    const depth = expanded.length - shape.length;
    // The axes from this one on are those of both tensors.
    const first = shape.findIndex((_, axis) => sameShape(shape.slice(axis), expanded.slice(depth + axis)));
    const { arePieces, counts } = unitsOf(dtype, { inner: first < 0 ? [] : shape.slice(first) });
    if (!arePieces) return [broadcastMap(call, ({ k }, [x]) => k.loadBits(x.name, x.at))];
    const from = [...shape.slice(0, first), ...counts.inner];
    const to = [...expanded.slice(0, depth + first), ...counts.inner];
    return [
      moveStep({
        name: dtype,
        args: { x: input(call, 0), y: output(call) },
        shape: to,
        arePieces,
        from: (scope, index, load) => load("x", asValue(scope.k, elementAt(broadcastIndices(scope, to, [from], index), 0))),
      }),
    ];
  },
};
