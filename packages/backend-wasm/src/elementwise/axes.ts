import type { Shape } from "@centella/core";
import { elementAt, mapTuple } from "@centella/core/backend";
import { zip } from "../kernels/shared/zip.ts";

/** Adjacent output axes that every input either spans or broadcasts over. */
interface AxisGroup {
  /** Adjacent axes of the output. */
  readonly axes: readonly number[];
  /** Whether each input spans these axes. */
  readonly moves: readonly boolean[];
}

/**
 * Groups the axes of an output by how inputs broadcast, from the innermost out. There is at least one group; extents of
 * 1 are dropped. Does not depend on the values of symbolic dims.
 */
export function broadcastGroups(inputs: readonly Shape[], output: Shape): readonly [AxisGroup, ...AxisGroup[]] {
  const groups: AxisGroup[] = [];
  for (let axis = output.length - 1; axis >= 0; axis--) {
    if (output[axis] === 1) continue;
    const moves = inputs.map((shape) => (shape[axis - output.length + shape.length] ?? 1) !== 1);
    const last = groups.at(-1);
    if (last?.moves.every((moving, i) => moving === moves[i]) === true) groups[groups.length - 1] = { axes: [...last.axes, axis], moves };
    else groups.push({ axes: [axis], moves });
  }
  const [innermost = { axes: [], moves: inputs.map(() => true) }, ...others] = groups;
  return [innermost, ...others];
}

/** Extents of the groups in a run, and the element strides of each input along them. */
export function groupExtents(
  groups: readonly [AxisGroup, ...AxisGroup[]],
  shape: readonly number[],
): { readonly extents: readonly [number, ...number[]]; readonly strides: readonly (readonly number[])[] } {
  const extents = mapTuple(groups, ({ axes }) => axes.reduce((product, axis) => product * elementAt(shape, axis), 1));
  const [{ moves: inputs }] = groups;
  const strides = inputs.map((_, input) => {
    let stride = 1;
    return zip<AxisGroup, number>(groups, extents).map(([{ moves }, extent]) => {
      if (!moves[input]) return 0;
      const own = stride;
      stride *= extent;
      return own;
    });
  });
  return { extents, strides };
}
