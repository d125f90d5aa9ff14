import { emitActivations } from "../../blockProducts/activations.ts";
import { emitGroups } from "../../blockProducts/groups.ts";
import type { ModuleBuilder } from "../../emit/index.ts";
import { emitDecodeGroup } from "../../formats/decodeGroup.ts";
import { emitDecodeRow } from "../../formats/decodeRow.ts";
import { emitInterleave } from "../../formats/interleave.ts";
import type { Target } from "../../target.ts";

/** Emits functions that several kernels call. */
export function emitShared(module: ModuleBuilder, target: Target): void {
  emitDecodeRow(module);
  emitDecodeGroup(module, target);
  emitActivations(module, target);
  emitGroups(module, target);
  emitInterleave(module);
}
