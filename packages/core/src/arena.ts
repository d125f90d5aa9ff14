import type { Storage } from "./lower.ts";

/** Byte offsets of temporaries in one arena, by storage id. */
export interface ArenaPlan {
  readonly bytes: number;
  readonly offsets: ReadonlyMap<number, number>;
}

/** Buffers shared by temporaries whose lifetimes do not overlap: for devices on which one buffer cannot be bound twice. */
export interface SlotPlan {
  /** Size of each slot in bytes. */
  readonly slots: readonly number[];
  /** Slot of each storage, by storage id. */
  readonly slotOf: ReadonlyMap<number, number>;
}

const overlap = (a: Storage, b: Storage): boolean => a.first <= b.last && b.first <= a.last;

/**
 * Places temporaries in one address space: largest first, each at the lowest aligned offset that is free during its
 * life (the greedy-by-size rule of Pisarchyk & Lee, 2020). At least `gap` bytes behind each are nobody's at its time.
 */
export function planArena(temporaries: readonly Storage[], alignment: number, gap: number = 0): ArenaPlan {
  const placed: { readonly storage: Storage; readonly offset: number }[] = [];
  const align = (n: number): number => Math.ceil(n / alignment) * alignment;
  for (const storage of temporaries.toSorted((a, b) => b.bytes - a.bytes || a.id - b.id)) {
    const rivals = placed.filter((other) => overlap(other.storage, storage)).sort((a, b) => a.offset - b.offset);
    let offset = 0;
    for (const rival of rivals) {
      if (offset + storage.bytes + gap <= rival.offset) break;
      offset = Math.max(offset, align(rival.offset + rival.storage.bytes + gap));
    }
    placed.push({ storage, offset });
  }
  return {
    bytes: Math.max(0, ...placed.map(({ storage, offset }) => align(offset + storage.bytes + gap))),
    offsets: new Map(placed.map(({ storage, offset }) => [storage.id, offset])),
  };
}

/** Assigns each temporary a buffer: the smallest free one that fits, else the largest free one, grown, else a new one. */
export function planSlots(temporaries: readonly Storage[]): SlotPlan {
  const slots: number[] = [];
  const busyUntil: number[] = [];
  const slotOf = new Map<number, number>();
  for (const storage of temporaries.toSorted((a, b) => a.first - b.first || a.id - b.id)) {
    const free = slots.map((_, slot) => slot).filter((slot) => busyUntil[slot]! < storage.first);
    const fitting = free.filter((slot) => slots[slot]! >= storage.bytes).sort((a, b) => slots[a]! - slots[b]!)[0];
    const slot = fitting ?? free.sort((a, b) => slots[b]! - slots[a]!)[0] ?? slots.length;
    slots[slot] = Math.max(slots[slot] ?? 0, storage.bytes);
    busyUntil[slot] = storage.last;
    slotOf.set(storage.id, slot);
  }
  return { slots, slotOf };
}
