import { elementAt } from "@centella/quant/checks";
import type { Lowered } from "../compiler/lowered.ts";
import { resultsOfNode, valueNames } from "../compiler/valueNames.ts";
import type { Profile, StepTime } from "./backend.ts";

/** The profile of a run with the times of its steps, in their order, or with one time of the whole run. */
export function profileOf({ program }: Lowered, perStep: boolean, times: readonly StepTime[]): Profile {
  const total = times.reduce((sum, { microseconds }) => sum + microseconds, 0);
  if (!perStep) return { steps: [], total };
  const nameOf = valueNames(program);
  const nodes = program.nodes.filter(({ op }) => op.alias !== true);
  const steps = nodes.map((node, i) => ({
    name: resultsOfNode(node).map(nameOf).join(", "),
    op: node.op.name,
    ...elementAt(times, i),
  }));
  return { steps, total };
}
