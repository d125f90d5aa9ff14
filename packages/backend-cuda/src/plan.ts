import {
  type Backend,
  bind,
  countOp,
  type ConcreteSpec,
  DisposedError,
  type DimValues,
  type InputData,
  type LoadOptions,
  type Lowered,
  type Plan,
  type ProgramGraph,
  ProgramError,
  byteLength,
  elementCount,
  isQuantized,
  requireLoaded,
  requirePersistent,
  resolveDim,
  resolveSpec,
  type RunOptions,
  Tensor,
  type TensorSource,
  type TypedArray,
  typedArrayOf,
} from "@centella/core";
import type { Allocation, Device } from "./device.ts";
import { bytesOf, DeviceStorage, storageOn, writeThrough } from "./deviceTensor.ts";
import type { Handle } from "./driver.ts";
import { PersistentCell } from "./persistents.ts";
import { residentBytes, toResident } from "./resident.ts";
import { type ArenaLayout, arenaLayout, bucketFor, bytesAt, type Place, planVariant, requireReadable, scratchBytes, usedDims, type VariantPlan } from "./variant.ts";
import { VariantRunner } from "./variantRunner.ts";

// A variant holds a graph and its page-locked blocks; programs with several dims have many buckets.
const maxVariants = 64;

type Dim = Parameters<typeof resolveDim>[0];

/** A program on a CUDA device. */
export class CudaPlan implements Plan {
  readonly warnings: readonly string[];
  readonly cells: ReadonlyMap<string, PersistentCell>;
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
    const cells = new Map<string, PersistentCell>();
    this.cells = cells;
    for (const persistent of lowered.program.persistents.values()) {
      const shared = shareWith instanceof CudaPlan && shareWith.#device === device ? shareWith.cells.get(persistent.name) : undefined;
      const cell = shared !== undefined && sameSpec(shared.spec, persistent.spec) ? shared : new PersistentCell(device, persistent);
      cell.hold();
      cells.set(persistent.name, cell);
    }
    this.warnings = warningsOf(cells);
  }

  /** Takes the memory, uploads constants and compiles the kernels of the largest variant. Runs inside the queue. */
  static async create(device: Device, lowered: Lowered, shareWith: Plan | undefined, onDispose: (plan: CudaPlan) => void): Promise<CudaPlan> {
    requireReadable(lowered);
    if (shareWith instanceof CudaPlan && shareWith.#isDisposed) throw new DisposedError("plan");
    const plan = new CudaPlan(device, lowered, shareWith, onDispose);
    try {
      await plan.#prepare();
      return plan;
    } catch (error) {
      await plan.#free();
      throw error;
    }
  }

  get program(): ProgramGraph {
    return this.#lowered.program;
  }

  async load(name: string, source: TensorSource, options: LoadOptions = {}): Promise<void> {
    this.#requireUsable();
    requirePersistent(this.program, name);
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
    if (init !== "zeros") throw new ProgramError(`reset: expected a persistent that starts as zeros, got ${name}, a loaded one; load it again`);
    const cell = this.cells.get(name)!;
    this.#device.queue.enqueue(() => cell.zero()).catch(() => undefined);
  }

  run(inputs: Readonly<Record<string, InputData>>, { dims: explicit, signal }: RunOptions = {}): Record<string, Tensor> {
    this.#requireUsable();
    signal?.throwIfAborted();
    requireLoaded(this.#lowered, (name) => this.cells.get(name)!.isLoaded);
    const { dims, inputs: bound } = bind(this.program, inputs, explicit);
    for (const name of this.#usedDims) resolveDim(this.program.dims.get(name) as Dim, dims);

    const hostInputs = new Map<string, TypedArray | Promise<TypedArray>>();
    const deviceInputs = new Map<string, DeviceStorage>();
    for (const [name, { spec, data }] of bound) {
      const storage = data instanceof Tensor ? storageOn(this.#device, data) : undefined;
      if (storage !== undefined) deviceInputs.set(name, storage);
      else hostInputs.set(name, data instanceof Tensor ? data.data().then((stored) => toResident(spec, stored)) : copied(spec, data));
    }
    for (const storage of deviceInputs.values()) storage.retain();

    const deviceOutputs = this.#allocateOutputs(dims, deviceInputs);
    const started = this.#device.queue.enqueue(async () => {
      try {
        const host = new Map<string, TypedArray>();
        for (const [name, data] of hostInputs) host.set(name, await data);
        for (const storage of deviceInputs.values()) await storage.producer();
        this.#requireUsable();
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
    results.catch(() => undefined);
    for (const data of hostInputs.values()) if (data instanceof Promise) data.catch(() => undefined);
    return Object.fromEntries(
      this.#lowered.outputs.map(({ name, to, operand }) => {
        const spec = resolveSpec(operand.spec, dims);
        if (to === "host") return [name, hostOutput(spec, results, name)];
        return [name, new Tensor(spec, new DeviceStorage(this.#device, spec, deviceOutputs.get(name)!, started, results))];
      }),
    );
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#onDispose(this);
    this.#device.queue.enqueue(() => this.#free()).catch(() => undefined);
  }
}
