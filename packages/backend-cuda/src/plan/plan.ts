import { type ConcreteSpec, type DimValues, type RunOptions, Tensor, type TypedArray } from "@centella/core";
import {
  type Binding,
  bucketsOf,
  byteLength,
  entryOf,
  type Lowered,
  LruCache,
  maxVariants,
  missingPersistents,
  PlanBase,
  type PlanOwner,
  pendingTensor,
  resolveDim,
  resolveSpec,
  type StepTime,
  typedArrayOf,
  withPersistents,
} from "@centella/core/backend";
import type { Allocation, Device } from "../device/device.ts";
import { DeviceStorage, readBackSync, storageOn, writeThrough, writeThroughSync } from "../device/deviceTensor.ts";
import type { Handle } from "../device/driver.ts";
import { isDecoded, toResident } from "../device/resident.ts";
import { CudaPersistentBuffer } from "./persistentBuffer.ts";
import { PlanMemory } from "./planMemory.ts";
import {
  bytesAt,
  planVariant,
  requireReadable,
  scratchBytes,
  usedDims,
  type VariantPlan,
  type VariantSource,
  variantSource,
} from "./variant.ts";
import { VariantRunner } from "./variantRunner.ts";

/** Inputs of a run: on the host in resident form, or to be fetched; and on the device. */
interface RunInputs {
  readonly host: ReadonlyMap<string, TypedArray | Promise<TypedArray>>;
  readonly device: ReadonlyMap<string, DeviceStorage>;
}

type Results = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

const noneGiven: ReadonlySet<string> = new Set();

/** A program on a CUDA device. */
export class CudaPlan extends PlanBase<CudaPersistentBuffer> {
  readonly #device: Device;
  readonly #source: VariantSource;
  readonly #usedDims: ReadonlySet<string>;
  readonly #variants = new LruCache<VariantRunner>(maxVariants);
  readonly #memory: PlanMemory;

  private constructor(owner: PlanOwner<CudaPersistentBuffer>, device: Device, lowered: Lowered, shared: CudaPlan | undefined) {
    super(owner, lowered, persistentsOf(device, lowered, shared));
    this.#device = device;
    this.#memory = new PlanMemory(device, (name) => this.persistent(name).allocation);
    this.#source = variantSource(lowered);
    this.#usedDims = usedDims(lowered);
  }

  /** Takes the memory, uploads constants and compiles the kernels of the largest variant. Runs inside the queue. */
  static async create(
    owner: PlanOwner<CudaPersistentBuffer>,
    device: Device,
    lowered: Lowered,
    shared: CudaPlan | undefined,
  ): Promise<CudaPlan> {
    requireReadable(lowered);
    const plan = new CudaPlan(owner, device, lowered, shared);
    try {
      const { largest, constants } = plan.#allocate();
      for (const { memory, data } of constants) await writeThrough(device, memory, 0, data);
      await plan.#variant(largest, noneGiven);
      return plan;
    } catch (error) {
      plan.dispose();
      throw error;
    }
  }

  /** The same within the call; while nothing is under way. */
  static createSync(owner: PlanOwner<CudaPersistentBuffer>, device: Device, lowered: Lowered): CudaPlan {
    requireReadable(lowered);
    const plan = new CudaPlan(owner, device, lowered, undefined);
    try {
      const { largest, constants } = plan.#allocate();
      for (const { memory, data } of constants) writeThroughSync(device, memory, 0, data);
      plan.#variantSync(largest);
      return plan;
    } catch (error) {
      plan.dispose();
      throw error;
    }
  }

