import type { DimValues } from "@centella/core";
import { entryOf, type Lowered, type Storage } from "@centella/core/backend";
import { bytesAt, Layout, type Place } from "./place.ts";

/**
 * Most bytes of a run's results that launches store to the host's memory. Larger ones are copied after the graph or at its end, and a copy
 * takes some 7 µs, for which the next run waits. A launch may store 4 bytes at a time, with 28 of a header on the bus: 4 KiB take about 1 µs.
 */
export const maxStoredBytes: number = 2 ** 12;

/** The temporaries that are host outputs. They are not in the arena. */
export interface HostStorages {
  /** The first output of each, by the output's name. */
  readonly byOutput: ReadonlyMap<string, Storage>;
  /** What steps read, and what further outputs of the host or outputs of the device share. */
  readonly read: ReadonlySet<Storage>;
}

export function hostStorages({ steps, outputs }: Lowered): HostStorages {
  const byOutput = new Map<string, Storage>();
  const taken = new Set<Storage>();
  const read = new Set<Storage>();
  for (const { inputs } of steps) for (const operand of inputs) if (operand !== undefined) read.add(operand.storage);
  for (const { name, to, operand } of outputs) {
    const { storage } = operand;
    if (to !== "host" || storage.definition.kind !== "node" || taken.has(storage)) read.add(storage);
    else {
      byOutput.set(name, storage);
      taken.add(storage);
    }
  }
  return { byOutput, read };
}

/** Where a variant's host outputs are. */
interface HostPlaces {
  readonly bytes: number;
  /** Whether launches store the host outputs to page-locked memory: `results`. Otherwise a run copies `readback`. */
  readonly areStored: boolean;
  /** Where each output is read from, by name. */
  readonly outputs: ReadonlyMap<string, Place>;
  /** Where steps write the temporaries among them: to the same places, or to `readback` if launches read them too. */
  readonly storages: ReadonlyMap<Storage, Place>;
}

/** `reread`: storages whose own steps read them. */
export function placeHostOutputs(
  { outputs }: Lowered,
  { byOutput, read }: HostStorages,
  reread: ReadonlySet<Storage>,
  bucket: DimValues,
): HostPlaces {
  const layout = new Layout({ kind: "readback" });
  const onDevice = new Map<string, Place>();
  for (const { name, to, operand } of outputs) if (to === "host") onDevice.set(name, layout.add(bytesAt(operand.spec, bucket)));
  const { bytes } = layout;
  const areStored = bytes > 0 && bytes <= maxStoredBytes;
  const results = { kind: "results" } as const;
  const places = areStored ? new Map([...onDevice].map(([name, { offset }]) => [name, { region: results, offset }])) : onDevice;
  const placeOf = ([name, storage]: readonly [string, Storage]): readonly [Storage, Place] => {
    const isRead = read.has(storage) || reread.has(storage);
    return [storage, entryOf(isRead ? onDevice : places, name)];
  };
  return { bytes, areStored, outputs: places, storages: new Map([...byOutput].map(placeOf)) };
}
