import type { ProgramGraph } from "../program.ts";

/** A program with some fields replaced, without a recorder's methods. */
export function withChanges(
  { dims, values, nodes, inputs, persistents, outputs }: ProgramGraph,
  changes: Partial<Pick<ProgramGraph, "values" | "nodes" | "outputs">>,
): ProgramGraph {
  return { dims, values, nodes, inputs, persistents, outputs, ...changes };
}

/** The outputs with every value that was replaced by another renamed. */
export function renamedOutputs({ outputs }: ProgramGraph, replaced: ReadonlyMap<number, number>): ProgramGraph["outputs"] {
  return outputs.map((output) => ({ ...output, value: replaced.get(output.value) ?? output.value }));
}

/** For values that lie in a persistent's memory, aliases among them: the value that is this version of it. */
export function versions({ values, nodes }: ProgramGraph): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const { id, persistent } of values) if (persistent !== undefined) found.set(id, id);
  for (const { op, inputs, output } of nodes) {
    const version = op.alias === true ? found.get(inputs[0]!) : undefined;
    if (version !== undefined) found.set(output, version);
  }
  return found;
}