  runSync(inputs: Readonly<Record<string, TypedArray>>, options: Pick<RunOptions, "dims"> = {}): Record<string, TypedArray> {
    const { dims, inputs: bound } = this.bindSync(inputs, options);
    this.#requireDims(dims);
    const host = new Map([...bound].map(([name, { spec, data }]) => [name, toResident(spec, data as TypedArray)]));
    const variant = this.#variantSync(bucketsOf(this.program, dims));
    const results = variant.runSync({ dims: this.#dimsInOrder(dims), host, afterLaunch: () => undefined });
    this.countSteps();
    return Object.fromEntries(
      this.lowered.outputs.map(({ name, to, operand }) => {
        const spec = resolveSpec(operand.spec, dims);
        if (to === "host") return [name, storedForm(spec, entryOf(results, name)).slice()];
        const address = this.#outputAddress(variant.plan, name);
        return [name, storedForm(spec, readBackSync(this.#device, { address, bytes: byteLength(spec) }))];
      }),
    );
  }

  protected override start({ dims, inputs: bound }: Binding, signal: AbortSignal | undefined): Record<string, Tensor> {
    this.#requireDims(dims);
    const outputs = this.#allocateOutputs(dims);
    const started = this.#enqueue(bound, signal, (host, device) => this.#launch(dims, host, device, outputs));
    const results = started.then(async ({ completion }) => {
      const data = await completion;
      signal?.throwIfAborted();
      return data;
    });
    // A failure reaches the readers of the outputs, if there are any.
    results.catch(() => undefined);
    return Object.fromEntries(
      this.lowered.outputs.map(({ name, operand }) => {
        const spec = resolveSpec(operand.spec, dims);
        const memory = outputs.get(name);
        if (memory !== undefined)
          return [name, new Tensor(spec, new DeviceStorage(this.#device, spec, memory, { queued: started, ready: results }))];
        const content = results.then((all) => storedForm(spec, entryOf(all, name)));
        return [name, pendingTensor(spec, content)];
      }),
    );
  }

  protected override timeSteps({ dims, inputs }: Binding, perStep: boolean, signal: AbortSignal | undefined): Promise<readonly StepTime[]> {
    this.#requireDims(dims);
    return this.#enqueue(inputs, signal, async (host, deviceInputs) => {
      const variant = await this.#prepared(dims, deviceInputs);
      const times = await variant.timeSteps({ dims: this.#dimsInOrder(dims), host }, perStep ? this.lowered.steps.length : undefined);
      this.countSteps();
      return times;
    });
  }

  protected override async settled(): Promise<void> {
    await Promise.all([...this.#variants.values()].map((variant) => variant.settled()));
  }

  protected override free(): void {
    this.#device.quietly(() => {
      for (const variant of this.#variants.values()) variant.free();
      this.#variants.clear();
      this.#memory.free();
    });
  }

  /** Takes the memory. What is left to do: to write the constants and to create the largest variant. */
  #allocate(): { readonly largest: DimValues; readonly constants: ReturnType<PlanMemory["takeConstants"]> } {
    const largest = this.#largestDims();
    const plan = planVariant(this.#source, largest, noneGiven);
    this.#memory.take("arena", this.#source.arena.bytes + scratchBytes(plan));
    this.#memory.take("upload", plan.uploadBytes);
    this.#memory.take("readback", plan.readbackBytes);
    return { largest, constants: this.#memory.takeConstants(this.lowered) };
  }

  #largestDims(): DimValues {
    return Object.fromEntries([...this.program.dims].map(([name, { max }]) => [name, max]));
  }

  #requireDims(dims: DimValues): void {
    for (const dim of this.program.dims.values()) if (this.#usedDims.has(dim.name)) resolveDim(dim, dims);
  }

  #inputsOf(bound: Binding["inputs"]): RunInputs {
    const host = new Map<string, TypedArray | Promise<TypedArray>>();
    const device = new Map<string, DeviceStorage>();
    for (const [name, { spec, data }] of bound) {
      const storage = data instanceof Tensor ? storageOn(this.#device, data) : undefined;
      if (storage !== undefined) device.set(name, storage);
      else host.set(name, data instanceof Tensor ? data.data().then((stored) => toResident(spec, stored)) : copied(spec, data));
    }
    return { host, device };
  }

  async #variant(bucket: DimValues, given: ReadonlySet<string>): Promise<VariantRunner> {
    const key = variantKey(bucket, given);
    const found = this.#variants.get(key);
    if (found !== undefined) return found;
    const plan = planVariant(this.#source, bucket, given);
    if (given.size > 0) this.#memory.take("given", this.#largestInputs());
    const variant = await VariantRunner.create(this.#device, plan, this.#memory.addressOf);
    const evicted = this.#variants.set(key, variant);
    await evicted?.settled();
    evicted?.free();
    return variant;
  }

  /** The same within the call, without given tensors; while nothing is under way. */
  #variantSync(bucket: DimValues): VariantRunner {
    const key = variantKey(bucket, noneGiven);
    const found = this.#variants.get(key);
    if (found !== undefined) return found;
    const plan = planVariant(this.#source, bucket, noneGiven);
    const variant = VariantRunner.createSync(this.#device, plan, this.#memory.addressOf);
    this.#variants.set(key, variant)?.free();
    return variant;
  }

  /** Runs `work` when its turn comes, on the inputs as they are at the call. */
  #enqueue<T>(
    bound: Binding["inputs"],
    signal: AbortSignal | undefined,
    work: (host: ReadonlyMap<string, TypedArray>, device: RunInputs["device"]) => Promise<T>,
  ): Promise<T> {
    const inputs = this.#inputsOf(bound);
    // A failed input reaches the caller once the work's turn comes.
    for (const data of inputs.host.values()) if (data instanceof Promise) data.catch(() => undefined);
    for (const storage of inputs.device.values()) storage.retain();
    return this.#device.queue.enqueue(async () => {
      try {
        const host = new Map<string, TypedArray>();
        for (const [name, data] of inputs.host) host.set(name, await data);
        for (const storage of inputs.device.values()) await storage.queued;
        signal?.throwIfAborted();
        return await work(host, inputs.device);
      } finally {
        for (const storage of inputs.device.values()) storage.release();
      }
    });
  }

  /** The variant for a run, and queued copies of given tensors to where it reads them. */
  async #prepared(dims: DimValues, deviceInputs: RunInputs["device"]): Promise<VariantRunner> {
    this.#device.requireAlive();
    const variant = await this.#variant(bucketsOf(this.program, dims), new Set(deviceInputs.keys()));
    for (const [name, { allocation }] of deviceInputs) {
      const place = variant.plan.inputs.get(name);
      if (place !== undefined) this.#copy(this.#memory.addressOf(place), allocation.address, allocation.bytes);
    }
    return variant;
  }

  #copy(to: Handle, from: Handle, bytes: number): void {
    if (bytes > 0) this.#device.call((driver) => driver.copyOnDevice(to, from, bytes));
  }

  /** Queues a run on the device, with copies of device outputs after it. */
  async #launch(
    dims: DimValues,
    host: ReadonlyMap<string, TypedArray>,
    deviceInputs: RunInputs["device"],
    deviceOutputs: ReadonlyMap<string, Allocation>,
  ): Promise<{ readonly completion: Promise<Results> }> {
    const variant = await this.#prepared(dims, deviceInputs);
    const run = await variant.start({
      dims: this.#dimsInOrder(dims),
      host,
      afterLaunch: () => {
        for (const [name, { address, bytes }] of deviceOutputs) this.#copy(address, this.#outputAddress(variant.plan, name), bytes);
      },
    });
    this.countSteps();
    return run;
  }

  #outputAddress({ outputs }: VariantPlan, name: string): Handle {
    return this.#memory.addressOf(entryOf(outputs, name));
  }

  #dimsInOrder(dims: DimValues): readonly number[] {
    return [...this.program.dims.keys()].map((name) => dims[name] ?? 0);
  }

  #allocateOutputs(dims: DimValues): ReadonlyMap<string, Allocation> {
    const outputs = new Map<string, Allocation>();
    try {
      for (const { name, to, operand } of this.lowered.outputs) {
        if (to === "device") outputs.set(name, this.#device.alloc(bytesAt(operand.spec, dims), "tensors"));
      }
      return outputs;
    } catch (error) {
      for (const memory of outputs.values()) memory.free();
      throw error;
    }
  }

  /** Bytes of all inputs at their largest, each aligned: room for any set of given tensors. */
  #largestInputs(): number {
    return planVariant(this.#source, this.#largestDims(), new Set(this.program.inputs.keys())).givenBytes;
  }
}

/** Buffers of the persistents: shared ones and new ones. @throws {OutOfMemoryError | DisposedError} */
function persistentsOf(device: Device, { program }: Lowered, shared: CudaPlan | undefined): Map<string, CudaPersistentBuffer> {
  return withPersistents(program, shared, (buffers: Map<string, CudaPersistentBuffer>) => {
    for (const persistent of missingPersistents(program, buffers)) {
      buffers.set(persistent.name, new CudaPersistentBuffer(device, persistent));
    }
    return buffers;
  });
}

/** A view of a host output's bytes, which may be followed by others, as the array of its dtype. */
function storedForm(spec: ConcreteSpec, { buffer, byteOffset }: Uint8Array<ArrayBuffer>): TypedArray {
  const type = typedArrayOf(spec.dtype);
  return new type(buffer, byteOffset, byteLength(spec) / type.BYTES_PER_ELEMENT);
}

/** An input's resident form as a copy of its own: the caller may change the array before the run starts. */
function copied(spec: ConcreteSpec, data: TypedArray): TypedArray {
  return isDecoded(spec.dtype) ? toResident(spec, data) : data.slice();
}

function variantKey(bucket: DimValues, given: ReadonlySet<string>): string {
  return JSON.stringify([bucket, [...given].sort()]);
}
