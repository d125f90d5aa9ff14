import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { sameShape } from "../../spec.ts";
import { compose, isElementwise, isFused } from "./fused.ts";
import { type Fusion, type FusionLimits, formatBody, type RefusesGroup } from "./fuseElementwise.ts";
import { consumersOf, delaysOf, withChanges } from "./graph.ts";

/**
 * Fuses an elementwise call or group into the call whose result it finishes: `relu(matmul(x, w) + b)` is one node with the
 * product as its body's first call. That result must have no other consumer and the group's shape. Of several calls that a
 * group could finish it is the last. The call then runs where the group does; see {@link delaysOf}.
 */
export function fuseEpilogues(program: ProgramGraph, refuses: RefusesGroup, { maxInputs = Infinity }: FusionLimits = {}): Fusion {
  const { nodes, values, outputs } = program;
  const isOutput = new Set(outputs.map(({ value }) => value));
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const notes: string[] = [];
  const made = new Map<number, Node>();
  const absorbed = new Set<number>();
  for (let i = nodes.length - 1; i >= 0; i--) {
    const anchor = nodes[i]!;
    const { op, output } = anchor;
    const readers = new Set(consumers.get(output));
    const [at] = readers;
    if (!isAnchor(anchor) || isOutput.has(output) || at === undefined || readers.size !== 1 || made.has(at)) continue;
    const epilogue = nodes[at]!;
    if (!isElementwise(epilogue) || !sameShape(values[output]!.spec.shape, values[epilogue.output]!.spec.shape) || !mayRunAt(anchor, at))
      continue;
    const node = compose(values, [anchor, epilogue]);
    if (node.inputs.length > maxInputs) continue;
    const specs = node.inputs.map((id) => values[id]!.spec);
    const reason = refuses(specs, node.params, values[node.output]!.spec);
    if (reason === undefined) {
      made.set(at, node);
      absorbed.add(i);
    } else if (!notes.some((note) => note.startsWith(`${op.name} + `))) notes.push(`${formatBody(node.params)}: ${reason}`);
  }
  const after = nodes.flatMap((node, i) => made.get(i) ?? (absorbed.has(i) ? [] : [node]));
  return { program: withChanges(program, { nodes: after }), notes };
}

function isAnchor({ op, inputs }: Node): boolean {
  return op.elementwise !== true && op.alias !== true && op.writes === undefined && !isFused(op) && inputs.every((id) => id !== undefined);
}
