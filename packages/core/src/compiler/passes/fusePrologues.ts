import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { isElementwise, isFused } from "./fused.ts";
import { consumersOf, delaysOf } from "./graph.ts";
import { type Fusion, type FusionLimits, Grouping, type RefusesGroup } from "./grouping.ts";

/**
 * Fuses an elementwise call or group into the call that reads its result as the first tensor: `sum(x * w)` and `rmsNorm(x + y)` are
 * one node with the sum and the norm as their body's last call. The group runs where that call does; see {@link delaysOf}. A result
 * that later calls read as well, like the residual `x + y` of a model's layer, or that is an output, becomes an extra output of the
 * group (`FusedParams.extraOutputs`). Linear in the number of nodes.
 */
export function fusePrologues(program: ProgramGraph, refuses: RefusesGroup, limits: FusionLimits = {}): Fusion {
  const { nodes, outputs } = program;
  const isOutput = new Set(outputs.map(({ value }) => value));
  const producers = new Map(nodes.map((node) => [node.output, node]));
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const grouping = new Grouping(program, refuses, limits);
  nodes.forEach((reader, at) => {
    const [source] = reader.inputs;
    const prologue = source === undefined ? undefined : producers.get(source);
    if (source === undefined || prologue === undefined || !isReader(reader)) return;
    const readers = consumers.get(source) ?? [];
    if (readers[0] !== at || !isElementwise(prologue) || !mayRunAt(prologue, at)) return;
    const isKept = isOutput.has(source) || readers.length > 1;
    grouping.propose({ members: [prologue, reader], at: reader, key: reader.op.name, kept: new Set(isKept ? [source] : []) });
  });
  return grouping.fusion();
}

function isReader({ op }: Node): boolean {
  return op.elementwise !== true && op.alias !== true && op.writes === undefined && !isFused(op);
}
