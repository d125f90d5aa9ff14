import { type ConcreteSpec, type DimValues, type RunOptions, Tensor, type TypedArray } from "@centella/core";
import {
  type Binding,
  bucketsOf,
  byteLength,
  dimsKey,
  elementAt,
  entryOf,
  type HostResults,
  type Lowered,
  LruCache,
  largestDims,
  maxVariants,
  PendingOutputs,
  PlanBase,
  type PlanOwner,
  resolveDim,
  resolveSpec,
  type StepTime,
  typedArrayOf,
  unlessAborted,
  variantKey,
  withPersistents,
} from "@centella/core/backend";
import { recodedTo, requireStoredOutputs } from "@centella/gpu-kernels";
import type { Allocation, Device } from "../device/device.ts";
import { backendName, DeviceStorage, onDevice, readBackSync, writeThrough, writeThroughSync } from "../device/deviceTensor.ts";
import type { Handle } from "../device/driver.ts";
import { gpuOf } from "../kernels/shared/gpu.ts";
import type { CudaPersistentBuffer } from "./persistentBuffer.ts";
import { addPersistents } from "./persistents.ts";
import { bytesAt } from "./place.ts";
import { PlanMemory } from "./planMemory.ts";
import { enqueueRun, type RunInputs } from "./runInputs.ts";
import { planVariant, scratchBytes, usedDims, type VariantPlan, type VariantSource, variantSource } from "./variant.ts";
import { type RunExtents, type StagedRun, VariantRunner } from "./variantRunner.ts";

/** What runs of the same extents have in common. */
interface PlanExtents extends RunExtents {
  readonly bucket: DimValues;
  /** Key of the variant for inputs that are all on the host. */
  readonly variantKey: string;
  readonly outputs: readonly { readonly name: string; readonly to: "host" | "device"; readonly spec: ConcreteSpec }[];
}

/** Extents of which a plan keeps the variant's key and the outputs' specs. */
const maxExtents = 256;

/** Runs of one text follow each other sooner. */
const pauseMilliseconds = 20;

const noneGiven: ReadonlySet<string> = new Set();

/** The plan whose persistents a plan shares, and the programs that will share its own. */
interface Sharing {
  readonly shared?: CudaPlan | undefined;
  readonly sharedBy?: readonly Lowered[];
}

interface CreateOptions extends Sharing {
  /** Whether to leave the kernels to {@link CudaPlan.prepare} and the runs. */
  readonly background: boolean;
}

/** A program on a CUDA device. */
export class CudaPlan extends PlanBase<CudaPersistentBuffer> {
  readonly #device: Device;
  readonly #source: VariantSource;
  readonly #usedDims: ReadonlySet<string>;
  readonly #variants = new LruCache<VariantRunner>(maxVariants);
  readonly #extents = new LruCache<PlanExtents>(maxExtents);
  /** Whether inputs and outputs of runs are all in host memory in the form that the device reads. */
  readonly #isSimple: boolean;
  readonly #memory: PlanMemory;

