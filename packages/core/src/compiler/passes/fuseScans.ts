import { ssmScan } from "../../ops/ssmScan.ts";
import { ssmScanWrite } from "../../ops/ssmScanWrite.ts";
import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { consumersOf, delaysOf } from "./graph.ts";
import { type Fusion, type FusionLimits, Grouping, type RefusesGroup } from "./grouping.ts";

/**
 * Fuses an `ssmScan` and the `ssmScanWrite` of the same inputs, which walk the same tokens, into one node with two results: the tokens'
 * and the state's next version. It runs where the state is written, so nothing may read the tokens' results earlier, and the inputs of
 * the scan alone must not have changed by then. Linear in the number of nodes.
 */
export function fuseScans(program: ProgramGraph, refuses: RefusesGroup, limits: FusionLimits = {}): Fusion {
  const { nodes } = program;
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const grouping = new Grouping(program, refuses, limits);
  const scans = new Map<string, Node>();
  nodes.forEach((node, at) => {
    if (node.op === ssmScan) {
      scans.set(keyOf(node, scanned), node);
      return;
    }
    const scan = node.op === ssmScanWrite ? scans.get(keyOf(node, written)) : undefined;
    if (scan === undefined) return;
    const isReadBefore = (consumers.get(scan.output) ?? []).some((consumer) => consumer < at);
    // The other inputs are the write's own.
    if (isReadBefore || !mayRunAt({ ...scan, inputs: [scan.inputs[outputWeights]] }, at)) return;
    grouping.propose({ members: [scan, node], at: node, key: "" });
  });
  return grouping.fusion();
}

/** The inputs that both have, in one order: x, dt, a, b, state, positions, rows. */
const scanned = [0, 1, 2, 3, 5, 6, 7];
const written = [1, 2, 3, 4, 0, 5, 6];
/** The input that `ssmScan` alone has: c. */
const outputWeights = 4;

function keyOf({ inputs }: Node, places: readonly number[]): string {
  return places.map((place) => inputs[place]).join();
}
