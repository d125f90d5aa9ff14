import { deltaScan } from "../../ops/deltaScan.ts";
import { deltaScanWrite } from "../../ops/deltaScanWrite.ts";
import { ssmScan } from "../../ops/ssmScan.ts";
import { ssmScanWrite } from "../../ops/ssmScanWrite.ts";
import { type AnyOp, inputName } from "../../program/op.ts";
import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { consumersOf, delaysOf } from "./graph.ts";
import { type Fusion, type FusionLimits, Grouping, type RefusesGroup } from "./grouping.ts";

/** Scans, and the ops that write the states of the same walk. All inputs of a write are the scan's too. */
const pairs: readonly (readonly [AnyOp, AnyOp])[] = [
  [ssmScan, ssmScanWrite],
  [deltaScan, deltaScanWrite],
];
const writeOf = new Map(pairs);
const writes = new Set(writeOf.values());

/**
 * Fuses a scan and the write of its states, if both have the same inputs, into one node with two results: the tokens' and the state's
 * next version. It runs where the state is written, so nothing may read the tokens' results earlier, and the inputs of the scan alone
 * must not have changed by then. Linear in the number of nodes.
 */
export function fuseScans(program: ProgramGraph, refuses: RefusesGroup, limits: FusionLimits = {}): Fusion {
  const { nodes } = program;
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const grouping = new Grouping(program, refuses, limits);
  const scans = new Map<string, Node>();
  nodes.forEach((node, at) => {
    const write = writeOf.get(node.op);
    if (write !== undefined) {
      scans.set(keyOf(node, write), node);
      return;
    }
    const scan = writes.has(node.op) ? scans.get(keyOf(node, node.op)) : undefined;
    if (scan === undefined) return;
    const isReadBefore = (consumers.get(scan.output) ?? []).some((consumer) => consumer < at);
    const inputsOfScanAlone = scan.inputs.filter((_, index) => !node.op.inputs.includes(inputName(scan.op, index)));
    if (isReadBefore || !mayRunAt({ ...scan, inputs: inputsOfScanAlone }, at)) return;
    grouping.propose({ members: [scan, node], at: node, key: "" });
  });
  return grouping.fusion();
}

/** The write's op and inputs as `node`, a scan or the write itself, has them. */
function keyOf({ op, inputs }: Node, write: AnyOp): string {
  return [write.name, ...write.inputs.map((name) => inputs[op.inputs.indexOf(name)])].join();
}
