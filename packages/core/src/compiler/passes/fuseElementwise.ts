import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { sameShape, type TensorSpec } from "../../spec.ts";
import { compose, type FusedParams } from "./fused.ts";
import { consumersOf, delaysOf, withChanges } from "./graph.ts";

/** What a backend can bind and wants to compile in one kernel. */
export interface FusionLimits {
  /** Tensors that a group may read. */
  readonly maxInputs?: number;
  /** Calls in a group. */
  readonly maxCalls?: number;
}

/** Why a backend has no kernel for a group; undefined if it has. */
export type RefusesGroup = (inputs: readonly TensorSpec[], params: FusedParams, output: TensorSpec) => string | undefined;

/** A program after fusion, and what was left apart. */
export interface Fusion {
  readonly program: ProgramGraph;
  /** The reasons for groups that were refused. */
  readonly notes: readonly string[];
}

interface Group {
  /** Index of the node whose result leaves the group. */
  readonly root: number;
  /** Node indices, descending. */
  readonly members: number[];
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
  const notes: string[] = [];
  const { nodes } = program;
  const made = new Map<number, Node>();
  const absorbed = new Set<number>();
  for (const group of groupsOf(program, limits)) {
    if (group.members.length < 2) continue;
    const node = compose(
      program.values,
      group.members.toReversed().map((i) => nodes[i]!),
    );
    const reason = refuses(
      node.inputs.map((id) => program.values[id]!.spec),
      node.params,
      program.values[node.output]!.spec,
    );
    if (reason === undefined) {
      made.set(group.root, node);
      for (const member of group.members) absorbed.add(member);
    } else notes.push(`${formatBody(node.params)}: ${reason}`);
  }
  const after = nodes.flatMap((node, i) => made.get(i) ?? (absorbed.has(i) ? [] : [node]));
  return { program: withChanges(program, { nodes: after }), notes };
}

/** The ops of a body for a reader, e.g. `mul + add + relu`. */
export function formatBody({ body }: FusedParams): string {
  return body.map(({ op }) => op.name).join(" + ");
}

function groupsOf(program: ProgramGraph, { maxInputs = Infinity, maxCalls = Infinity }: FusionLimits): Iterable<Group> {
  const { nodes, values, outputs } = program;
  const isOutput = new Set(outputs.map(({ value }) => value));
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const groups = new Map<number, Group>();
  const groupOf = new Map<number, Group>();
  for (let i = nodes.length - 1; i >= 0; i--) {
    const { op, inputs, output } = nodes[i]!;
    if (op.elementwise !== true) continue;
    const group = soleConsumer(isOutput.has(output) ? undefined : consumers.get(output), groupOf);
    const fits =
      group !== undefined &&
      group.members.length < maxCalls &&
      readsWith(group, inputs, output) <= maxInputs &&
      sameShape(values[output]!.spec.shape, values[nodes[group.root]!.output]!.spec.shape) &&
      mayRunAt(nodes[i]!, group.root);
    const target: Group = fits ? group : { root: i, members: [], reads: new Set() };
    target.members.push(i);
    target.reads.delete(output);
    for (const id of inputs) if (id !== undefined) target.reads.add(id);
    groupOf.set(i, target);
    groups.set(target.root, target);
  }
  return groups.values();
}

/** The group that all consumers are in. */
function soleConsumer(consumers: readonly number[] | undefined, groupOf: ReadonlyMap<number, Group>): Group | undefined {
  const group = consumers === undefined ? undefined : groupOf.get(consumers[0]!);
  return consumers?.every((consumer) => groupOf.get(consumer) === group) === true ? group : undefined;
}

function readsWith({ reads }: Group, inputs: Node["inputs"], output: number): number {
  const added = new Set(inputs.filter((id) => id !== undefined && !reads.has(id)));
  return reads.size + added.size - (reads.has(output) ? 1 : 0);
}
