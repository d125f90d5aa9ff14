import type { ProgramGraph } from "../program.ts";

/** Drops nodes that no output and no effect depends on. Writes to persistents are effects and stay. */
export function deadCode(program: ProgramGraph): ProgramGraph {
  const live = new Set(program.outputs.map((output) => output.value));
  const nodes = program.nodes.toReversed().filter((node) => {
    if (node.op.writes === undefined && !live.has(node.output)) return false;
    for (const id of node.inputs) if (id !== undefined) live.add(id);
    return true;
  });
  return { ...pick(program), nodes: nodes.reverse() };
}

/** The graph's own fields, so that a recorder's methods do not leak into a pass's result. */
function pick({ dims, values, nodes, inputs, persistents, outputs }: ProgramGraph): ProgramGraph {
  return { dims, values, nodes, inputs, persistents, outputs };
}
