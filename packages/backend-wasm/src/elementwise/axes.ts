import type { Shape } from "@centella/core";

/** Axes of an output that every input either moves along or is stretched over, as one. */
interface AxisGroup {
  /** The output's axes, neighbours. */
  readonly axes: readonly number[];
  /** For each input whether it moves along. */
  readonly moves: readonly boolean[];
}

/**
 * How inputs broadcast to an output: groups of axes from the innermost out, at least one. Extents of 1 are left out. Known when a
 * plan is compiled, symbolic dims and all.
 */
export function broadcastGroups(inputs: readonly Shape[], output: Shape): readonly AxisGroup[] {
  const groups: AxisGroup[] = [];
  for (let axis = output.length - 1; axis >= 0; axis--) {
    if (output[axis] === 1) continue;
    const moves = inputs.map((shape) => (shape[axis - output.length + shape.length] ?? 1) !== 1);
    const last = groups.at(-1);
    if (last?.moves.every((moving, i) => moving === moves[i]) === true) groups[groups.length - 1] = { axes: [...last.axes, axis], moves };
    else groups.push({ axes: [axis], moves });
  }
  return groups.length > 0 ? groups : [{ axes: [], moves: inputs.map(() => true) }];
}

/** Extents of the groups in a run, and each input's element strides along them. */
export function groupExtents(
  groups: readonly AxisGroup[],
  shape: readonly number[],
): { readonly extents: readonly number[]; readonly strides: readonly (readonly number[])[] } {
  const extents = groups.map(({ axes }) => axes.reduce((product, axis) => product * shape[axis]!, 1));
  const strides = groups[0]!.moves.map((_, input) => {
    let stride = 1;
    return groups.map(({ moves }, group) => {
      if (!moves[input]) return 0;
      const own = stride;
      stride *= extents[group]!;
      return own;
    });
  });
  return { extents, strides };
}
