import type { ProgramGraph } from "../../program/programGraph.ts";
import { withChanges } from "./graph.ts";

/** Drops nodes that no output and no effect depends on. Writes to persistents are effects and stay. */
export function deadCode(program: ProgramGraph): ProgramGraph {
  const live = new Set(program.outputs.map((output) => output.value));
  const nodes = program.nodes.toReversed().filter((node) => {
    if (node.op.writes === undefined && !live.has(node.output)) return false;
    for (const id of node.inputs) if (id !== undefined) live.add(id);
    return true;
  });
  return withChanges(program, { nodes: nodes.reverse() });
}
