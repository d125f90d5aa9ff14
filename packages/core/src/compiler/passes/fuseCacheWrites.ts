import { kvWrite } from "../../ops/kvWrite.ts";
import { rope } from "../../ops/rope.ts";
import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { structuralKey } from "../../program/structuralKey.ts";
import { consumersOf, delaysOf } from "./graph.ts";
import { type Fusion, type FusionLimits, Grouping, type RefusesGroup } from "./grouping.ts";

/**
 * Fuses the `rope` of keys into the `kvWrite` that alone reads them. The `rope` of queries that turns by the same angles joins them, as an
 * extra output, if nothing reads it before the write; a group that the backend refuses is tried without it. The group runs where the
 * cache is written, so the inputs of the ropes must not have changed by then. Linear in the number of nodes.
 */
export function fuseCacheWrites(program: ProgramGraph, refuses: RefusesGroup, limits: FusionLimits = {}): Fusion {
  const { nodes, outputs } = program;
  const isOutput = new Set(outputs.map(({ value }) => value));
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const grouping = new Grouping(program, refuses, limits);
  /** The ropes of the same angles since the last write, by {@link anglesOf}. */
  const ropes = new Map<string, Node[]>();
  const producers = new Map<number, Node>();
  nodes.forEach((node, at) => {
    if (node.op === rope) {
      const angles = anglesOf(node);
      ropes.set(angles, [...(ropes.get(angles) ?? []), node]);
      producers.set(node.output, node);
    }
    const [, rotated] = node.inputs;
    const keys = node.op === kvWrite && rotated !== undefined ? producers.get(rotated) : undefined;
    if (keys === undefined) return;
    const angles = anglesOf(keys);
    const known = ropes.get(angles) ?? [];
    ropes.delete(angles);
    if (isOutput.has(keys.output) || consumers.get(keys.output)?.length !== 1 || !mayRunAt(keys, at)) return;
    const isUnread = ({ output }: Node): boolean => (consumers.get(output) ?? []).every((consumer) => consumer > at);
    const queries = known.findLast((other) => other !== keys && isUnread(other) && mayRunAt(other, at));
    const inOrder = known.filter((each) => each === queries || each === keys);
    if (queries !== undefined && grouping.propose({ members: [...inOrder, node], at: node, key: "queries" })) return;
    grouping.propose({ members: [keys, node], at: node, key: "keys" });
  });
  return grouping.fusion();
}

function anglesOf({ op, inputs: [, ...angles], params }: Node): string {
  return `${angles.join()} ${structuralKey(op.name, params)}`;
}
