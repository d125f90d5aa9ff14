import { OutOfMemoryError, UnsupportedError } from "@centella/core";
import { type Lowered, missingPersistents, type Persistent } from "@centella/core/backend";
import { deviceBytes } from "@centella/gpu-kernels";
import type { Device } from "../device/device.ts";
import { canReadUnits, chooseUnits } from "../weights/chooseUnits.ts";
import { CudaPersistentBuffer } from "./persistentBuffer.ts";
import { UnitPersistentBuffer } from "./unitPersistentBuffer.ts";

/**
 * Adds a buffer for each persistent of `lowered` that `buffers`, those shared with another plan, do not have yet. A weight is stored in units
 * if every use can read them in `programs`: this one and those that will share its plan.
 * @throws {OutOfMemoryError}
 * @throws {UnsupportedError} for a shared weight in units that a use cannot read
 */
export function addPersistents(
  device: Device,
  lowered: Lowered,
  programs: readonly Lowered[],
  buffers: Map<string, CudaPersistentBuffer>,
): Map<string, CudaPersistentBuffer> {
  requireMemory(device, missingPersistents(lowered.program, buffers), programs);
  for (const persistent of lowered.program.persistents.values()) {
    const shared = buffers.get(persistent.name);
    if (shared === undefined) buffers.set(persistent.name, createBuffer(device, persistent, programs));
    else requireReadable(persistent, shared, lowered);
  }
  return buffers;
}

/** Refuses weights that do not fit together, before memory is taken for the first ones. @throws {OutOfMemoryError} */
function requireMemory(device: Device, persistents: readonly Persistent[], programs: readonly Lowered[]): void {
  const bytesOf = (persistent: Persistent): number => chooseUnits(persistent, programs)?.bytes ?? deviceBytes(persistent.spec);
  const bytes = persistents.reduce((sum, persistent) => sum + bytesOf(persistent), 0);
  const { free } = device.call((driver) => driver.memoryInfo());
  if (bytes > free) throw new OutOfMemoryError(device.name, bytes, free);
}

function createBuffer(device: Device, persistent: Persistent, programs: readonly Lowered[]): CudaPersistentBuffer {
  const units = chooseUnits(persistent, programs);
  return units === undefined ? new CudaPersistentBuffer(device, persistent) : new UnitPersistentBuffer(device, persistent, units);
}

function requireReadable(persistent: Persistent, { units }: CudaPersistentBuffer, lowered: Lowered): void {
  if (units === undefined || canReadUnits(persistent, lowered)) return;
  throw new UnsupportedError(
    `cuda: persistent ${persistent.name}`,
    "the plan that shares it holds it in the order of products, which a use in this program cannot read; name this program in that plan's sharedBy",
  );
}
