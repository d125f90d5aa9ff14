import { type ConcreteSpec, OutOfMemoryError, type TensorSpec } from "@centella/core";
import {
  elementAt,
  entryOf,
  type FusedParams,
  formatSpec,
  isFused,
  type Lowered,
  maxSpec,
  type Operand,
  type Persistent,
  type Step,
} from "@centella/core/backend";
import type { NamedDevice } from "../device/buffers.ts";
import { deviceBytes, paddedBytes } from "../device/layout.ts";
import type { Resource } from "../kernels/shared/kernel.ts";
import { type OwnResource, operandOf, type StepDispatch } from "./stepDispatch.ts";
import { alignment } from "./variant.ts";

/** Limits of a device in bytes. */
export type BufferLimits = Pick<GPUSupportedLimits, "maxBufferSize" | "maxStorageBufferBindingSize">;

/**
 * Returns how many rows of weights, along the first axis, a binding can hold: a number after which another binding can begin. Undefined if it
 * can hold all of them, if it can hold none, or if the device has no buffer for the weights.
 */
export function rowsAtOnce({ maxBufferSize, maxStorageBufferBindingSize }: BufferLimits, weights: ConcreteSpec): number | undefined {
  const bytes = paddedBytes(deviceBytes(weights));
  if (bytes <= maxStorageBufferBindingSize || bytes > maxBufferSize) return undefined;
  const { dtype, shape } = weights;
  const rowBytes = deviceBytes({ dtype, shape: shape.slice(1) });
  let together = 1;
  while ((together * rowBytes) % alignment !== 0) together *= 2;
  const groups = Math.floor(maxStorageBufferBindingSize / (together * rowBytes));
  return groups === 0 ? undefined : groups * together;
}

/** @throws {OutOfMemoryError} naming a tensor, or an op's working memory, of which a kernel would have to read more than the device can bind */
export function checkBindings(device: NamedDevice, lowered: Lowered, calls: readonly StepDispatch[]): void {
  const limit = device.device.limits.maxStorageBufferBindingSize;
  for (const { step, dispatch } of calls) {
    for (const { resource } of dispatch.bindings) {
      if (resource.kind === "scratch" || resource.kind === "table") {
        const bytes = paddedBytes(resource.kind === "scratch" ? resource.bytes : resource.words.byteLength);
        if (bytes > limit) throw ownOverLimit(device.name, resource, step, bytes, limit);
      } else {
        const operand = operandOf(resource, step);
        const bytes = paddedBytes(deviceBytes(maxSpec(operand.spec)));
        if (bytes > limit) throw operandOverLimit(device.name, lowered, { operand, resource, step }, bytes, limit);
      }
    }
  }
}

/** @throws {OutOfMemoryError} naming the inputs if the device has no buffer for all of them, of `bytes` in all */
export function checkUpload({ device, name }: NamedDevice, { program }: Lowered, bytes: number): void {
  const limit = device.limits.maxBufferSize;
  if (bytes <= limit) return;
  const specs = [...program.inputs.values()].map((id) => elementAt(program.values, id).spec);
  const inputs = [...program.inputs.keys()].map((input, i) => `${input} (${formatSpec(elementAt(specs, i))})`);
  const tensor = inputs.length === 1 ? `input ${inputs[0]}` : `the inputs ${inputs.join(", ")}, which share one buffer`;
  throw new OutOfMemoryError(name, bytes, { limit, tensor }, smaller(specs, inputs.length > 1 ? ", declare one as a persistent" : ""));
}

/** The error for a weight or state that is larger than a limit of the device. */
export function persistentOverLimit(
  device: string,
  { name, spec, init }: Omit<Persistent, "value">,
  bytes: number,
  limit: number,
): OutOfMemoryError {
  const [rows = 1] = spec.shape;
  const fitting = Math.floor((limit / bytes) * rows);
  // Weights have the size that they have, but states such as caches are as large as their user makes them.
  const fix =
    init === "load"
      ? "split it"
      : `give it at most ${fitting} rows (the cache of a model: a shorter context, fewer sequences or cacheType "q8_0")`;
  return new OutOfMemoryError(device, bytes, { limit, tensor: `${name} (${formatSpec(spec)})` }, `${fix}, or use another backend`);
}

function ownOverLimit(device: string, { kind }: OwnResource, step: Step, bytes: number, limit: number): OutOfMemoryError {
  const tensor = `${kind === "scratch" ? "working memory" : "a table"} of ${opName(step)}`;
  const specs = [...step.inputs, step.output].flatMap((operand) => (operand === undefined ? [] : [operand.spec]));
  return new OutOfMemoryError(device, bytes, { limit, tensor }, smaller(specs));
}

function operandOverLimit(
  device: string,
  { program }: Lowered,
  { operand: { spec, storage }, resource, step }: { readonly operand: Operand; readonly resource: Resource; readonly step: Step },
  bytes: number,
  limit: number,
): OutOfMemoryError {
  const { definition } = storage;
  if (definition.kind === "persistent") {
    return persistentOverLimit(device, { ...entryOf(program.persistents, definition.name), spec: maxSpec(spec) }, bytes, limit);
  }
  const role = definition.kind === "constant" ? "a constant" : resource.kind === "input" ? "an input" : "the result";
  const name = definition.kind === "input" ? `input ${definition.name}` : `${role} of ${opName(step)}`;
  const tensor = `${name} (${formatSpec(spec)})`;
  return new OutOfMemoryError(device, bytes, { limit, tensor }, smaller([spec]));
}

/** What to do about tensors that are too large. Only symbolic dims have maxima. */
function smaller(specs: readonly TensorSpec[], otherwise = ""): string {
  const dims = new Set(specs.flatMap(({ shape }) => shape.flatMap((dim) => (typeof dim === "number" ? [] : [dim.name]))));
  return dims.size > 0
    ? `give ${[...dims].join(" and ")} a smaller maximum${otherwise}, or use another backend`
    : `use smaller tensors${otherwise}, or use another backend`;
}

/** Name of a step's op; of a fused group, the names of its calls. */
function opName({ op, params }: Step): string {
  return isFused(op) ? (params as FusedParams).body.map((call) => call.op.name).join(", ") : op.name;
}
