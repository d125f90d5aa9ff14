import {
  type DimValues,
  DisposedError,
  type InputData,
  type LoadOptions,
  type Plan,
  ProgramError,
  type RunOptions,
  Tensor,
  type TensorSource,
  type TypedArray,
} from "@centella/core";
import {
  bind,
  countOp,
  elementCount,
  type Lowered,
  type ProgramGraph,
  requireLoadable,
  requireLoaded,
  requirePersistent,
  runOptions,
  type Storage,
} from "@centella/core/backend";
import { DeviceStorage } from "./deviceTensor.ts";
import { createInstance, type PlannedDispatch, type Variant } from "./instance.ts";
import { deviceBytes, toDevice } from "./layout.ts";
import type { PersistentBuffer } from "./persistents.ts";
import type { DeviceQueue } from "./queue.ts";

/** Instances that a plan keeps; the least recently used goes first. */
const keptInstances = 64;

/** What compiling made. */
export interface PlanParts {
  readonly lowered: Lowered;
  readonly warnings: readonly string[];
  readonly dispatches: readonly PlannedDispatch[];
  readonly cells: ReadonlyMap<string, PersistentBuffer>;
  readonly upload: GPUBuffer;
  readonly slots: readonly GPUBuffer[];
  readonly slotOf: ReadonlyMap<number, number>;
  readonly constants: ReadonlyMap<number, GPUBuffer>;
  /** All buffers of the plan's own, those above among them. */
  readonly buffers: readonly GPUBuffer[];
}

/** A run's inputs: bytes for the upload buffer, or tensors on this device. */
type Content = ReadonlyMap<string, TypedArray | DeviceStorage>;

export class WebgpuPlan implements Plan {
  readonly parts: PlanParts;
  readonly #queue: DeviceQueue;
  readonly #onDispose: (plan: WebgpuPlan) => void;
  /** Least recently used first. */
  readonly #instances = new Map<string, Variant>();
  #disposed = false;

  constructor(queue: DeviceQueue, parts: PlanParts, onDispose: (plan: WebgpuPlan) => void) {
    this.#queue = queue;
    this.parts = parts;
    this.#onDispose = onDispose;
  }

  get program(): ProgramGraph {
    return this.parts.lowered.program;
  }

  get warnings(): readonly string[] {
    return this.parts.warnings;
  }

  /** Bytes of everything but the persistents: temporaries, constants, uploads. */
  get arenaBytes(): number {
    return this.parts.buffers.reduce((sum, { size }) => sum + size, 0);
  }

  async load(name: string, source: TensorSource, options: LoadOptions = {}): Promise<void> {
    this.#check();
    requireLoadable(this.program, name, source, options);
    await this.#cell(name).load(source, options);
  }

  async save(name: string): Promise<TypedArray> {
    this.#check();
    return this.#cell(name).save();
  }

  reset(name: string): void {
    this.#check();
    const cell = this.#cell(name);
    if (requirePersistent(this.program, name).init !== "zeros") {
      throw new ProgramError(`reset: ${name} is a weight; declare it with init: "zeros", or load it again`);
    }
    cell.reset();
  }

  run(given: Readonly<Record<string, InputData>>, options: RunOptions = {}): Record<string, Tensor> {
    const { dims: explicit, signal } = runOptions(options);
    this.#check();
    signal?.throwIfAborted();
    requireLoaded(this.parts.lowered, (name) => this.parts.cells.get(name)!.isLoaded);
    const { dims, inputs } = bind(this.program, given, explicit);

    const content = new Map<string, TypedArray | DeviceStorage>();
    const waiting: Promise<void>[] = [];
    for (const [name, { data }] of inputs) {
      if (!(data instanceof Tensor)) content.set(name, data);
      else if (data.storage instanceof DeviceStorage && data.storage.queue === this.#queue) content.set(name, data.storage);
      else waiting.push(data.data().then((array) => void content.set(name, array)));
    }
    const onDevice = new Set([...content].filter(([, data]) => data instanceof DeviceStorage).map(([name]) => name));
    const instance = this.#instance(dims, onDevice);
    const isAtOnce = waiting.length === 0 && this.#queue.order.isIdle;
    // Queued work sees the arrays as they are now.
    if (!isAtOnce) for (const [name, data] of content) if (!(data instanceof DeviceStorage)) content.set(name, data.slice());

    const targets = new Map(
      instance.outputs
        .filter(({ to }) => to === "device")
        .map(({ name, readback: { spec } }) => [name, new DeviceStorage(this.#queue, spec)]),
    );
    const used = [...targets.values(), ...[...content.values()].filter((data) => data instanceof DeviceStorage)];
    for (const storage of used) storage.retain();
    const submitted = this.#queue.order.post(waiting.length === 0 ? undefined : Promise.all(waiting), () => {
      try {
        this.#queue.check();
        signal?.throwIfAborted();
        return { arrays: this.#submit(instance, content, targets) };
      } catch (error) {
        for (const storage of targets.values()) storage.failure = error as Error;
        throw error;
      } finally {
        for (const storage of used) storage.free();
      }
    });
    const produced = submitted.then(() => signal?.throwIfAborted());
    const arrays = submitted.then(async ({ arrays: reading }) => {
      const done = await reading;
      signal?.throwIfAborted();
      return done;
    });
    // Nobody may ever read.
    produced.catch(() => undefined);
    arrays.catch(() => undefined);
    for (const storage of targets.values()) storage.produced = produced;
    return Object.fromEntries(
      instance.outputs.map(({ name, readback: { spec } }) => {
        const storage = targets.get(name);
        return [name, storage === undefined ? hostOutput(spec, arrays, name) : new Tensor(spec, storage)];
      }),
    );
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const { cells, buffers } = this.parts;
    const work = this.#queue.order.post(undefined, () => {
      this.#instances.clear();
      for (const buffer of buffers) buffer.destroy();
      for (const cell of cells.values()) cell.release();
      this.#onDispose(this);
    });
    work.catch(() => undefined);
  }

  #check(): void {
    if (this.#disposed) throw new DisposedError("plan");
    this.#queue.check();
  }

  #cell(name: string): PersistentBuffer {
    return this.parts.cells.get(requirePersistent(this.program, name).name)!;
  }

