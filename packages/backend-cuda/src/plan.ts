import {
  type ConcreteSpec,
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
  byteLength,
  countOp,
  elementCount,
  heldWeightsWarnings,
  type Lowered,
  type ProgramGraph,
  requireArrays,
  requireLoadable,
  requireLoaded,
  requirePersistent,
  resolveDim,
  resolveSpec,
  runOptions,
  typedArrayOf,
} from "@centella/core/backend";
import type { Allocation, Device } from "./device.ts";
import { bytesOf, DeviceStorage, hostOutput, readBackSync, storageOn, writeThrough, writeThroughSync } from "./deviceTensor.ts";
import type { Handle } from "./driver.ts";
import { PersistentBuffer } from "./persistents.ts";
import { isDecoded, residentBytes, toResident } from "./resident.ts";
import {
  type ArenaLayout,
  arenaLayout,
  bucketFor,
  bytesAt,
  type Place,
  planVariant,
  requireReadable,
  scratchBytes,
  usedDims,
  type VariantPlan,
} from "./variant.ts";
import { VariantRunner } from "./variantRunner.ts";

// A variant holds a graph and its page-locked blocks; programs with several dims have many buckets.
const maxVariants = 64;

/** A program on a CUDA device. */
export class CudaPlan implements Plan {
  readonly warnings: readonly string[];
  readonly cells: ReadonlyMap<string, PersistentBuffer>;
  readonly #device: Device;
  readonly #lowered: Lowered;
  readonly #arena: ArenaLayout;
  readonly #usedDims: ReadonlySet<string>;
  /** Least recently used first. */
  readonly #variants = new Map<string, VariantRunner>();
  readonly #memory = new Map<string, Allocation>();
  readonly #constants = new Map<number, Allocation>();
  readonly #onDispose: (plan: CudaPlan) => void;
  #isDisposed = false;

  private constructor(device: Device, lowered: Lowered, shareWith: Plan | undefined, onDispose: (plan: CudaPlan) => void) {
    this.#device = device;
    this.#lowered = lowered;
    this.#onDispose = onDispose;
    this.#arena = arenaLayout(lowered);
    this.#usedDims = usedDims(lowered);
    const cells = new Map<string, PersistentBuffer>();
    this.cells = cells;
    for (const persistent of lowered.program.persistents.values()) {
      const shared = shareWith instanceof CudaPlan && shareWith.#device === device ? shareWith.cells.get(persistent.name) : undefined;
      const cell = shared !== undefined && sameSpec(shared.spec, persistent.spec) ? shared : new PersistentBuffer(device, persistent);
      cell.hold();
      cells.set(persistent.name, cell);
    }
    this.warnings = warningsOf(cells);
  }

