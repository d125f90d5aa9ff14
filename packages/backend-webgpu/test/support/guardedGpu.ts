import { mapRead, usage } from "../../src/device/usage.ts";

/** Bytes behind each tensor that a kernel writes where its writes are looked for: more than one workgroup of vectors misses by. */
const guardBytes = 1024;
/** Bytes of the buffer that guards are copied to, until it is full. */
const seenBytes = 64 * guardBytes;

/** Memory behind a tensor that a dispatch may write. */
interface Guard {
  readonly buffer: GPUBuffer;
  readonly begin: number;
}

/** Guards of one encoder as they were after their dispatches, to be read once it was submitted. */
interface Seen {
  readonly buffer: GPUBuffer;
  readonly ops: readonly string[];
}

/**
 * An entry point whose devices look for writes of kernels outside of their tensors: every tensor that a dispatch may write is bound
 * with some memory behind it, which is filled with a pattern before the dispatch and compared with it afterwards. WebGPU itself keeps
 * such writes inside of the binding: it drops them, or does them elsewhere in it. What misses goes unseen where it hits the up to 12
 * bytes that fill a tensor's last 16. `onSubmittedWorkDone` (what `backend.idle()` waits for) rejects with what was found.
 */
export function guardedGpu(gpu: GPU): GPU {
  const requestAdapter: GPU["requestAdapter"] = async (options) => {
    const adapter = await gpu.requestAdapter(options);
    if (adapter === null) return null;
    return overlay(adapter, {
      requestDevice: async (descriptor?: GPUDeviceDescriptor) => guarded(await adapter.requestDevice(descriptor)),
    });
  };
  return overlay(gpu, { requestAdapter });
}

/** An object with some of its methods replaced; the others see the object itself, which native ones insist on. */
export function overlay<T extends object>(target: T, methods: Partial<Record<keyof T, unknown>>): T {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function guarded(device: GPUDevice): GPUDevice {
  const writable = new WeakMap<GPUBindGroupLayout, readonly boolean[]>();
  const guards = new WeakMap<GPUBindGroup, { readonly op: string; readonly places: readonly Guard[] }>();
  const passes = new WeakMap<GPUCommandBuffer, readonly Seen[]>();
  const found: string[] = [];
  const checks: Promise<void>[] = [];
  const words = Uint32Array.from({ length: guardBytes / 4 }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
  const pattern = device.createBuffer({ size: guardBytes, usage: usage.copySource | usage.copyTarget });
  device.queue.writeBuffer(pattern, 0, words);

  const createBuffer = (descriptor: GPUBufferDescriptor): GPUBuffer => {
    if ((descriptor.usage & usage.storage) === 0) return device.createBuffer(descriptor);
    const buffer = device.createBuffer({ ...descriptor, size: descriptor.size + guardBytes });
    // Pools and reports go by the size that was asked for.
    return Object.defineProperty(buffer, "size", { value: descriptor.size });
  };
  const createBindGroupLayout = (descriptor: GPUBindGroupLayoutDescriptor): GPUBindGroupLayout => {
    const layout = device.createBindGroupLayout(descriptor);
    writable.set(
      layout,
      [...descriptor.entries].map(({ buffer }) => buffer?.type === "storage"),
    );
    return layout;
  };
  const createBindGroup = (descriptor: GPUBindGroupDescriptor): GPUBindGroup => {
    const places: Guard[] = [];
    const entries = [...descriptor.entries].map((entry, i) => {
      const resource = entry.resource as GPUBufferBinding;
      if (writable.get(descriptor.layout)![i] !== true) return { ...entry, resource: { size: resource.buffer.size, ...resource } };
      const { buffer, offset = 0, size = buffer.size - offset } = resource;
      places.push({ buffer, begin: offset + size });
      return { ...entry, resource: { buffer, offset, size: size + guardBytes } };
    });
    const group = device.createBindGroup({ ...descriptor, entries });
    guards.set(group, { op: descriptor.label ?? "", places });
    return group;
  };

  const createCommandEncoder = (): GPUCommandEncoder => {
    const encoder = device.createCommandEncoder();
    const seen: { readonly buffer: GPUBuffer; readonly ops: string[] }[] = [];
    const look = (op: string, { buffer, begin }: Guard): void => {
      let last = seen.at(-1);
      if (last === undefined || last.ops.length * guardBytes === seenBytes) {
        last = { buffer: device.createBuffer({ size: seenBytes, usage: usage.mapRead | usage.copyTarget }), ops: [] };
        seen.push(last);
      }
      encoder.copyBufferToBuffer(buffer, begin, last.buffer, last.ops.length * guardBytes, guardBytes);
      last.ops.push(op);
    };
    // A pass for each dispatch: nothing can be copied within one.
    const beginComputePass = (): Partial<GPUComputePassEncoder> => {
      let pipeline: GPUComputePipeline;
      let group: GPUBindGroup;
      return {
        setPipeline: (given: GPUComputePipeline) => {
          pipeline = given;
        },
        setBindGroup: (_index: number, given: GPUBindGroup | null | undefined) => {
          group = given!;
        },
        dispatchWorkgroups: (x, y) => {
          const { op, places } = guards.get(group)!;
          for (const { buffer, begin } of places) encoder.copyBufferToBuffer(pattern, 0, buffer, begin, guardBytes);
          const pass = encoder.beginComputePass();
          pass.setPipeline(pipeline);
          pass.setBindGroup(0, group);
          pass.dispatchWorkgroups(x, y);
          pass.end();
          for (const place of places) look(op, place);
        },
        end: () => undefined,
      };
    };
    const finish = (): GPUCommandBuffer => {
      const buffer = encoder.finish();
      passes.set(buffer, seen);
      return buffer;
    };
    return overlay(encoder, { beginComputePass, finish });
  };

  const check = async ({ buffer, ops }: Seen): Promise<void> => {
    await buffer.mapAsync(mapRead);
    const got = new Uint32Array(buffer.getMappedRange());
    ops.forEach((op, i) => {
      const at = words.findIndex((word, k) => got[(i * guardBytes) / 4 + k] !== word);
      if (at >= 0) found.push(`${op} wrote outside of its output, ${4 * at} bytes behind its end (rounded up to 16)`);
    });
    buffer.destroy();
  };
  const queue = overlay(device.queue, {
    submit: (buffers: readonly GPUCommandBuffer[]) => {
      device.queue.submit(buffers);
      for (const buffer of buffers) checks.push(...passes.get(buffer)!.map(check));
    },
    onSubmittedWorkDone: async () => {
      await device.queue.onSubmittedWorkDone();
      await Promise.all(checks.splice(0));
      if (found.length > 0) throw new Error(found.splice(0).join("; "));
    },
  });
  return overlay(device, { createBuffer, createBindGroupLayout, createBindGroup, createCommandEncoder, queue });
}
