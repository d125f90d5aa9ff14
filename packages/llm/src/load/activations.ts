import { type Backend, type DType, type Runtime, UnsupportedError } from "@centella/core";
import { formatRejection, isQuantized } from "@centella/core/backend";
import type { GgufFile } from "@centella/gguf";
import type { ActivationMode } from "../model/modelBuilder.ts";
import type { RecordedModel } from "../model/recordModel.ts";
import type { ModelPlace } from "./modelPlace.ts";
import { typeInProgram } from "./weights.ts";

/** A program and the mode that it was recorded in. */
export interface RecordedProgram {
  readonly program: RecordedModel;
  readonly activations: ActivationMode;
}

/** A backend and a mode that it has. */
export interface BackendMode {
  readonly backend: Backend;
  readonly activations: ActivationMode;
}

/**
 * The backend that will be selected, and the mode that the model will have, as far as the file's types tell. Undefined where a GPU may be
 * selected, because that depends on the program.
 */
export function likelyMode(runtime: Runtime, { tensors }: GgufFile, wanted: ActivationMode | undefined): BackendMode | undefined {
  const [backend] = runtime.backends;
  if (backend === undefined || runtime.backends.some(({ device }) => device.kind !== "cpu")) return undefined;
  const types: WeightTypes = tensors.map(({ type, bytes }) => [typeInProgram(type), bytes]);
  return { backend, activations: wanted ?? preferredMode(types, backend) };
}

/**
 * Records a program in the wanted mode, or by default in the mode that the place's backend prefers for the type of most weights. The mode
 * never changes which backend is selected: that is the one for exact arithmetic, which all of them have.
 * @param draft the model in some mode, for which the place was chosen
 * @throws {UnsupportedError} if a backend of the model does not have the wanted mode
 */
export function chooseActivations(
  runtime: Runtime,
  { split, backend }: ModelPlace,
  wanted: ActivationMode | undefined,
  draft: RecordedModel,
  record: (mode: ActivationMode) => RecordedModel,
): RecordedProgram {
  const activations = wanted ?? preferredMode(typesOf(draft), backend);
  const chosen: RecordedProgram = { program: record(activations), activations };
  if (activations === "f32" || (split === undefined && chosen.program === draft)) return chosen;
  const reason = split === undefined ? refusal(runtime, backend, chosen) : split.unsupported(chosen.program);
  if (reason === undefined) return chosen;
  if (wanted === undefined) return { program: record("f32"), activations: "f32" };
  throw new UnsupportedError(
    `activations "${activations}"`,
    `${reason}; use "f32", or ${split === undefined ? "another backend" : "other backends"}`,
  );
}

/** Types and bytes of weights. */
type WeightTypes = readonly (readonly [type: DType | undefined, bytes: number])[];

function typesOf({ program, weights }: RecordedModel): WeightTypes {
  return weights.map(({ name, bytes }) => [program.persistents.get(name)?.spec.dtype, bytes]);
}

/** The mode that a backend prefers for the type of most weights. */
function preferredMode(weights: WeightTypes, backend: Backend): ActivationMode {
  const bytesOf = new Map<DType, number>();
  for (const [type, bytes] of weights) if (type !== undefined && type !== "f32") bytesOf.set(type, (bytesOf.get(type) ?? 0) + bytes);
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