  #instance(dims: DimValues, onDevice: ReadonlySet<string>): Variant {
    const key = JSON.stringify([Object.entries(dims).sort(([a], [b]) => (a < b ? -1 : 1)), [...onDevice].sort()]);
    const { lowered, dispatches, upload } = this.parts;
    const memory = { upload, bufferOf: (storage: Storage) => this.#bufferOf(storage) };
    const instance =
      this.#instances.get(key) ?? createInstance(this.#queue, lowered, dispatches, memory, dims, (name) => onDevice.has(name));
    this.#instances.delete(key);
    this.#instances.set(key, instance);
    if (this.#instances.size > keptInstances) this.#instances.delete(this.#instances.keys().next().value!);
    return instance;
  }

  #bufferOf({ id, definition }: Storage): GPUBuffer {
    const { cells, constants, slots, slotOf } = this.parts;
    switch (definition.kind) {
      case "persistent":
        return cells.get(definition.name)!.buffer;
      case "constant":
        return constants.get(id)!;
      default:
        return slots[slotOf.get(id)!]!;
    }
  }

  /** One upload, one encoder, one submission, one readback. */
  #submit(instance: Variant, content: Content, targets: ReadonlyMap<string, DeviceStorage>): Promise<ReadonlyMap<string, TypedArray>> {
    const { upload, lowered } = this.parts;
    const { image, hostInputs, deviceInputs, dispatches, outputs } = instance;
    const encoder = this.#queue.device.createCommandEncoder();
    for (const { name, spec, offset } of deviceInputs) {
      const { buffer } = content.get(name) as DeviceStorage;
      if (elementCount(spec.shape) > 0) encoder.copyBufferToBuffer(buffer, 0, upload, offset, Math.ceil(deviceBytes(spec) / 4) * 4);
    }
    if (dispatches.length > 0) {
      const pass = encoder.beginComputePass();
      for (const { pipeline, bindGroup, x, y } of dispatches) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bindGroup);
        pass.dispatchWorkgroups(x, y);
      }
      pass.end();
    }
    for (const { name, readback } of outputs) {
      const target = targets.get(name);
      if (target === undefined) continue;
      const bytes = Math.ceil(deviceBytes(readback.spec) / 4) * 4;
      const buffer = target.allocate();
      if (bytes > 0) encoder.copyBufferToBuffer(readback.from.buffer, readback.from.offset, buffer, 0, bytes);
    }
    const host = outputs.filter(({ to }) => to === "host");
    const finish = this.#queue.readBack(
      encoder,
      host.map(({ readback }) => readback),
    );
    for (const { name, spec, offset } of hostInputs) {
      new Uint8Array(image, Math.min(offset, image.byteLength)).set(toDevice(spec, content.get(name) as TypedArray));
    }
    if (image.byteLength > 0) this.#queue.upload(upload, image, image.byteLength);
    this.#queue.submit(encoder);
    for (const { op } of lowered.steps) countOp(this.#queue.counters, op.name);
    return finish().then((arrays) => new Map(host.map(({ name }, i) => [name, arrays[i]!])));
  }
}

/** A result that the run itself reads back. */
function hostOutput(spec: Tensor["spec"], arrays: Promise<ReadonlyMap<string, TypedArray>>, name: string): Tensor {
  return new Tensor(spec, {
    device: "host",
    ready: async () => void (await arrays),
    read: async () => (await arrays).get(name)!.slice(),
    free: () => undefined,
  });
}
