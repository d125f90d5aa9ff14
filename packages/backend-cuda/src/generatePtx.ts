import { entryOf, largestDims, lower, type ProgramGraph } from "@centella/core/backend";
import { fusion, kernelTable } from "./kernels/index.ts";
import { hopper } from "./kernels/shared/gpu.ts";
import { planVariant, variantSource } from "./plan/variant.ts";
import { chooseUnits } from "./weights/chooseUnits.ts";
import type { UnitMatrix } from "./weights/unitFormat.ts";

/** One launch of a program's plan. */
export interface GeneratedKernel {
  readonly op: string;
  /** Name of the kernel in its text. */
  readonly entry: string;
  readonly ptx: string;
}

/**
 * Returns the launches of a program's plan on an H100 in order, each symbolic dim at its maximum. Pure: needs neither a driver nor a GPU.
 * @throws {UnsupportedError} if an op has no kernel here
 */
export function generatePtx(program: ProgramGraph): readonly GeneratedKernel[] {
  const lowered = lower(program, "cuda", kernelTable.unsupported, { fusion, memoryModel: "addressSpace" });
  const unitsOf = (name: string): UnitMatrix | undefined => chooseUnits(entryOf(program.persistents, name), [lowered]);
  const { launches } = planVariant(variantSource(lowered, { gpu: hopper, unitsOf }), largestDims(program), new Set());
  return launches.map(({ op, launch: { entry, ptx } }) => ({ op, entry, ptx }));
}