  private constructor(owner: PlanOwner<CudaPersistentBuffer>, device: Device, lowered: Lowered, { shared, sharedBy = [] }: Sharing) {
    super(
      owner,
      lowered,
      withPersistents(lowered.program, shared, (buffers) => addPersistents(device, lowered, [lowered, ...sharedBy], buffers)),
    );
    this.#device = device;
    this.#memory = new PlanMemory(device, (name) => this.persistent(name).allocation);
    this.#source = variantSource(lowered, {
      gpu: gpuOf(device.driver.device),
      unitsOf: (name) => this.persistent(name).units,
    });
    this.#usedDims = usedDims(lowered);
    const { inputs, values } = lowered.program;
    const isStored = [...inputs.values()].every((id) => recodedTo(elementAt(values, id).spec.dtype) === undefined);
    this.#isSimple = isStored && lowered.outputs.every(({ to }) => to === "host");
  }

  /** Takes the memory, uploads constants and compiles the kernels of the largest variant, unless in the background. Runs inside the queue. */
  static async create(owner: PlanOwner<CudaPersistentBuffer>, device: Device, lowered: Lowered, options: CreateOptions): Promise<CudaPlan> {
    requireStoredOutputs(backendName, lowered);
    const plan = new CudaPlan(owner, device, lowered, options);
    try {
      const { largest, constants } = plan.#allocate();
      for (const { memory, data } of constants) await writeThrough(device, memory, data);
      if (!options.background) await plan.#variant(largest, noneGiven);
      return plan;
    } catch (error) {
      plan.dispose();
      throw error;
    }
  }

  /** The same within the call; while nothing is under way. */
  static createSync(owner: PlanOwner<CudaPersistentBuffer>, device: Device, lowered: Lowered): CudaPlan {
    requireStoredOutputs(backendName, lowered);
    const plan = new CudaPlan(owner, device, lowered, {});
    try {
      const { largest, constants } = plan.#allocate();
      for (const { memory, data } of constants) writeThroughSync(device, memory, data);
      plan.#variantSync(largest);
      return plan;
    } catch (error) {
      plan.dispose();
      throw error;
    }
  }

  /**
   * Outside of the queue, in which weights load. Runs go first: plans of variants and loads of modules take milliseconds from them. A variant is
   * planned as soon as the kernels of those before leave a thread free.
   */
  async prepare(extents: readonly DimValues[]): Promise<void> {
    this.requireAlive();
    const prepared: Promise<void>[] = [];
    for (const bucket of extents.map((dims) => bucketsOf(this.program, dims))) {
      await this.#pause();
      await this.#device.roomForKernel();
      if (this.isDisposed) break;
      const variant = this.#prepareVariant(bucket);
      // Reported below.
      variant.catch(() => undefined);
      prepared.push(variant);
    }
    await Promise.allSettled(prepared);
    await Promise.all(prepared);
  }

  async #prepareVariant(bucket: DimValues): Promise<void> {
    const key = variantKey(bucket, noneGiven);
    if (this.#variants.get(key) !== undefined) return;
    const variant = await this.#newVariant(bucket, noneGiven);
    if (!this.isDisposed) await this.#keep(key, variant);
    else variant.free();
  }

  runSync(inputs: Readonly<Record<string, TypedArray>>, options: Pick<RunOptions, "dims"> = {}): Record<string, TypedArray> {
    const { dims, inputs: bound } = this.bindSync(inputs, options);
    const extents = this.#extentsOf(dims);
    const host = new Map([...bound].map(([name, { spec, data }]) => [name, { data: onDevice(spec, data as TypedArray) }]));
    const variant = this.#variantSync(extents.bucket);
    const results = variant.runSync({ extents, host });
    let hostOutputs = 0;
    this.countSteps();
    return Object.fromEntries(
      extents.outputs.map(({ name, to, spec }) => {
        if (to === "host") return [name, results.peek(hostOutputs++)];
        const { buffer } = readBackSync(this.#device, { address: this.#outputAddress(variant.plan, name), bytes: byteLength(spec) });
        return [name, new (typedArrayOf(spec.dtype))(buffer)];
      }),
    );
  }

  protected override start({ dims, inputs: bound }: Binding, signal: AbortSignal | undefined): Record<string, Tensor> {
    const extents = this.#extentsOf(dims);
    const atOnce = this.#launchAtOnce(extents, bound);
    const { outputs, hostOutputs } = extents;
    if (atOnce !== undefined) return new PendingOutputs(unlessAborted(atOnce, signal, hostOutputs.length)).tensors(outputs);
    const memory = this.#allocateOutputs(dims);
    const queued = enqueueRun(this.#device, bound, signal, (host, device) => this.#launch(extents, host, device, memory));
    const completed = queued.then(({ completion }) => completion);
    const host = new PendingOutputs(unlessAborted(completed, signal, hostOutputs.length));
    return host.tensors(outputs, this.#storagesOf(extents, memory, { queued, ready: host.promise }));
  }

  protected override timeSteps({ dims, inputs }: Binding, perStep: boolean, signal: AbortSignal | undefined): Promise<readonly StepTime[]> {
    const extents = this.#extentsOf(dims);
    return enqueueRun(this.#device, inputs, signal, async (host, deviceInputs) => {
      const variant = await this.#prepared(extents, deviceInputs);
      const times = await variant.timeSteps({ extents, host }, perStep ? this.lowered.steps.length : undefined);
      this.countSteps();
      return times;
    });
  }

  /** Resolves when no run is under way and none has started for a while. */
  async #pause(): Promise<void> {
    while ([...this.#variants.values()].some(({ isBusy }) => isBusy)) {
      await this.settled();
      await new Promise((resolve) => setTimeout(resolve, pauseMilliseconds));
    }
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
    const largest = largestDims(this.program);
    const plan = this.#planned(largest, noneGiven);
    this.#memory.take("arena", this.#source.arenaBytes);
    this.#memory.take("upload", plan.uploadBytes);
    this.#memory.take("readback", plan.readbackBytes);
    return { largest, constants: this.#memory.takeConstants(this.lowered) };
  }

  /** The plan of a variant, with scratch memory for it. */
  #planned(bucket: DimValues, given: ReadonlySet<string>): VariantPlan {
    const plan = planVariant(this.#source, bucket, given);
    this.#memory.takeScratch(scratchBytes(plan));
    return plan;
  }

  /** @throws {ArgumentError} unless all dims are bound that steps or outputs depend on */
  #extentsOf(dims: DimValues): PlanExtents {
    const key = dimsKey(this.program, dims);
    const known = this.#extents.get(key);
    if (known !== undefined) return known;
    for (const dim of this.program.dims.values()) if (this.#usedDims.has(dim.name)) resolveDim(dim, dims);
    const outputs = this.lowered.outputs.map(({ name, to, operand }) => ({ name, to, spec: resolveSpec(operand.spec, dims) }));
    const bucket = bucketsOf(this.program, dims);
    const extents = {
      dims: Uint32Array.from(this.program.dims.keys(), (name) => dims[name] ?? 0),
      hostOutputs: outputs.filter(({ to }) => to === "host").map(({ spec }) => spec),
      bucket,
      variantKey: variantKey(bucket, noneGiven),
      outputs,
    };
    this.#extents.set(key, extents);
    return extents;
  }

  /** Storages of the outputs that stay on the device. `queued` settles when the run that writes them is queued there, `ready` when it is over. */
  #storagesOf(
    { outputs }: PlanExtents,
    memory: ReadonlyMap<string, Allocation>,
    settled: { readonly queued: Promise<unknown>; readonly ready: Promise<unknown> },
  ): ReadonlyMap<string, DeviceStorage> {
    const storages = new Map<string, DeviceStorage>();
    for (const { name, spec } of outputs) {
      const allocation = memory.get(name);
      if (allocation !== undefined) storages.set(name, new DeviceStorage(this.#device, spec, allocation, settled));
    }
    return storages;
  }

  async #variant(bucket: DimValues, given: ReadonlySet<string>): Promise<VariantRunner> {
    const key = variantKey(bucket, given);
    const found = this.#variants.get(key);
    return found ?? this.#keep(key, await this.#newVariant(bucket, given));
  }

  async #newVariant(bucket: DimValues, given: ReadonlySet<string>): Promise<VariantRunner> {
    const plan = this.#planned(bucket, given);
    if (given.size > 0) this.#memory.take("given", this.#largestInputs());
    return VariantRunner.create(this.#device, plan, this.#memory.addressOf);
  }

  /** Keeps a new variant, or frees it if another one was created meanwhile. Returns the one that is kept. */
  async #keep(key: string, variant: VariantRunner): Promise<VariantRunner> {
    const known = this.#variants.get(key);
    if (known !== undefined) {
      variant.free();
      return known;
    }
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
    const plan = this.#planned(bucket, noneGiven);
    const variant = VariantRunner.createSync(this.#device, plan, this.#memory.addressOf);
    this.#variants.set(key, variant)?.free();
    return variant;
  }

  /** The variant for a run, and queued copies of given tensors to where it reads them. */
  async #prepared({ bucket }: PlanExtents, deviceInputs: RunInputs["device"]): Promise<VariantRunner> {
    this.#device.requireAlive();
    const variant = await this.#variant(bucket, new Set(deviceInputs.keys()));
    for (const [name, { allocation }] of deviceInputs) {
      const place = variant.plan.inputs.get(name);
      if (place !== undefined) this.#copy(this.#memory.addressOf(place), allocation.address, allocation.bytes);
    }
    return variant;
  }

  #copy(to: Handle, from: Handle, bytes: number): void {
    if (bytes > 0) this.#device.call((driver) => driver.copyOnDevice(to, from, bytes));
  }

  /** Launches a run within the call if nothing has to be waited for: no queued work, no code to be compiled, no tensor, no earlier run. */
  #launchAtOnce(extents: PlanExtents, inputs: Binding["inputs"]): Promise<HostResults> | undefined {
    if (!this.#isSimple || this.#device.queue.busy) return undefined;
    for (const { data } of inputs.values()) if (data instanceof Tensor) return undefined;
    try {
      const host = inputs as ReadonlyMap<string, { readonly data: TypedArray }>;
      const results = this.#variants.get(extents.variantKey)?.startAtOnce({ extents, host });
      if (results !== undefined) this.countSteps();
      return results;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Queues a run on the device, with copies of device outputs after it. */
  async #launch(
    extents: PlanExtents,
    host: StagedRun["host"],
    deviceInputs: RunInputs["device"],
    deviceOutputs: ReadonlyMap<string, Allocation>,
  ): Promise<{ readonly completion: Promise<HostResults> }> {
    const variant = await this.#prepared(extents, deviceInputs);
    const run = await variant.start({
      extents,
      host,
      afterLaunch: () => {
        for (const [name, { address, bytes }] of deviceOutputs) this.#copy(address, this.#outputAddress(variant.plan, name), bytes);
      },
    });
    this.countSteps();
    return run;
  }

  #outputAddress({ deviceOutputs }: VariantPlan, name: string): Handle {
    return this.#memory.addressOf(entryOf(deviceOutputs, name));
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
    return planVariant(this.#source, largestDims(this.program), new Set(this.program.inputs.keys())).givenBytes;
  }
}
