import { type Runtime, UnsupportedError } from "@centella/core";
import { formatRejection, isQuantized } from "@centella/core/backend";
import type { ActivationMode } from "../model/modelBuilder.ts";
import type { RecordedModel } from "../model/recordModel.ts";
import type { LayerSplit } from "./layersOnGpu.ts";

/** A program and the mode that it was recorded in. */
export interface RecordedProgram {
  readonly program: RecordedModel;
  readonly activations: ActivationMode;
}

/**
 * Records a program in the wanted mode, or by default in the fastest one that the selected backend has. The mode never changes which
 * backend is selected: that is the one for exact arithmetic, which all of them have.
 * @throws {UnsupportedError} if a backend of the model does not have the wanted mode
 */
export function chooseActivations(
  runtime: Runtime,
  split: LayerSplit | undefined,
  wanted: ActivationMode | undefined,
  record: (mode: ActivationMode) => RecordedModel,
): RecordedProgram {
  const exact: RecordedProgram = { program: record("f32"), activations: "f32" };
  const hasBlocks = [...exact.program.program.persistents.values()].some(({ spec }) => isQuantized(spec.dtype));
  if (wanted === "f32" || (!hasBlocks && wanted === undefined)) return exact;
  const rounded: RecordedProgram = { program: record("ggml"), activations: "ggml" };
  const reason = split === undefined ? refusal(runtime, exact, rounded) : split.unsupported(rounded.program);
  if (reason === undefined) return rounded;
  if (wanted === undefined) return exact;
  throw new UnsupportedError(
    'activations "ggml"',
    `${reason}; use "f32", or ${split === undefined ? "another backend" : "other backends"}`,
  );
}

/** Why the backend that is selected for exact arithmetic cannot run the rounded program; undefined if it can. */
function refusal(runtime: Runtime, exact: RecordedProgram, rounded: RecordedProgram): string | undefined {
  const { backend } = runtime.select(exact.program.program);
  const selection = runtime.select(rounded.program.program);
  if (selection.backend === backend) return undefined;
  const rejection = selection.rejected.find((rejected) => rejected.backend === backend.name);
  return rejection === undefined ? backend.name : formatRejection(rejection);
}
