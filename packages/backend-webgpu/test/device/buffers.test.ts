import { OutOfMemoryError } from "@centella/core";
import { expect, test } from "vitest";
import { BufferPool, tensorUsage } from "../../src/device/buffers.ts";

/** A device with a limit alone, whose buffers have a size alone. */
function deviceOf(maxBufferSize: number): GPUDevice {
  const device: Partial<GPUDevice> = {
    limits: { maxBufferSize } as GPUSupportedLimits,
    pushErrorScope: () => undefined,
    popErrorScope: async () => null,
    createBuffer: ({ size }) => ({ size }) as GPUBuffer,
  };
  return device as GPUDevice;
}

test.each([2 ** 31 - 4, 2 ** 32 - 4, 2 ** 28])("a pool creates buffers up to the device's limit of %i bytes", (limit) => {
  const pool = new BufferPool({ device: deviceOf(limit), name: "webgpu (Fake)" }, tensorUsage, () => undefined);
  const largest = limit - (limit % 16);
  for (const bytes of [largest, largest - 1, largest - 2 ** 20]) {
    const { size } = pool.acquire(bytes);
    expect(size).toBeGreaterThanOrEqual(bytes);
    expect(size).toBeLessThanOrEqual(limit);
  }
  expect(() => pool.acquire(largest + 16)).toThrow(OutOfMemoryError);
  const refused = `webgpu (Fake): expected at most ${limit} bytes for one tensor on this device, got ${largest + 16}; use a smaller model`;
  expect(() => pool.acquire(largest + 16)).toThrow(refused);
});
