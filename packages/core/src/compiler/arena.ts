import { entryOf } from "@centella/quant/checks";
import type { Storage } from "./lowered.ts";

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

/**
 * Places temporaries in one address space: largest first, each at the lowest aligned offset that is free during its
 * life (the greedy-by-size rule of Pisarchyk & Lee, 2020). At least `gap` bytes after each stay free during its life. Takes
 * O(n log n) time where few temporaries are alive at once.
 */
export function planArena(temporaries: readonly Storage[], alignment: number, gap: number = 0): ArenaPlan {
  const offsets = new Map<number, number>();
  const placed = new Lifetimes(temporaries);
  const align = (n: number): number => Math.ceil(n / alignment) * alignment;
  let end = 0;
  for (const storage of temporaries.toSorted((a, b) => b.bytes - a.bytes || a.id - b.id)) {
    const rivals = placed.overlapping(storage).map(({ id, bytes }) => ({ offset: entryOf(offsets, id), bytes }));
    let offset = 0;
    for (const rival of rivals.sort((a, b) => a.offset - b.offset)) {
      if (offset + storage.bytes + gap <= rival.offset) break;
      offset = Math.max(offset, align(rival.offset + rival.bytes + gap));
    }
    offsets.set(storage.id, offset);
    placed.add(storage);
    end = Math.max(end, align(offset + storage.bytes + gap));
  }
  return { bytes: end, offsets };
}

/** Finds the members of a growing set that are alive at the same time as another storage. */
class Lifetimes {
  readonly #start: number;
  readonly #leaves: number;
  /** Members by the step at which they begin. */
  readonly #from = new Map<number, Storage[]>();
  /** A segment tree over the steps: each lifetime is stored at the O(log n) nodes that cover it. */
  readonly #over = new Map<number, Storage[]>();

  constructor(storages: readonly Storage[]) {
    const [first, last] = storages.reduce(([a, b], storage) => [Math.min(a, storage.first), Math.max(b, storage.last)], [0, 0]);
    this.#start = first;
    this.#leaves = last - first + 1;
  }

  add(storage: Storage): void {
    push(this.#from, storage.first, storage);
    let [left, right] = [this.#leafOf(storage.first), this.#leafOf(storage.last) + 1];
    for (; left < right; left >>= 1, right >>= 1) {
      if (left % 2 === 1) push(this.#over, left++, storage);
      if (right % 2 === 1) push(this.#over, --right, storage);
    }
  }

  overlapping({ first, last }: Storage): Storage[] {
    const found: Storage[] = [];
    // Members that are alive when it begins, or that begin during its life.
    for (let node = this.#leafOf(first); node >= 1; node >>= 1) for (const other of this.#over.get(node) ?? []) found.push(other);
    for (let step = first + 1; step <= last; step++) for (const other of this.#from.get(step) ?? []) found.push(other);
    return found;
  }

  #leafOf(step: number): number {
    return step - this.#start + this.#leaves;
  }
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

/** Assigns each temporary a buffer: the smallest free one that fits, else the largest free one, grown, else a new one. */
export function planSlots(temporaries: readonly Storage[]): SlotPlan {
  const slots: { readonly index: number; bytes: number; busyUntil: number }[] = [];
  const slotOf = new Map<number, number>();
  for (const storage of temporaries.toSorted((a, b) => a.first - b.first || a.id - b.id)) {
    const free = slots.filter(({ busyUntil }) => busyUntil < storage.first).sort((a, b) => a.bytes - b.bytes);
    // The largest comes last; of several that are equally large, the first counts.
    const largest = free.find(({ bytes }) => bytes === free.at(-1)?.bytes);
    let slot = free.find(({ bytes }) => bytes >= storage.bytes) ?? largest;
    if (slot === undefined) {
      slot = { index: slots.length, bytes: 0, busyUntil: 0 };
      slots.push(slot);
    }
    slot.bytes = Math.max(slot.bytes, storage.bytes);
    slot.busyUntil = storage.last;
    slotOf.set(storage.id, slot.index);
  }
  return { slots: slots.map(({ bytes }) => bytes), slotOf };
}
