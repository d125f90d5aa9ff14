import type {
  Activations,
  Backend,
  BackendFactory,
  ConcreteSpec,
  DeviceInfo,
  DType,
  Plan,
  Recovery,
  Tensor,
  TensorSpec,
  TypedArray,
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
  lower,
  type MemoryReport,
  type PlanOwner,
  type ProgramGraph,
  persistentBytes,
  type RowsAtOnce,
  sharedPlan,
  splitRows,
  withPersistents,
} from "@centella/core/backend";
import type { KernelTable } from "@centella/gpu-kernels";
import { boolean, checkOptions, isRecord, type Kinds, kind, listOf, oneOf } from "@centella/quant/checks";
import { type Capabilities, experimentalFeatures, optionalFeatures } from "./device/capabilities.ts";
import { type OpenDevice, openDevice, type WebgpuOptions } from "./device/device.ts";
import { timeCopies, uploadTensor } from "./device/deviceTensor.ts";
import { deviceBytes } from "./device/layout.ts";
import { DeviceQueue } from "./device/queue.ts";
import { fusionLimits, kernelTableFor } from "./kernels/index.ts";
import { matrixUnitOrReason } from "./kernels/matrices/matrixUnit.ts";
import type { Kernel } from "./kernels/shared/kernel.ts";
import { readsUnits } from "./kernels/shared/roundedUnits.ts";
import { rowsAtOnce } from "./plan/bindingLimits.ts";
import { compileProgram } from "./plan/compile.ts";
import type { WebgpuPersistentBuffer } from "./plan/persistentBuffer.ts";
import { WebgpuPlan } from "./plan/plan.ts";
import { thresholds } from "./thresholds.ts";
import { Tuning } from "./tuning/tuning.ts";

const kinds: Kinds<WebgpuOptions> = {
  gpu: kind("a GPU", (value) => isRecord(value) && typeof value.requestAdapter === "function"),
  powerPreference: oneOf("low-power", "high-performance"),
  allowSoftware: boolean,
  unsafeFast: boolean,
  disabledFeatures: listOf("features", oneOf(...optionalFeatures)),
  experimental: listOf("features", oneOf(...experimentalFeatures)),
  tuning: kind(
    "a store with get and set",
    (value) => isRecord(value) && [value.get, value.set].every((each) => typeof each === "function"),
  ),
};

/**
 * The WebGPU backend: `navigator.gpu` in browsers, Deno and workers, the optional package `webgpu` (Dawn) in Node.
 * @throws {ArgumentError} for an unknown option
 */
export function webgpu(options: WebgpuOptions = {}): BackendFactory {
  checkOptions("webgpu", options, kinds);
  return {
    name: "webgpu",
    open: async () => {
      const open = (): Promise<OpenDevice> => openDevice(options);
      return new WebgpuBackend(await open(), open, options);
    },
    weightBytes: deviceBytes,
  };
}

