import type { ProgramGraph } from "../../program/programGraph.ts";
import { type Fusion, type FusionLimits, fuseElementwise, type RefusesGroup } from "./fuseElementwise.ts";
import { fuseEpilogues } from "./fuseEpilogues.ts";
import { fusePrologues } from "./fusePrologues.ts";
import { fuseScans } from "./fuseScans.ts";
import { fuseSiblings } from "./fuseSiblings.ts";

/** The passes that ask the backend, in order. What one of them is refused stays as the one before left it. */
export function fuse(program: ProgramGraph, refuses: RefusesGroup, limits?: FusionLimits): Fusion {
  const elementwise = fuseElementwise(program, refuses, limits);
  // Before a group finishes one of the products that it could finish together.
  const siblings = fuseSiblings(elementwise.program, refuses, limits);
  const epilogues = fuseEpilogues(siblings.program, refuses, limits);
  // After them: a group rather finishes the product before it than it feeds the reduction behind it.
  const prologues = fusePrologues(epilogues.program, refuses, limits);
  const scans = fuseScans(prologues.program, refuses, limits);
  return { program: scans.program, notes: [elementwise, siblings, epilogues, prologues, scans].flatMap(({ notes }) => notes) };
}
