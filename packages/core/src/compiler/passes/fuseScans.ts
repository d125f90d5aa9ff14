import { ssmScan } from "../../ops/ssmScan.ts";
import { ssmScanWrite } from "../../ops/ssmScanWrite.ts";
import type { Node, ProgramGraph } from "../../program/programGraph.ts";
import { compose } from "./fused.ts";
import { type Fusion, type FusionLimits, formatBody, type RefusesGroup } from "./fuseElementwise.ts";
import { consumersOf, delaysOf, withChanges } from "./graph.ts";

/**
 * Fuses an `ssmScan` and the `ssmScanWrite` of the same inputs, which walk the same tokens, into one node with two results: the tokens'
 * and the state's next version. It runs where the state is written, so nothing may read the tokens' results before, and what the scan
 * alone reads must be there unchanged. Linear in the number of nodes.
 */
export function fuseScans(program: ProgramGraph, refuses: RefusesGroup, { maxInputs = Infinity }: FusionLimits = {}): Fusion {
  const { nodes, values } = program;
  const consumers = consumersOf(nodes);
  const mayRunAt = delaysOf(program);
  const notes = new Set<string>();
  const scans = new Map<string, number>();
  const made = new Map<number, Node>();
  const absorbed = new Set<number>();
  nodes.forEach((node, at) => {
    if (node.op === ssmScan) {
      scans.set(keyOf(node, scanned), at);
      return;
    }
    const from = node.op === ssmScanWrite ? scans.get(keyOf(node, written)) : undefined;
    if (from === undefined) return;
    const scan = nodes[from]!;
    const isReadBefore = (consumers.get(scan.output) ?? []).some((consumer) => consumer < at);
    // The other inputs are the write's own.
    if (isReadBefore || !mayRunAt({ ...scan, inputs: [scan.inputs[outputWeights]] }, at)) return;
    const group = compose(values, [scan, node]);
    if (group.inputs.length > maxInputs) return;
    const specs = group.inputs.map((id) => values[id]!.spec);
    const reason = refuses(specs, group.params, values[group.output]!.spec);
    if (reason === undefined) {
      made.set(at, group);
      absorbed.add(from);
    } else notes.add(`${formatBody(group.params)}: ${reason}`);
  });
  const after = nodes.flatMap((node, i) => made.get(i) ?? (absorbed.has(i) ? [] : [node]));
  return { program: withChanges(program, { nodes: after }), notes: [...notes] };
}

/** The inputs that both have, in one order: x, dt, a, b, state, positions, rows. */
const scanned = [0, 1, 2, 3, 5, 6, 7];
const written = [1, 2, 3, 4, 0, 5, 6];
/** The input that `ssmScan` alone has: c. */
const outputWeights = 4;

function keyOf({ inputs }: Node, places: readonly number[]): string {
  return places.map((place) => inputs[place]).join();
}
