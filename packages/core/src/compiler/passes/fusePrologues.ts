import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { compose, isElementwise, isFused } from "./fused.ts";
import { type Fusion, type FusionLimits, formatBody, type RefusesGroup } from "./fuseElementwise.ts";
import { consumersOf, delaysOf, withChanges } from "./graph.ts";

/**
 * Fuses an elementwise call or group into the call that its result is the first tensor of: `sum(x * w)` and `rmsNorm(x + y)` are one
 * node with the sum and the norm as their body's last call. The group runs where that call does; see {@link delaysOf}. A result that
 * calls further on read as well, like the residual `x + y` of a model's layer, or that is an output, leaves the group beside the last
 * one's (`FusedParams.extraOutputs`). Linear in the number of nodes.
 */
export function fusePrologues(program: ProgramGraph, refuses: RefusesGroup, { maxInputs = Infinity }: FusionLimits = {}): Fusion {
  const { nodes, values, outputs } = program;
  const isOutput = new Set(outputs.map(({ value }) => value));
  const producers = new Map(nodes.map(({ output }, i) => [output, i]));
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const notes: string[] = [];
  const made = new Map<number, Node>();
  const absorbed = new Set<number>();
  nodes.forEach((reader, at) => {
    const [source] = reader.inputs;
    const from = source === undefined ? undefined : producers.get(source);
    if (!isReader(reader) || from === undefined) return;
    const readers = consumers.get(source!)!;
    if (readers[0] !== at) return;
    const isKept = isOutput.has(source!) || readers.length > 1;
    const prologue = nodes[from]!;
    if (!isElementwise(prologue) || !mayRunAt(prologue, at)) return;
    const node = compose(values, [prologue, reader], new Set(isKept ? [source!] : []));
    if (node.inputs.length > maxInputs) return;
    const specs = node.inputs.map((id) => values[id]!.spec);
    const reason = refuses(specs, node.params, values[node.output]!.spec);
    if (reason === undefined) {
      made.set(at, node);
      absorbed.add(from);
    } else if (!notes.some((note) => note.includes(` + ${reader.op.name}: `))) notes.push(`${formatBody(node.params)}: ${reason}`);
  });
  const after = nodes.flatMap((node, i) => made.get(i) ?? (absorbed.has(i) ? [] : [node]));
  return { program: withChanges(program, { nodes: after }), notes };
}

function isReader({ op, inputs }: Node): boolean {
  return inputs.every((id) => id !== undefined) && op.elementwise !== true && op.alias !== true && op.writes === undefined && !isFused(op);
}
