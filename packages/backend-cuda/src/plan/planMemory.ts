import { entryOf, type Lowered } from "@centella/core/backend";
import { toDevice } from "@centella/gpu-kernels";
import type { Allocation, Device } from "../device/device.ts";
import type { Handle } from "../device/driver.ts";
import { bytesOf } from "../device/hostArrays.ts";
import type { Place } from "./place.ts";

/** A constant's memory, and the bytes to write there. */
interface Constant {
  readonly memory: Allocation;
  readonly data: Uint8Array;
}

/** Device memory of a plan besides its persistents: temporaries, constants, and blocks for uploads and readbacks. */
export class PlanMemory {
  readonly #device: Device;
  readonly #persistent: (name: string) => Allocation;
  readonly #regions = new Map<string, Allocation>();
  readonly #constants = new Map<number, Allocation>();
  /** Scratch memory that was too small for a later variant. Recorded graphs still use it. */
  readonly #outgrown: Allocation[] = [];

  constructor(device: Device, persistent: (name: string) => Allocation) {
    this.#device = device;
    this.#persistent = persistent;
  }

  /** Allocates a region, the first time. */
  take(region: "arena" | "upload" | "given" | "readback", bytes: number): void {
    if (!this.#regions.has(region)) this.#regions.set(region, this.#device.alloc(bytes, "arenas"));
  }

  /** Makes sure that graphs which are recorded from now on have this much scratch memory. */
  takeScratch(bytes: number): void {
    const known = this.#regions.get("scratch");
    if (bytes === 0 || (known !== undefined && known.bytes >= bytes)) return;
    this.#regions.set("scratch", this.#device.alloc(bytes, "arenas"));
    if (known !== undefined) this.#outgrown.push(known);
  }

  /** Allocates the constants of a program; the caller writes them. */
  takeConstants({ program, storages }: Lowered): readonly Constant[] {
    return storages.flatMap(({ id, definition }) => {
      const spec = program.values[id]?.spec;
      if (definition.kind !== "constant" || spec === undefined) return [];
      const data = toDevice(spec.dtype, bytesOf(definition.data));
      const memory = this.#device.alloc(data.length, "other");
      this.#constants.set(id, memory);
      return [{ memory, data }];
    });
  }

  readonly addressOf = ({ region, offset }: Place): Handle => this.#memoryOf(region).address + BigInt(offset);

  free(): void {
    for (const memory of [...this.#regions.values(), ...this.#outgrown, ...this.#constants.values()]) memory.free();
  }

  #memoryOf(region: Place["region"]): Allocation {
    if (region.kind === "persistent") return this.#persistent(region.name);
    return region.kind === "constant" ? entryOf(this.#constants, region.storage) : entryOf(this.#regions, region.kind);
  }
}
