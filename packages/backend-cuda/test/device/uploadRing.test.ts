import { expect, test } from "vitest";
import type { CudaDriver } from "../../src/device/driver.ts";
import { UploadRing } from "../../src/device/uploadRing.ts";

/** A ring over page-locked memory with room for blocks of `limit.bytes` bytes, and the number of its blocks. */
function ringWithin(limit: { bytes: number; isLost?: boolean }) {
  const used = { blocks: 0 };
  const driver = { mark: () => 0n, viewPinned: (_: unknown, bytes: number) => new Uint8Array(bytes) };
  const ring = new UploadRing({
    allocPinned(bytes) {
      if (bytes > limit.bytes) throw new Error("no memory");
      used.blocks++;
      return { handle: 0n, bytes, free: () => void used.blocks-- };
    },
    call: (work) => work(driver as CudaDriver),
    finished: () => (limit.isLost === true ? Promise.reject(new Error("lost")) : Promise.resolve()),
  });
  const load = (items: number, bytes: number): Promise<void> => {
    return ring.forEach(
      new Array<number>(items).fill(bytes),
      (each) => each,
      async (_, slot) => expect(slot.bytes.length).toBeGreaterThanOrEqual(bytes),
    );
  };
  return { load, ring, used };
}

test("a load that finds no memory for larger slots leaves the ring fit for the next one", async () => {
  const { load, ring, used } = ringWithin({ bytes: 100 });
  await load(20, 50);
  expect(used.blocks).toBe(6);
  for (let i = 0; i < 3; i++) await expect(load(20, 200)).rejects.toThrow("no memory");
  await load(20, 100);
  expect(used.blocks).toBe(6);
  await ring.clear();
  expect(used.blocks).toBe(0);
});

test("after a failed wait, every load fails with the device's error", async () => {
  const limit = { bytes: 100, isLost: false };
  const { load } = ringWithin(limit);
  await load(20, 50);
  limit.isLost = true;
  await expect(load(20, 50)).rejects.toThrow("lost");
  await expect(load(20, 200)).rejects.toThrow("no memory");
});
