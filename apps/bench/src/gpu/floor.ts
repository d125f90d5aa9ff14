import { type BackendFactory, UnsupportedError } from "@centella/core";
import { measureGpuCopy } from "../ceilings/gpu.ts";
import { type Ceiling, ceilingRate } from "../ceilings/measure.ts";
import type { GpuKernel, Unit } from "./kernel.ts";

/** What a device can do at best. */
export interface DeviceCeiling {
  /** Bytes per second that a driver's copies read and write. */
  readonly copyRate: number;
  /** Flops per second by unit, from the maker's data sheet. Absent for devices that are not in the table. */
  readonly peaks?: Readonly<Record<Unit, number>>;
}

/** Dense peaks of data sheets, by a part of the device's name. `tensor` is that of f16 and bf16 operands with f32 sums. */
const dataSheets: readonly (readonly [name: RegExp, peaks: Readonly<Record<Unit, number>>])[] = [
  [/\bH[12]00\b/i, { tensor: 989e12, f32: 67e12 }],
  [/\bA100\b/i, { tensor: 312e12, f32: 19.5e12 }],
  [/\bRTX[ -]4090\b/i, { tensor: 165e12, f32: 82.6e12 }],
];

/** The driver's copies of each device, by the device's identifier. */
export type DeviceCopies = ReadonlyMap<string, Ceiling>;

/** Measures copies of every device. The fastest driver counts, since copies of Vulkan reach a fifth of what CUDA's reach on the same H200. */
export async function measureCopies(factories: readonly BackendFactory[]): Promise<DeviceCopies> {
  const fastest = new Map<string, Ceiling>();
  for (const factory of factories) {
    try {
      const backend = await factory.open();
      const id = identifier(backend.device.name);
      try {
        const copies = await measureGpuCopy(backend);
        const known = fastest.get(id);
        if (known === undefined || ceilingRate(copies).median > ceilingRate(known).median) fastest.set(id, copies);
      } finally {
        await backend.dispose();
      }
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error;
    }
  }
  return fastest;
}

/** A device's name in the form that WebGPU has: `nvidia-h200`. */
function identifier(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

/** @throws {RangeError} for a device whose copies were not measured */
export function ceilingOf(device: string, copies: DeviceCopies): DeviceCeiling {
  const measured = copies.get(identifier(device));
  if (measured === undefined) throw new RangeError(`ceiling: expected one of ${[...copies.keys()].join(", ")}, got ${device}`);
  const copyRate = ceilingRate(measured).median;
  const [, peaks] = dataSheets.find(([name]) => name.test(device)) ?? [];
  return { copyRate, ...(peaks && { peaks }) };
}

/** The least seconds of a call: the time of its bytes or of its arithmetic. Where the peak is unknown, the bytes alone count. */
export function floorOf({ bytes, flops, unit }: Pick<GpuKernel, "bytes" | "flops" | "unit">, { copyRate, peaks }: DeviceCeiling): number {
  return Math.max(bytes / copyRate, peaks === undefined ? 0 : flops / peaks[unit]);
}
