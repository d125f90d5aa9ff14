import { type Node, type ProgramGraph, specOf } from "../../program/programGraph.ts";
import { sameShape } from "../../spec.ts";
import { isElementwise, isFused } from "./fused.ts";
import { consumersOf, delaysOf } from "./graph.ts";
import { type Fusion, type FusionLimits, Grouping, type RefusesGroup } from "./grouping.ts";

/**
 * Fuses an elementwise call or group into the call whose result it reads: `relu(matmul(x, w) + b)` is one node with the product as
 * its body's first call. That result must have no other consumer and the group's shape. If a group could be the epilogue of several
 * calls, the last one gets it. The call then runs where the group does; see {@link delaysOf}.
 */
export function fuseEpilogues(program: ProgramGraph, refuses: RefusesGroup, limits: FusionLimits = {}): Fusion {
  const { nodes, outputs } = program;
  const isOutput = new Set(outputs.map(({ value }) => value));
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const grouping = new Grouping(program, refuses, limits);
  for (const anchor of nodes.toReversed()) {
    const { op, output } = anchor;
    const readers = new Set(consumers.get(output));
    const [at] = readers;
    const epilogue = at === undefined || readers.size > 1 ? undefined : nodes[at];
    if (at === undefined || epilogue === undefined || !isAnchor(anchor) || isOutput.has(output) || grouping.isGrouped(epilogue)) continue;
    const isSameShape = sameShape(specOf(program, output).shape, specOf(program, epilogue.output).shape);
    if (!isElementwise(epilogue) || !isSameShape || !mayRunAt(anchor, at)) continue;
    grouping.propose({ members: [anchor, epilogue], at: epilogue, key: op.name });
  }
  return grouping.fusion();
}

function isAnchor({ op }: Node): boolean {
  return op.elementwise !== true && op.alias !== true && op.writes === undefined && !isFused(op);
}