class WebgpuBackend implements Backend, PlanOwner<WebgpuPersistentBuffer> {
  readonly name = "webgpu";
  readonly device: DeviceInfo;
  readonly syncAvailable = false;
  /** Reading results back takes browsers some milliseconds, the time of a few runs. */
  readonly runsInFlight = 4;
  readonly thresholds: BackendThresholds = thresholds;
  readonly memoryModel = "buffers";
  recoveries = 0;
  readonly fusion: FusionLimits;
  readonly rowsAtOnce: RowsAtOnce = (weights) => rowsAtOnce(this.#queue.device.limits, weights);
  readonly plans: Set<WebgpuPlan> = new Set();
  #queue: DeviceQueue;
  readonly #capabilities: Capabilities;
  readonly #kernels: KernelTable<Kernel>;
  readonly #open: () => Promise<OpenDevice>;
  readonly #tuning: Tuning | undefined;
  /** What plans warn of because of the options. */
  readonly #warnings: readonly string[];
  #recovery: Promise<Recovery> | undefined;

  /** @param open opens the same device again */
  constructor(opened: OpenDevice, open: () => Promise<OpenDevice>, options: WebgpuOptions) {
    const { info, capabilities, adapter } = opened;
    const { tuning } = options;
    this.#tuning = tuning && new Tuning(tuning, adapter);
    this.#warnings = experimentalWarnings(options, capabilities);
    this.#queue = new DeviceQueue(opened);
    this.#open = open;
    this.device = info;
    this.fusion = fusionLimits(capabilities);
    this.#capabilities = capabilities;
    this.#kernels = kernelTableFor(capabilities);
  }

  get counters(): Counters {
    return this.#queue.counters;
  }

  get isBusy(): boolean {
    return this.#recovery !== undefined || !this.#queue.order.isIdle;
  }

  async enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    // Plans that are disposed of are recovered first.
    if (this.#recovery !== undefined) await this.#recovery.catch(() => undefined);
    return this.#queue.guard(this.#queue.order.post(undefined, work) as Promise<T>);
  }

  requireAlive(): void {
    this.#queue.check();
  }

  /** Blocks of codes are multiplied with codes of activations where the device has packed dot products, in a fraction of the instructions. */
  preferredActivations(weights: DType): Activations {
    if (weights === "f32") return "f32";
    return readsUnits(weights, "q8_0", this.#capabilities) ? "ggml" : "half";
  }

  unsupported(op: AnyOp, inputs: readonly (TensorSpec | undefined)[], params: object, output: TensorSpec): string | undefined {
    return this.#kernels.unsupported(op, inputs, params, output);
  }

  async compile(program: ProgramGraph, options: CompileOptions = {}): Promise<Plan> {
    const { shareWith, background = false, signal } = compileOptions(program, options);
    signal?.throwIfAborted();
    this.requireAlive();
    const shared = sharedPlan(this.plans, shareWith);
    const lowered = lower(splitRows(program, this.rowsAtOnce), this.name, (...call) => this.unsupported(...call), this);
    const parts = await this.#queue.guard(
      withPersistents(program, shared, (persistents: Map<string, WebgpuPersistentBuffer>) =>
        compileProgram(this.#queue, this.#kernels, lowered, persistents, { background, tuning: this.#tuning }),
      ),
    );
    const plan = new WebgpuPlan(this, this.#queue, parts, this.#tuning, this.#warnings);
    this.plans.add(plan);
    // Its weights may be those of another plan, which are loaded.
    await plan.tune();
    if (signal?.aborted === true) plan.dispose();
    signal?.throwIfAborted();
    return plan;
  }

  upload(spec: ConcreteSpec, data: TypedArray): Tensor {
    checkData("upload", spec, data);
    return uploadTensor(this.#queue, spec, data);
  }

  memory(): MemoryReport {
    const { tensors, uploads, readbacks } = this.#queue;
    return {
      persistents: persistentBytes(this.plans),
      arenas: [...this.plans].reduce((sum, plan) => sum + plan.arenaBytes, 0),
      tensors: tensors.usedBytes,
      other: tensors.freeBytes + uploads.heldBytes + readbacks.heldBytes,
    };
  }

  deviceMemory(): DeviceMemory {
    return { largestTensor: this.#queue.device.limits.maxStorageBufferBindingSize };
  }

  async timeCopies(tensor: Tensor, count: number): Promise<number> {
    return timeCopies(this.#queue, tensor, count);
  }

  recover(): Promise<Recovery> {
    this.#recovery ??= this.#recover().finally(() => {
      this.#recovery = undefined;
    });
    return this.#recovery;
  }

  async idle(): Promise<void> {
    await this.#queue.idle();
  }

  async dispose(): Promise<void> {
    try {
      await this.idle();
    } catch {
      // The error reaches the readers of the failed work's outputs.
    }
    this.plans.clear();
    this.#queue.dispose();
  }

  async #recover(): Promise<Recovery> {
    if (!(await this.#queue.checkLoss())) {
      this.requireAlive();
      return { reset: [] };
    }
    const { reopen } = await import("./plan/recovery.ts");
    this.#queue = await reopen(this.#queue, this.#open, this.#kernels, this.plans, this.#tuning);
    this.recoveries++;
    const stateOf = (plan: WebgpuPlan): Recovery["reset"] =>
      [...plan.persistents.values()].flatMap(({ persistent: { name, init } }) => (init === "zeros" ? [{ plan, name }] : []));
    return { reset: [...this.plans].flatMap(stateOf) };
  }
}

function experimentalWarnings({ experimental = [], gpu }: WebgpuOptions, capabilities: Capabilities): readonly string[] {
  if (!experimental.includes("subgroup-matrix")) return [];
  const unit = matrixUnitOrReason(capabilities);
  if (typeof unit !== "string") return [];
  // Dawn offers them only to instances with its unsafe APIs, which the backend's own has.
  const isDenied = gpu !== undefined && capabilities.subgroupMatrices.length === 0;
  const fix = isDenied
    ? "create the gpu with Dawn's feature allow_unsafe_apis, or leave the option out"
    : "use another device, or leave the option out";
  return [`webgpu: "subgroup-matrix" is not used: ${unit}; ${fix}`];
}
