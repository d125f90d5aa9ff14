import { expect } from "vitest";
import { overlay } from "./guardedGpu.ts";

/** Limits of a device that differ from its own. */
export type Limits = Partial<Record<keyof GPUSupportedLimits, number>>;

/** An entry point whose devices have other limits, and refuse to bind more than those allow. */
export function limited(gpu: GPU, limits: Limits): GPU {
  const limitedDevice = (device: GPUDevice): GPUDevice => {
    const own = overlay(device.limits, limits);
    return overlay(device, {
      limits: own,
      createBindGroup(descriptor: GPUBindGroupDescriptor) {
        for (const { resource } of descriptor.entries) {
          const { buffer, offset = 0, size = buffer.size - offset } = resource as GPUBufferBinding;
          expect(size).toBeLessThanOrEqual(own.maxStorageBufferBindingSize);
          expect(offset % 256).toBe(0);
        }
        return device.createBindGroup(descriptor);
      },
    });
  };
  const requestAdapter: GPU["requestAdapter"] = async (options) => {
    const adapter = await gpu.requestAdapter(options);
    return (
      adapter &&
      overlay(adapter, { requestDevice: async (wanted?: GPUDeviceDescriptor) => limitedDevice(await adapter.requestDevice(wanted)) })
    );
  };
  return overlay(gpu, { requestAdapter });
}
