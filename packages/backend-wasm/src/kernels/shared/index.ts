import type { ModuleBuilder } from "../../emit/index.ts";
import { emitActivations } from "../../formats/activations.ts";
import { emitDecodeRow } from "../../formats/decodeRow.ts";
import { emitExactGroups } from "../../matmul/exactGroups.ts";
import { emitGroups } from "../../matmul/groups.ts";
import { emitInner } from "../../matmul/inner.ts";
import { emitPanels } from "../../matmul/outerPanels.ts";
import { emitFew, emitRow, emitVector } from "../../matmul/outerRows.ts";
import { emitTiles } from "../../matmul/outerTiles.ts";
import type { Target } from "../../target.ts";

/** Emits the functions that several kernels call. */
export function emitShared(module: ModuleBuilder, target: Target): void {
  emitDecodeRow(module);
  emitActivations(module, target);
  emitInner(module, target);
  emitGroups(module, target);
  emitPanels(module, target);
  emitFew(module, target);
  const tile = emitTiles(module, target);
  const row = emitRow(module, target);
  emitVector(module, target, row);
  emitExactGroups(module, target, { tile, row });
}
