import { elementAt } from "@centella/quant/checks";
import type { Lowered } from "../compiler/lowered.ts";
import { resultsOfNode, valueNames } from "../compiler/valueNames.ts";
import type { Profile, StepTime } from "./backend.ts";

/** The profile of a run whose steps took `times`, in the order of the steps. */
export function profileOf({ program }: Lowered, times: readonly StepTime[]): Profile {
  const nameOf = valueNames(program);
  const nodes = program.nodes.filter(({ op }) => op.alias !== true);
  const steps = nodes.map((node, i) => ({
    name: resultsOfNode(node).map(nameOf).join(", "),
    op: node.op.name,
    ...elementAt(times, i),
  }));
  return { steps, total: times.reduce((sum, { microseconds }) => sum + microseconds, 0) };
}
