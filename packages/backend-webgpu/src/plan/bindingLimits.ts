import { type ConcreteSpec, OutOfMemoryError } from "@centella/core";
import { entryOf, formatSpec, type Lowered, maxSpec, type Persistent } from "@centella/core/backend";
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
export function checkPersistents({ maxStorageBufferBindingSize: limit }: BufferLimits, { steps, program }: Lowered): void {
  const operands = steps.flatMap(({ inputs, output, extraOutputs = [] }) => [...inputs, output, ...extraOutputs]);
  for (const operand of operands) {
    const definition = operand?.storage.definition;
    if (operand === undefined || definition?.kind !== "persistent") continue;
    const spec = maxSpec(operand.spec);
    const bytes = paddedBytes(deviceBytes(spec));
    if (bytes > limit) throw overLimit({ ...entryOf(program.persistents, definition.name), spec }, bytes, limit);
  }
}

/** The error for a weight or state that is larger than a limit of the device. */
export function overLimit({ name, spec, init }: Omit<Persistent, "value">, bytes: number, limit: number): OutOfMemoryError {
  const [rows = 1] = spec.shape;
  const fitting = Math.floor((limit / bytes) * rows);
  // Weights have the size that they have, but states such as caches are as large as their user makes them.
  const fix =
    init === "load"
      ? "split it"
      : `give it at most ${fitting} rows (the cache of a model: a shorter context, fewer sequences or cacheType "q8_0")`;
  const reason = `${name} (${formatSpec(spec)}) is over the device's limit of ${formatBytes(limit)} for one tensor`;
  return new OutOfMemoryError("webgpu", bytes, limit, `${reason}; ${fix}, or use another backend`);
}
