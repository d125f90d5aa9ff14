import { type ConcreteSpec, OutOfMemoryError } from "@centella/core";
import { formatSpec, type Lowered, maxSpec } from "@centella/core/backend";
import { formatBytes } from "@centella/quant/checks";
import { deviceBytes, paddedBytes } from "../device/layout.ts";

/** Limits of a device in bytes. */
export type BufferLimits = Pick<GPUSupportedLimits, "maxBufferSize" | "maxStorageBufferBindingSize">;

/** As many rows of any weight begin at a multiple of what offsets of bindings are aligned to: 256 bytes. */
const rowGroup = 256;

/**
 * Returns how many rows of weights `[n, k]` a binding can hold; undefined if it can hold all of them, or if the device has no buffer for the
 * weights.
 */
export function rowsAtOnce({ maxBufferSize, maxStorageBufferBindingSize }: BufferLimits, weights: ConcreteSpec): number | undefined {
  const bytes = paddedBytes(deviceBytes(weights));
  if (bytes <= maxStorageBufferBindingSize || bytes > maxBufferSize) return undefined;
  const [, k = 1] = weights.shape;
  const groups = Math.floor(maxStorageBufferBindingSize / deviceBytes({ dtype: weights.dtype, shape: [rowGroup, k] }));
  return groups === 0 ? undefined : groups * rowGroup;
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
