import { type Backend, type DType, type Runtime, UnsupportedError } from "@centella/core";
import { formatRejection, isQuantized } from "@centella/core/backend";
import type { ActivationMode } from "../model/modelBuilder.ts";
import type { RecordedModel } from "../model/recordModel.ts";
import type { ModelPlace } from "./modelPlace.ts";

/** A program and the mode that it was recorded in. */
export interface RecordedProgram {
  readonly program: RecordedModel;
  readonly activations: ActivationMode;
}

/**
 * Records a program in the wanted mode, or by default in the mode that the place's backend prefers for the type of most weights. The mode
 * never changes which backend is selected: that is the one for exact arithmetic, which all of them have.
 * @throws {UnsupportedError} if a backend of the model does not have the wanted mode
 */
export function chooseActivations(
  runtime: Runtime,
  { split, backend }: ModelPlace,
  wanted: ActivationMode | undefined,
  record: (mode: ActivationMode) => RecordedModel,
): RecordedProgram {
  const exact: RecordedProgram = { program: record("f32"), activations: "f32" };
  const mode = wanted ?? preferredMode(exact.program, backend);
  if (mode === "f32") return exact;
  const rounded: RecordedProgram = { program: record(mode), activations: mode };
  const reason = split === undefined ? refusal(runtime, backend, rounded) : split.unsupported(rounded.program);
  if (reason === undefined) return rounded;
  if (wanted === undefined) return exact;
  throw new UnsupportedError(
    `activations "${mode}"`,
    `${reason}; use "f32", or ${split === undefined ? "another backend" : "other backends"}`,
  );
}

/** The mode that a backend prefers for the type of most weights. */
function preferredMode({ program, weights }: RecordedModel, backend: Backend): ActivationMode {
  const bytesOf = new Map<DType, number>();
  for (const { name, bytes } of weights) {
    const dtype = program.persistents.get(name)?.spec.dtype;
    if (dtype !== undefined && dtype !== "f32") bytesOf.set(dtype, (bytesOf.get(dtype) ?? 0) + bytes);
  }
  const [most] = [...bytesOf].toSorted(([, a], [, b]) => b - a);
  if (most === undefined) return "f32";
  const [type] = most;
  return backend.preferredActivations?.(type) ?? (isQuantized(type) ? "ggml" : "f32");
}

/** Why the backend that is selected for exact arithmetic cannot run the rounded program; undefined if it can. */
function refusal(runtime: Runtime, backend: Backend, rounded: RecordedProgram): string | undefined {
  const selection = runtime.select(rounded.program.program);
  if (selection.backend === backend) return undefined;
  const rejection = selection.rejected.find((rejected) => rejected.backend === backend.name);
  return rejection === undefined ? backend.name : formatRejection(rejection);
}
