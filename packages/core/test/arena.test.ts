import { expect, test } from "vitest";
import { random } from "../../conformance/src/headless.ts";
import { planArena, planSlots } from "../src/compiler/arena.ts";
import type { Storage } from "../src/compiler/lowered.ts";

function randomStorages(seed: number): Storage[] {
  const next = random(seed);
  const count = 1 + Math.floor(next() * 40);
  return Array.from({ length: count }, (_, id) => {
    const first = Math.floor(next() * 30);
    const bytes = next() < 0.1 ? 0 : Math.floor(next() ** 3 * 5000);
    return { id, definition: { kind: "node" }, bytes, first, last: first + Math.floor(next() * 8) };
  });
}

const overlaps = (a: Storage, b: Storage): boolean => a.first <= b.last && b.first <= a.last;
const pairs = (storages: readonly Storage[]) => storages.flatMap((a, i) => storages.slice(i + 1).map((b) => [a, b] as const));
const seeds = Array.from({ length: 200 }, (_, seed) => seed);

test("storages that live at the same time do not overlap in the arena, and are aligned", () => {
  for (const seed of seeds) {
    const storages = randomStorages(seed);
    const alignment = [4, 64, 256][seed % 3]!;
    const { bytes, offsets } = planArena(storages, alignment);
    for (const storage of storages) {
      const offset = offsets.get(storage.id)!;
      expect(offset % alignment).toBe(0);
      expect(offset + storage.bytes).toBeLessThanOrEqual(bytes);
    }
    for (const [a, b] of pairs(storages)) {
      const [p, q] = [offsets.get(a.id)!, offsets.get(b.id)!];
      if (overlaps(a, b)) expect(p + a.bytes <= q || q + b.bytes <= p, `seed ${seed}: ${a.id} and ${b.id}`).toBe(true);
    }
  }
});

test("the arena is at most the sum of all storages, and at least that of simultaneous ones", () => {
  for (const seed of seeds) {
    const storages = randomStorages(seed);
    const align = (n: number): number => Math.ceil(n / 64) * 64;
    const { bytes } = planArena(storages, 64);
    const atOnce = Array.from({ length: 40 }, (_, step) =>
      storages.filter(({ first, last }) => first <= step && step <= last).reduce((sum, storage) => sum + storage.bytes, 0),
    );
    expect(bytes).toBeGreaterThanOrEqual(Math.max(...atOnce));
    expect(bytes).toBeLessThanOrEqual(storages.reduce((sum, storage) => sum + align(storage.bytes), 0));
  }
});

test("a chain of equal temporaries needs two buffers", () => {
  const chain = Array.from(
    { length: 10 },
    (_, id): Storage => ({ id, definition: { kind: "node" }, bytes: 1024, first: id, last: id + 1 }),
  );
  expect(planArena(chain, 64).bytes).toBe(2048);
  expect(planSlots(chain).slots).toEqual([1024, 1024]);
});

test("no storages need no memory", () => {
  expect(planArena([], 64)).toEqual({ bytes: 0, offsets: new Map() });
  expect(planSlots([])).toEqual({ slots: [], slotOf: new Map() });
});

test("storages that live at the same time have different slots, each large enough", () => {
  for (const seed of seeds) {
    const storages = randomStorages(seed);
    const { slots, slotOf } = planSlots(storages);
    for (const storage of storages) expect(slots[slotOf.get(storage.id)!]).toBeGreaterThanOrEqual(storage.bytes);
    for (const [a, b] of pairs(storages)) if (overlaps(a, b)) expect(slotOf.get(a.id)).not.toBe(slotOf.get(b.id));
  }
});
