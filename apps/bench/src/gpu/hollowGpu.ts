import { idleGpu } from "./idleGpu.ts";

type Gpu = ReturnType<typeof idleGpu>;

/** Bytes from which on a storage buffer is hollow. */
const leastHollow = 2 ** 20;
/** Bytes that a hollow buffer really has: those of any binding that kernels insist on. */
const hollowBytes = 2 ** 16;

/** `GPUBufferUsage.STORAGE` of the WebGPU specification: Node has no such global. */
const storage = 0x80;

/** Limits of an H200, on which no weight of a large model is split. */
const largeLimits = { maxBufferSize: 2 ** 32 - 4, maxStorageBufferBindingSize: 2 ** 32 - 4 };

/**
 * A GPU that does nothing, as {@link idleGpu}, and whose large storage buffers take no memory: Dawn without a device has them in the host's.
 * Copies to and from them are dropped.
 */
export function hollowGpu(): Gpu {
  const gpu = idleGpu();
  return withMethods(gpu, {
    requestAdapter: async (options) => {
      const adapter = await gpu.requestAdapter(options);
      if (adapter === null) return null;
      return withMethods(adapter, { requestDevice: async (descriptor) => hollow(await adapter.requestDevice(descriptor)) });
    },
  });
}

function hollow(device: GPUDevice): GPUDevice {
  const buffers = new WeakSet<GPUBuffer>();
  return withMethods(device, {
    limits: withMethods(device.limits, largeLimits),
    createBuffer(descriptor) {
      if ((descriptor.usage & storage) === 0 || descriptor.size < leastHollow) return device.createBuffer(descriptor);
      const buffer = device.createBuffer({ ...descriptor, size: hollowBytes });
      buffers.add(buffer);
      return Object.defineProperty(buffer, "size", { value: descriptor.size });
    },
    createBindGroup(descriptor) {
      const entries = [...descriptor.entries].map((entry) => {
        const { buffer } = entry.resource as GPUBufferBinding;
        return buffers.has(buffer) ? { ...entry, resource: { buffer } } : entry;
      });
      return device.createBindGroup({ ...descriptor, entries });
    },
    createCommandEncoder(descriptor) {
      const encoder = device.createCommandEncoder(descriptor);
      const copy = encoder.copyBufferToBuffer.bind(encoder) as (...call: readonly unknown[]) => undefined;
      return withMethods(encoder, {
        copyBufferToBuffer: (...call: readonly unknown[]) =>
          call.some((value) => typeof value === "object" && buffers.has(value as GPUBuffer)) ? undefined : copy(...call),
      });
    },
  });
}

/** An object with some of its properties replaced. The object's own methods are called on itself, which native ones insist on. */
function withMethods<T extends object>(target: T, replaced: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(replaced, name)) return replaced[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
