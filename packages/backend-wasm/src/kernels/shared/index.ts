import type { ModuleBuilder } from "../../emit/index.ts";
import { emitActivations } from "../../formats/activations.ts";
import { emitDecodeRow } from "../../formats/decodeRow.ts";
import { emitExactGroups } from "../../matmul/exactGroups.ts";
import { emitGroups } from "../../matmul/groups.ts";
import { emitInner } from "../../matmul/inner.ts";
import { emitOuter } from "../../matmul/outer.ts";
import type { Target } from "../../target.ts";

/** Emits the functions that several kernels call. */
export function emitShared(module: ModuleBuilder, target: Target): void {
  emitDecodeRow(module);
  emitActivations(module, target);
  emitInner(module, target);
  emitGroups(module, target);
  emitExactGroups(module, target, emitOuter(module, target));
}
