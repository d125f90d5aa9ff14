import {
  type Activations,
  ArgumentError,
  type Backend,
  type ConcreteSpec,
  type DeviceInfo,
  type DType,
  type Plan,
  Tensor,
  type TensorSpec,
  type TypedArray,
} from "@centella/core";
import {
  type AnyOp,
  type BackendThresholds,
  type CompileOptions,
  type Counters,
  checkData,
  compileOptions,
  type DeviceMemory,
  type FusionLimits,
  type Lowered,
  lower,
  type MemoryReport,
  type PlanOwner,
  type ProgramGraph,
  requireIdle,
  sharedPlan,
} from "@centella/core/backend";
import { deviceBytes, recodedTo } from "@centella/gpu-kernels";
import type { CodeCache } from "./device/codeCache.ts";
import { Device } from "./device/device.ts";
import { backendName, DeviceStorage, onDevice, storageOn, writeThrough } from "./device/deviceTensor.ts";
import type { CudaDriver } from "./device/driver.ts";
import { bytesOf, copyOf } from "./device/hostArrays.ts";
import { fusion, kernelTable } from "./kernels/index.ts";
import type { CudaPersistentBuffer } from "./plan/persistentBuffer.ts";
import { CudaPlan } from "./plan/plan.ts";
import { thresholds } from "./thresholds.ts";

/** Multiprocessors from which a device is large: it computes 4096 rows of an 8B model in less than a second. */
const largeDevice = 100;

/** The backend over a driver: a device, its plans and its tensors. */
export class CudaBackend implements Backend, PlanOwner<CudaPersistentBuffer> {
  readonly name: string = backendName;
  readonly device: DeviceInfo;
  readonly syncAvailable = true;
  readonly runsInFlight = 3;
  readonly preferredRows: number;
  readonly fusion: FusionLimits = fusion;
  readonly thresholds: BackendThresholds = thresholds;
  readonly memoryModel = "addressSpace";
  readonly plans: Set<CudaPlan> = new Set();
  readonly #device: Device;

  /** Without `codes`, machine code of kernels is not kept for later processes. */
  constructor(driver: CudaDriver, codes?: CodeCache) {
    this.#device = new Device(driver, codes);
    this.device = { kind: "gpu", name: driver.device.name };
    this.preferredRows = driver.device.multiprocessors < largeDevice ? 2048 : 4096;
  }

  get counters(): Counters {
    return this.#device.counters;
  }

  get isBusy(): boolean {
    return this.#device.isBusy;
  }

  enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#device.queue.enqueue(work);
  }

  requireAlive(): void {
    this.#device.requireAlive();
  }

  /** Tensor cores multiply halves. Without a rounding to 8 bits, no launch is needed between a norm and its products. */
  preferredActivations(weights: DType): Activations {
    return weights === "f32" ? "f32" : "half";
  }

  unsupported(op: AnyOp, inputs: readonly (TensorSpec | undefined)[], params: object, output: TensorSpec): string | undefined {
    return kernelTable.unsupported(op, inputs, params, output);
  }

  async compile(program: ProgramGraph, options: CompileOptions = {}): Promise<Plan> {
    const { shareWith, sharedBy = [], background = false, signal } = compileOptions(program, options);
    signal?.throwIfAborted();
    this.requireAlive();
    const shared = sharedPlan(this.plans, shareWith);
    const lowered = this.#lower(program);
    return this.enqueue(async () => {
      signal?.throwIfAborted();
      const plan = await CudaPlan.create(this, this.#device, lowered, {
        shared,
        sharedBy: sharedBy.map((other) => this.#lower(other)),
        background,
      });
      this.plans.add(plan);
      return plan;
    });
  }

  /** @throws {ProgramError} while runs or other work are under way */
  compileSync(program: ProgramGraph): Plan {
    this.requireAlive();
    requireIdle("compileSync", this);
    const plan = CudaPlan.createSync(this, this.#device, this.#lower(program));
    this.plans.add(plan);
    return plan;
  }

  upload(spec: ConcreteSpec, data: TypedArray): Tensor {
    checkData("tensor", spec, data);
    const device = this.#device;
    const isStored = recodedTo(spec.dtype) === undefined;
    const resident = isStored ? copyOf(data) : onDevice(spec, data);
    const memory = device.alloc(deviceBytes(spec), "tensors");
    const written = device.queue.enqueue(() => {
      device.counters.uploads++;
      return writeThrough(device, memory, bytesOf(resident));
    });
    const stored = isStored ? {} : { stored: copyOf(data) };
    return new Tensor(spec, new DeviceStorage(device, spec, memory, { queued: written, ready: written, ...stored }));
  }

  memory(): MemoryReport {
    return this.#device.memory();
  }

  deviceMemory(): DeviceMemory {
    return { free: this.#device.call((driver) => driver.memoryInfo().free) };
  }

  async timeCopies(tensor: Tensor, count: number): Promise<number> {
    const device = this.#device;
    const storage = storageOn(device, tensor);
    if (storage === undefined) throw new ArgumentError("timeCopies", "a tensor of this backend", `one on ${tensor.storage.device}`);
    return this.enqueue(async () => {
      const { address, bytes } = storage.allocation;
      const target = device.alloc(bytes, "other");
      try {
        await device.finished();
        const start = performance.now();
        for (let i = 0; i < count; i++) device.call((driver) => driver.copyOnDevice(target.address, address, bytes));
        await device.finished();
        return 1000 * (performance.now() - start);
      } finally {
        target.free();
      }
    });
  }

  async idle(): Promise<void> {
    await this.#device.idle();
  }

  async dispose(): Promise<void> {
    for (const plan of this.plans) plan.dispose();
    await this.#device.idle();
    await this.#device.close();
  }

  #lower(program: ProgramGraph): Lowered {
    return lower(program, this.name, kernelTable.unsupported, this);
  }
}
