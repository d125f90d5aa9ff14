import type { ProgramGraph } from "../../program/programGraph.ts";
import { commonSubexpressions } from "./commonSubexpressions.ts";
import { deadCode } from "./deadCode.ts";
import { foldConstants } from "./foldConstants.ts";

/** The passes that need no backend, in order. Each is a pure function from program to program. */
export const passes: readonly { readonly name: string; readonly apply: (program: ProgramGraph) => ProgramGraph }[] = [
  { name: "deadCode", apply: deadCode },
  { name: "commonSubexpressions", apply: commonSubexpressions },
  { name: "foldConstants", apply: foldConstants },
  // What was folded apart may be equal now, and what it read may be dead.
  { name: "commonSubexpressions", apply: commonSubexpressions },
  { name: "deadCode", apply: deadCode },
];

/** The program that a backend computes in place of a recorded one. */
export function simplify(program: ProgramGraph): ProgramGraph {
  return passes.reduce((before, { apply }) => apply(before), program);
}
