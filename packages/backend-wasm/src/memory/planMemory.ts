import { byteLength, elementAt, entryOf, type Lowered, maxSpec, planArena, type Storage } from "@centella/core/backend";
import { lazyPart } from "../linking/lazyParts.ts";
import { checkTensorBytes, type Heap } from "./heap.ts";
import type { WasmPersistentBuffer } from "./persistentBuffer.ts";
import type { Owned, WriteGuards } from "./writeGuards.ts";

/** Alignment of temporaries: a cache line. */
const alignment = 64;

/** Memory requirements of a plan. */
interface PlanNeeds {
  readonly lowered: Lowered;
  readonly persistents: ReadonlyMap<string, WasmPersistentBuffer>;
  readonly scratchBytes: number;
  readonly checkWrites: boolean;
}

/** Addresses of a plan's tensors. */
export interface PlanMemory {
  /** Address of every storage but inputs that are tensors of this backend. */
  readonly addresses: ReadonlyMap<Storage, number>;
  readonly scratch: number;
  readonly guards: WriteGuards | undefined;
}

/** Allocates temporaries, constants and scratch memory. Adds the addresses to `owned`, even if it throws. */
export function placePlan(heap: Heap, { lowered, persistents, scratchBytes, checkWrites }: PlanNeeds, owned: number[]): PlanMemory {
  const bytesOf = ({ id }: Storage): number => byteLength(maxSpec(elementAt(lowered.program.values, id).spec));
  const alloc = (bytes: number): number => {
    const address = heap.alloc(bytes, "arenas");
    owned.push(address);
    return address;
  };
  const temporaries = lowered.storages
    .filter(({ definition }) => definition.kind === "node" || definition.kind === "input")
    .map((storage) => ({ ...storage, bytes: bytesOf(storage) }));
  for (const { bytes } of temporaries) checkTensorBytes(bytes);
  const guarding = checkWrites ? lazyPart("writeGuards") : undefined;
  const arena = planArena(temporaries, alignment, guarding?.guardGap ?? 0);
  const arenaAddress = alloc(arena.bytes);
  const scratch = scratchBytes === 0 ? arenaAddress : alloc(scratchBytes);
  const addresses = new Map<Storage, number>();
  for (const storage of lowered.storages) {
    const { definition } = storage;
    if (definition.kind === "persistent") addresses.set(storage, entryOf(persistents, definition.name).address);
    else if (definition.kind === "constant") {
      const address = alloc(bytesOf(storage));
      const { data } = definition;
      heap.u8.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), address);
      addresses.set(storage, address);
    } else addresses.set(storage, arenaAddress + entryOf(arena.offsets, storage.id));
  }
  if (guarding === undefined) return { addresses, scratch, guards: undefined };
  const pieces = temporaries.map(({ id, bytes, definition }): Owned => {
    const begin = arenaAddress + entryOf(arena.offsets, id);
    return { name: `${definition.kind} %${id}`, begin, end: begin + bytes };
  });
  return { addresses, scratch, guards: new guarding.WriteGuards(heap, arenaAddress, arenaAddress + arena.bytes, pieces) };
}