  /** Takes the memory, uploads constants and compiles the kernels of the largest variant. Runs inside the queue. */
  static async create(
    device: Device,
    lowered: Lowered,
    shareWith: Plan | undefined,
    onDispose: (plan: CudaPlan) => void,
  ): Promise<CudaPlan> {
    requireReadable(lowered);
    if (shareWith instanceof CudaPlan && shareWith.#isDisposed) throw new DisposedError("plan");
    const plan = new CudaPlan(device, lowered, shareWith, onDispose);
    try {
      await plan.#prepare();
      return plan;
    } catch (error) {
      plan.#free();
      throw error;
    }
  }

  /** The same within the call; while nothing is under way. */
  static createSync(device: Device, lowered: Lowered, onDispose: (plan: CudaPlan) => void): CudaPlan {
    requireReadable(lowered);
    const plan = new CudaPlan(device, lowered, undefined, onDispose);
    try {
      plan.#prepareSync();
      return plan;
    } catch (error) {
      plan.#free();
      throw error;
    }
  }

  get program(): ProgramGraph {
    return this.#lowered.program;
  }

  async load(name: string, source: TensorSource, options: LoadOptions = {}): Promise<void> {
    this.#requireUsable();
    requireLoadable(this.program, name, source, options);
    await this.#device.queue.enqueue(() => {
      this.#requireUsable();
      return this.cells.get(name)!.load(source, options);
    });
  }

  async save(name: string): Promise<TypedArray> {
    this.#requireUsable();
    requirePersistent(this.program, name);
    return this.cells.get(name)!.save();
  }

  reset(name: string): void {
    this.#requireUsable();
    const { init } = requirePersistent(this.program, name);
    if (init !== "zeros")
      throw new ProgramError(`reset: expected a persistent that starts as zeros, got ${name}, a loaded one; load it again`);
    const cell = this.cells.get(name)!;
    this.#device.queue.enqueue(() => cell.zero()).catch(() => undefined);
  }

  run(inputs: Readonly<Record<string, InputData>>, options: RunOptions = {}): Record<string, Tensor> {
    const { dims: explicit, signal } = runOptions(options);
    this.#requireUsable();
    signal?.throwIfAborted();
    requireLoaded(this.#lowered, (name) => this.cells.get(name)!.isLoaded);
    const { dims, inputs: bound } = bind(this.program, inputs, explicit);
    for (const name of this.#usedDims) resolveDim(this.program.dims.get(name)!, dims);

    const hostInputs = new Map<string, TypedArray | Promise<TypedArray>>();
    const deviceInputs = new Map<string, DeviceStorage>();
    for (const [name, { spec, data }] of bound) {
      const storage = data instanceof Tensor ? storageOn(this.#device, data) : undefined;
      if (storage !== undefined) deviceInputs.set(name, storage);
      else hostInputs.set(name, data instanceof Tensor ? data.data().then((stored) => toResident(spec, stored)) : copied(spec, data));
    }
    const deviceOutputs = this.#allocateOutputs(dims);
    for (const storage of deviceInputs.values()) storage.retain();
    const started = this.#device.queue.enqueue(async () => {
      try {
        const host = new Map<string, TypedArray>();
        for (const [name, data] of hostInputs) host.set(name, await data);
        for (const storage of deviceInputs.values()) await storage.queued;
        signal?.throwIfAborted();
        return await this.#start(dims, host, deviceInputs, deviceOutputs);
      } finally {
        for (const storage of deviceInputs.values()) storage.release();
      }
    });
    const results = started.then(async ({ completion }) => {
      const data = await completion;
      signal?.throwIfAborted();
      return data;
    });
    for (const promise of [results, ...hostInputs.values()]) if (promise instanceof Promise) promise.catch(() => undefined);
    return Object.fromEntries(
      this.#lowered.outputs.map(({ name, to, operand }) => {
        const spec = resolveSpec(operand.spec, dims);
        if (to === "host") return [name, hostOutput(spec, results, name)];
        const options = { queued: started, ready: results };
        return [name, new Tensor(spec, new DeviceStorage(this.#device, spec, deviceOutputs.get(name)!, options))];
      }),
    );
  }

  /** Waits for no queued run and overtakes none: it runs while nothing is under way on the device. @throws {ProgramError} otherwise */
  runSync(inputs: Readonly<Record<string, TypedArray>>, options: Pick<RunOptions, "dims"> = {}): Record<string, TypedArray> {
    const { dims: explicit } = runOptions(options);
    requireArrays(inputs);
    this.#requireUsable();
    this.#device.requireIdle("runSync");
    requireLoaded(this.#lowered, (name) => this.cells.get(name)!.isLoaded);
    const { dims, inputs: bound } = bind(this.program, inputs, explicit);
    for (const name of this.#usedDims) resolveDim(this.program.dims.get(name)!, dims);
    const host = new Map<string, TypedArray>();
    for (const [name, { spec, data }] of bound) {
      host.set(name, toResident(spec, data as TypedArray));
    }
    const variant = this.#variantSync(bucketFor(this.#lowered, dims));
    const results = variant.runSync({ dims: this.#dimsInOrder(dims), host, afterLaunch: () => undefined });
    this.#countSteps();
    return Object.fromEntries(
      this.#lowered.outputs.map(({ name, to, operand }) => {
        const spec = resolveSpec(operand.spec, dims);
        const bytes =
          to === "host"
            ? results.get(name)!.slice(0, byteLength(spec))
            : readBackSync(this.#device, { address: this.#addressOf(variant.plan.outputs.get(name)!), bytes: byteLength(spec) });
        return [name, new (typedArrayOf(spec.dtype))(bytes.buffer as ArrayBuffer)];
      }),
    );
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#onDispose(this);
    this.#device.release(
      () => this.#free(),
      () => Promise.all([...this.#variants.values()].map((variant) => variant.settled())),
    );
  }

  #requireUsable(): void {
    this.#device.requireAlive();
    if (this.#isDisposed) throw new DisposedError("plan");
  }

  async #prepare(): Promise<void> {
    const device = this.#device;
    const { key, plan, constants } = this.#allocate();
    for (const { memory, data } of constants) await writeThrough(device, memory, 0, data);
    this.#variants.set(key, await VariantRunner.create(device, plan, this.#addressOf));
  }

  #prepareSync(): void {
    const device = this.#device;
    const { key, plan, constants } = this.#allocate();
    for (const { memory, data } of constants) writeThroughSync(device, memory, 0, data);
    this.#variants.set(key, VariantRunner.createSync(device, plan, this.#addressOf));
  }

  /** Takes the memory. What is left to do: to write the constants and to make the largest variant. */
  #allocate(): {
    readonly key: string;
    readonly plan: VariantPlan;
    readonly constants: readonly { readonly memory: Allocation; readonly data: Uint8Array }[];
  } {
    const { program, storages } = this.#lowered;
    const largest = Object.fromEntries([...program.dims].map(([name, { max }]) => [name, max]));
    const plan = planVariant(this.#lowered, this.#arena, largest, new Set());
    this.#take("arena", this.#arena.bytes + scratchBytes(plan));
    this.#take("upload", plan.uploadBytes);
    this.#take("readback", plan.readbackBytes);
    const constants = storages.flatMap(({ id, definition }) => {
      if (definition.kind !== "constant") return [];
      const data = bytesOf(toResident(program.values[id]!.spec as ConcreteSpec, definition.data));
      const memory = this.#device.alloc(data.length, "other");
      this.#constants.set(id, memory);
      return [{ memory, data }];
    });
    return { key: variantKey(largest, new Set()), plan, constants };
  }

  async #variant(bucket: DimValues, given: ReadonlySet<string>): Promise<VariantRunner> {
    const key = variantKey(bucket, given);
    let variant = this.#variants.get(key);
    if (variant === undefined) {
      const plan: VariantPlan = planVariant(this.#lowered, this.#arena, bucket, given);
      if (given.size > 0) this.#take("given", this.#largestInputs());
      variant = await VariantRunner.create(this.#device, plan, this.#addressOf);
    }
    const old = this.#keep(key, variant);
    await old?.settled();
    old?.free();
    return variant;
  }

  /** The same within the call, without given tensors; while nothing is under way. */
  #variantSync(bucket: DimValues): VariantRunner {
    const key = variantKey(bucket, new Set());
    const known = this.#variants.get(key);
    const variant =
      known ?? VariantRunner.createSync(this.#device, planVariant(this.#lowered, this.#arena, bucket, new Set()), this.#addressOf);
    this.#keep(key, variant)?.free();
    return variant;
  }

  /** Makes a variant the last one used; returns the one that it displaces. */
  #keep(key: string, variant: VariantRunner): VariantRunner | undefined {
    this.#variants.delete(key);
    this.#variants.set(key, variant);
    if (this.#variants.size <= maxVariants) return undefined;
    const [oldKey, old] = this.#variants.entries().next().value!;
    this.#variants.delete(oldKey);
    return old;
  }

  async #start(
    dims: DimValues,
    host: ReadonlyMap<string, TypedArray>,
    deviceInputs: ReadonlyMap<string, DeviceStorage>,
    deviceOutputs: ReadonlyMap<string, Allocation>,
  ): Promise<{ readonly completion: Promise<ReadonlyMap<string, Uint8Array>> }> {
    const device = this.#device;
    device.requireAlive();
    const variant = await this.#variant(bucketFor(this.#lowered, dims), new Set(deviceInputs.keys()));
    const copy = (to: Handle, from: Handle, bytes: number): void => {
      if (bytes > 0) device.call((driver) => driver.copyOnDevice(to, from, bytes));
    };
    for (const [name, { allocation }] of deviceInputs) {
      const place = variant.plan.inputs.get(name);
      if (place !== undefined) copy(this.#addressOf(place), allocation.address, allocation.bytes);
    }
    const run = await variant.start({
      dims: this.#dimsInOrder(dims),
      host,
      afterLaunch: () => {
        for (const [name, { address, bytes }] of deviceOutputs) copy(address, this.#addressOf(variant.plan.outputs.get(name)!), bytes);
      },
    });
    this.#countSteps();
    return run;
  }

  #dimsInOrder(dims: DimValues): readonly number[] {
    return [...this.program.dims.keys()].map((name) => dims[name] ?? 0);
  }

  #countSteps(): void {
    for (const { op } of this.#lowered.steps) countOp(this.#device.counters, op.name);
  }

  #allocateOutputs(dims: DimValues): ReadonlyMap<string, Allocation> {
    const outputs = new Map<string, Allocation>();
    try {
      for (const { name, to, operand } of this.#lowered.outputs) {
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
    const { program } = this.#lowered;
    const all = new Set(program.inputs.keys());
    const largest = Object.fromEntries([...program.dims].map(([name, { max }]) => [name, max]));
    return planVariant(this.#lowered, this.#arena, largest, all).givenBytes;
  }

  #take(kind: string, bytes: number): void {
    if (!this.#memory.has(kind)) this.#memory.set(kind, this.#device.alloc(bytes, "arenas"));
  }

  readonly #addressOf = ({ region, offset }: Place): Handle => {
    const memory =
      region.kind === "persistent"
        ? this.cells.get(region.name)!.allocation
        : region.kind === "constant"
          ? this.#constants.get(region.storage)!
          : this.#memory.get(region.kind)!;
    return memory.address + BigInt(offset);
  };

  /** The runs that were started must be over. */
  #free(): void {
    for (const variant of this.#variants.values()) variant.free();
    this.#variants.clear();
    for (const memory of [...this.#memory.values(), ...this.#constants.values()]) memory.free();
    for (const cell of this.cells.values()) cell.release();
  }
}

/** An input's resident form as a copy of its own: the caller may change the array before the run starts. */
function copied(spec: ConcreteSpec, data: TypedArray): TypedArray {
  return isDecoded(spec.dtype) ? toResident(spec, data) : data.slice();
}

function variantKey(bucket: DimValues, given: ReadonlySet<string>): string {
  return JSON.stringify([bucket, [...given].sort()]);
}

function sameSpec(a: ConcreteSpec, b: ConcreteSpec): boolean {
  return a.dtype === b.dtype && a.shape.length === b.shape.length && a.shape.every((extent, axis) => extent === b.shape[axis]);
}

function warningsOf(cells: ReadonlyMap<string, PersistentBuffer>): readonly string[] {
  const specs = [...cells.values()].map(({ spec }) => spec).filter(({ dtype }) => isDecoded(dtype));
  const heldBytes = ({ dtype, shape }: ConcreteSpec): number => residentBytes(dtype, elementCount(shape));
  return heldWeightsWarnings(
    "cuda",
    "f32",
    specs.map((spec) => ({ dtype: spec.dtype, storedBytes: byteLength(spec), heldBytes: heldBytes(spec) })),
  );
}
