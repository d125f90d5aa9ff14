import { type ConcreteSpec, OutOfMemoryError } from "@centella/core";
import { formatSpec, type Lowered, maxSpec } from "@centella/core/backend";
import { formatBytes } from "@centella/quant/checks";
import { deviceBytes, paddedBytes } from "../device/layout.ts";
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

/** @throws {OutOfMemoryError} naming a weight or state of which a kernel would have to read more than the device can bind */
export function checkPersistents({ maxStorageBufferBindingSize: limit }: BufferLimits, { steps }: Lowered): void {
  const operands = steps.flatMap(({ inputs, output, extraOutputs = [] }) => [...inputs, output, ...extraOutputs]);
  for (const operand of operands) {
    const definition = operand?.storage.definition;
    if (operand === undefined || definition?.kind !== "persistent") continue;
    const spec = maxSpec(operand.spec);
    const bytes = paddedBytes(deviceBytes(spec));
    if (bytes > limit) throw overLimit(definition.name, spec, bytes, limit);
  }
}

/** The error for a weight or state that is larger than a limit of the device. */
export function overLimit(name: string, spec: ConcreteSpec, bytes: number, limit: number): OutOfMemoryError {
  const fix = `${name} (${formatSpec(spec)}) is over the device's limit of ${formatBytes(limit)} for one tensor; split it, or use another backend`;
  return new OutOfMemoryError("webgpu", bytes, limit, fix);
}
