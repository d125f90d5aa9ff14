import type { AnyOp } from "../../program/op.ts";
import type { Node, ProgramGraph, ValueInfo } from "../../program/programGraph.ts";
import { structuralKey } from "../../program/structuralKey.ts";
import { formatSpec } from "../../spec.ts";
import { renamedOutputs, withChanges } from "./graph.ts";

/** Larger constants are compared by nobody: their text would cost more than the memory that it saves. */
const maxConstantBytes = 64;

/**
 * Computes once what is recorded twice: calls of one op with the same inputs and parameters, and small constants with the
 * same content. Versions of a persistent are values of their own, so a read before a write is never merged with one after
 * it; writes are effects and are never merged.
 */
export function commonSubexpressions(program: ProgramGraph): ProgramGraph {
  const replaced = new Map<number, number>();
  const known = new Map<string, number>();
  const merge = (key: string, id: number): boolean => {
    const first = known.get(key);
    if (first === undefined) known.set(key, id);
    else replaced.set(id, first);
    return first !== undefined;
  };
  for (const value of program.values) {
    const key = constantKey(value);
    if (key !== undefined) merge(key, value.id);
  }
  // Custom ops may share a name.
  const numbers = new Map<AnyOp, number>();
  const nodes: Node[] = [];
  for (const node of program.nodes) {
    const inputs = node.inputs.map((id) => (id === undefined ? undefined : (replaced.get(id) ?? id)));
    if (!numbers.has(node.op)) numbers.set(node.op, numbers.size);
    const key = `${numbers.get(node.op)} ${inputs.join()} ${structuralKey(node.op.name, node.params)}`;
    if (node.op.writes === undefined && merge(key, node.output)) continue;
    nodes.push({ ...node, inputs });
  }
  return withChanges(program, { nodes, outputs: renamedOutputs(program, replaced) });
}

function constantKey({ spec, definition }: ValueInfo): string | undefined {
  if (definition.kind !== "constant" || definition.data.byteLength > maxConstantBytes) return undefined;
  const { buffer, byteOffset, byteLength } = definition.data;
  return `constant ${formatSpec(spec)} ${new Uint8Array(buffer, byteOffset, byteLength).join()}`;
}
