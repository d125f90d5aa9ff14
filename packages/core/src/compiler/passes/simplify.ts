import type { ProgramGraph } from "../../program/programGraph.ts";
import { commonSubexpressions } from "./commonSubexpressions.ts";
import { deadCode } from "./deadCode.ts";
import { foldConstants } from "./foldConstants.ts";

/** The passes that need no backend, in order. Each is a pure function from program to program. */
export const passes: readonly { readonly name: string; readonly apply: (program: ProgramGraph) => ProgramGraph }[] = [
  { name: "deadCode", apply: deadCode },
  { name: "commonSubexpressions", apply: commonSubexpressions },
  { name: "foldConstants", apply: foldConstants },
  // After folding, calls may be equal, and their inputs may be dead.
  { name: "commonSubexpressions", apply: commonSubexpressions },
  { name: "deadCode", apply: deadCode },
];

/** Simplifies a recorded program. The result computes the same values. */
export function simplify(program: ProgramGraph): ProgramGraph {
  return passes.reduce((before, { apply }) => apply(before), program);
}
