import type { ModuleBuilder } from "../../emit/index.ts";
import { emitActivations } from "../../formats/activations.ts";
import { emitDecodeRow } from "../../formats/decodeRow.ts";
import { emitInner } from "../../matmul/inner.ts";
import { emitInterleaved } from "../../matmul/interleaved.ts";
import { emitOuter } from "../../matmul/outer.ts";
import { emitQuantized } from "../../matmul/quantized.ts";
import type { Target } from "../../target.ts";

/** Emits the functions that several kernels call. */
export function emitShared(module: ModuleBuilder, target: Target): void {
  emitDecodeRow(module, target);
  emitActivations(module);
  emitInner(module, target);
  emitOuter(module, target);
  emitQuantized(module, target);
  if (target.relaxed) emitInterleaved(module);
}
