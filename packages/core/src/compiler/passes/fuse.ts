import type { ProgramGraph } from "../../program/programGraph.ts";
import { fuseCacheWrites } from "./fuseCacheWrites.ts";
import { fuseElementwise } from "./fuseElementwise.ts";
import { fuseEpilogues } from "./fuseEpilogues.ts";
import { fuseNorms } from "./fuseNorms.ts";
import { fusePrologues } from "./fusePrologues.ts";
import { fuseScans } from "./fuseScans.ts";
import { fuseSiblings } from "./fuseSiblings.ts";
import type { Fusion, FusionLimits, RefusedGroup, RefusesGroup } from "./grouping.ts";

/**
 * The passes that ask the backend, in order:
 * - siblings before epilogues, so that a group does not become the epilogue of one product that siblings could compute together;
 * - epilogues before prologues: a group is fused into the product before it rather than into the reduction after it;
 * - norms after prologues, which join them, and after all that products join.
 */
const passes = [fuseElementwise, fuseSiblings, fuseEpilogues, fusePrologues, fuseNorms, fuseScans, fuseCacheWrites];

/** Runs all passes. What a pass is refused stays as the pass before left it. */
export function fuse(program: ProgramGraph, refuses: RefusesGroup, limits?: FusionLimits): Fusion {
  const refused: RefusedGroup[] = [];
  let current = program;
  for (const pass of passes) {
    const fusion = pass(current, refuses, limits);
    refused.push(...fusion.refused);
    current = fusion.program;
  }
  return { program: current, refused };
}
