import { elementAt, entryOf } from "@centella/core/backend";
import type { Device } from "../device/device.ts";
import type { Handle, LaunchCommand } from "../device/driver.ts";
import type { Place } from "./place.ts";
import type { VariantPlan } from "./variant.ts";

/** Returns the address of a place. */
export type AddressOf = (place: Place) => Handle;

/** Where a run's upload begins on the device, and its results. */
export const uploadBlock: Place = { region: { kind: "upload" }, offset: 0 };
export const readbackBlock: Place = { region: { kind: "readback" }, offset: 0 };

/** Timers to record between the launches of a graph: one before each step, as `stepOf` counts them, and one after the last. */
export interface Timing {
  readonly timers: readonly Handle[];
  stepOf(launch: { readonly step: number }): number;
}

export const untimed: Timing = { timers: [], stepOf: () => 0 };

/** What a graph refers to. */
export interface GraphResources {
  readonly addressOf: AddressOf;
  /** Kernels by their texts. */
  readonly kernels: ReadonlyMap<string, Handle>;
  /** Page-locked memory that the graph copies to the upload block. Undefined if the caller queues the upload. */
  readonly upload: Handle | undefined;
  /** Page-locked memory that the graph stores or copies the results to. Undefined if the caller queues the readback. */
  readonly readback: Handle | undefined;
  readonly timing: Timing;
}

/** Records the work of a variant's runs as a graph. */
export function recordGraph(device: Device, plan: VariantPlan, { addressOf, kernels, upload, readback, timing }: GraphResources): Handle {
  const address: AddressOf = (place) => (place.region.kind === "results" ? readback! + BigInt(place.offset) : addressOf(place));
  const { timers, stepOf } = timing;
  return device.capture((driver) => {
    if (upload !== undefined) driver.copyToDevice(address(uploadBlock), upload, plan.uploadBytes);
    let timed = 0;
    const recordTimers = (end: number): void => {
      for (const timer of timers.slice(timed, end)) driver.recordTimer(timer);
      timed = end;
    };
    for (const placed of plan.launches) {
      recordTimers(stepOf(placed) + 1);
      const command = commandOf(placed, kernels, address);
      device.call(() => driver.launch(command), { kernel: { op: placed.op, source: placed.launch } });
    }
    recordTimers(timers.length);
    for (const { from, to, bytes } of plan.copies) driver.copyOnDevice(address(to), address(from), bytes);
    if (readback !== undefined && !plan.storesResults) driver.copyFromDevice(readback, address(readbackBlock), plan.readbackBytes);
  });
}

function commandOf(
  { launch, args }: VariantPlan["launches"][number],
  kernels: ReadonlyMap<string, Handle>,
  address: AddressOf,
): LaunchCommand {
  const { ptx, grid, block, sharedBytes, isDependent, maps } = launch;
  return {
    kernel: entryOf(kernels, ptx),
    grid,
    block,
    sharedBytes,
    isDependent,
    args: args.map(address),
    spans: args,
    maps: maps.map(({ argument, ...matrix }) => ({ ...matrix, memory: address(elementAt(args, argument)) })),
  };
}
