import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { writtenInput } from "./fused.ts";

/** A program with some fields replaced, without a recorder's methods. */
export function withChanges(
  { dims, values, nodes, inputs, persistents, outputs }: ProgramGraph,
  changes: Partial<Pick<ProgramGraph, "values" | "nodes" | "outputs">>,
): ProgramGraph {
  return { dims, values, nodes, inputs, persistents, outputs, ...changes };
}

/** The outputs of a program, with replaced values renamed. */
export function renamedOutputs({ outputs }: ProgramGraph, replaced: ReadonlyMap<number, number>): ProgramGraph["outputs"] {
  return outputs.map((output) => ({ ...output, value: replaced.get(output.value) ?? output.value }));
}

/** For values in a persistent's memory, including aliases: the value that is this version of the persistent. */
export function versions({ values, nodes }: ProgramGraph): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const { id, persistent } of values) if (persistent !== undefined) found.set(id, id);
  for (const { op, inputs, output } of nodes) {
    const version = op.alias === true ? found.get(inputs[0]!) : undefined;
    if (version !== undefined) found.set(output, version);
  }
  return found;
}

/** Indices of the nodes that read each value. */
export function consumersOf(nodes: readonly Node[]): ReadonlyMap<number, readonly number[]> {
  const found = new Map<number, number[]>();
  nodes.forEach(({ inputs }, i) => {
    for (const id of inputs) {
      if (id === undefined) continue;
      const known = found.get(id);
      if (known === undefined) found.set(id, [i]);
      else known.push(i);
    }
  });
  return found;
}

/** Returns whether a node may run in the place of a later one: no version of a persistent that it reads has been written by then. */
export function delaysOf(program: ProgramGraph): (node: Node, index: number) => boolean {
  const version = versions(program);
  const overwritten = new Map<number, number>();
  program.nodes.forEach((node, i) => {
    const written = writtenInput(node);
    if (written !== undefined) overwritten.set(node.inputs[written]!, i);
  });
  const end = (id: number | undefined): number =>
    (id === undefined ? undefined : overwritten.get(version.get(id) ?? -1)) ?? Number.POSITIVE_INFINITY;
  return ({ inputs }, index) => inputs.every((id) => end(id) > index);
}
