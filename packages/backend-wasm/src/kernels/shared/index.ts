import type { ModuleBuilder } from "../../emit/index.ts";
import { emitActivations } from "../../formats/activations.ts";
import { emitDecodePanel } from "../../formats/decodePanel.ts";
import { emitDecodeRow } from "../../formats/decodeRow.ts";
import type { Target } from "../../linking/target.ts";
import { emitGroups } from "../../matmul/groups.ts";

/** Emits the functions that several kernels call. */
export function emitShared(module: ModuleBuilder, target: Target): void {
  emitDecodeRow(module);
  emitDecodePanel(module, target);
  emitActivations(module, target);
  emitGroups(module, target);
}
