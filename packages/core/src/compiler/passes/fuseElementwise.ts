import { elementAt } from "@centella/quant/checks";
import { type Node, type ProgramGraph, specOf } from "../../program/programGraph.ts";
import { sameShape } from "../../spec.ts";
import { consumersOf, delaysOf } from "./graph.ts";
import { type Fusion, type FusionLimits, Grouping, type RefusesGroup } from "./grouping.ts";

interface Group {
  /** The node whose result leaves the group, and its index. */
  readonly root: Node;
  readonly at: number;
  /** In reverse order. */
  readonly members: Node[];
  /** Values that it reads from outside. */
  readonly reads: Set<number>;
}

/**
 * Fuses elementwise calls, chains and DAGs of any depth and width, into groups of one result. A call joins the group that
 * consumes it if nothing else does, if its shape is the group's (a smaller one would be computed many times over) and if the
 * limits allow. It then runs where the group's result is computed, so a version of a persistent that it reads must not have been
 * written by then. Linear in the number of nodes.
 */
export function fuseElementwise(program: ProgramGraph, refuses: RefusesGroup, limits: FusionLimits = {}): Fusion {
  const grouping = new Grouping(program, refuses, limits);
  for (const { root, at, members } of groupsOf(program, limits)) {
    if (members.length > 1) grouping.propose({ members: members.toReversed(), at: root, key: String(at) });
  }
  return grouping.fusion();
}

function groupsOf(program: ProgramGraph, { maxInputs = Infinity, maxCalls = Infinity }: FusionLimits): Iterable<Group> {
  const { nodes, outputs } = program;
  const isOutput = new Set(outputs.map(({ value }) => value));
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  /** Groups by their root, and by each member's index. */
  const groups = new Map<Node, Group>();
  const groupOf = new Map<number, Group>();
  for (const [i, node] of [...nodes.entries()].reverse()) {
    const { op, inputs, output } = node;
    if (op.elementwise !== true) continue;
    const group = isOutput.has(output) ? undefined : soleConsumer(consumers.get(output), groupOf);
    const fits =
      group !== undefined &&
      group.members.length < maxCalls &&
      readsWith(group, inputs, output) <= maxInputs &&
      sameShape(specOf(program, output).shape, specOf(program, group.root.output).shape) &&
      mayRunAt(node, group.at);
    const target: Group = fits ? group : { root: node, at: i, members: [], reads: new Set() };
    target.members.push(node);
    target.reads.delete(output);
    for (const id of inputs) if (id !== undefined) target.reads.add(id);
    groupOf.set(i, target);
    groups.set(target.root, target);
  }
  return groups.values();
}

/** The group that all consumers are in. */
function soleConsumer(consumers: readonly number[] | undefined, groupOf: ReadonlyMap<number, Group>): Group | undefined {
  const group = consumers === undefined ? undefined : groupOf.get(elementAt(consumers, 0));
  return consumers?.every((consumer) => groupOf.get(consumer) === group) === true ? group : undefined;
}

function readsWith({ reads }: Group, inputs: Node["inputs"], output: number): number {
  const added = new Set(inputs.filter((id) => id !== undefined && !reads.has(id)));
  return reads.size + added.size - (reads.has(output) ? 1 : 0);
}
