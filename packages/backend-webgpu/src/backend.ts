import type {
  Backend,
  BackendFactory,
  BackendThresholds,
  ConcreteSpec,
  DeviceInfo,
  Plan,
  Tensor,
  TensorSpec,
  TypedArray,
} from "@centella/core";
import {
  type AnyOp,
  type CompileOptions,
  type Counters,
  checkData,
  compileOptions,
  type FusionLimits,
  lower,
  type MemoryReport,
  type ProgramGraph,
} from "@centella/core/backend";
import { boolean, checkOptions, isRecord, type Kinds, kind, oneOf } from "@centella/quant/checks";
import { compileProgram } from "./compile.ts";
import { openDevice, type WebgpuOptions } from "./device.ts";
import { uploadTensor } from "./deviceTensor.ts";
import { kernelOf } from "./kernels/index.ts";
import { deviceBytes } from "./layout.ts";
import { WebgpuPlan } from "./plan.ts";
import { DeviceQueue } from "./queue.ts";
import { measured } from "./thresholds.ts";

const kinds: Kinds<WebgpuOptions> = {
  gpu: kind("a GPU", (value) => isRecord(value) && typeof value.requestAdapter === "function"),
  powerPreference: oneOf("low-power", "high-performance"),
  allowSoftware: boolean,
  unsafeFast: boolean,
};

/**
 * The WebGPU backend: `navigator.gpu` in browsers, Deno and workers, the optional package `webgpu` (Dawn) in Node. In Node an open
 * device keeps a core busy and the process alive until `dispose()`.
 * @throws {ArgumentError} for an unknown option
 */
export function webgpu(options: WebgpuOptions = {}): BackendFactory {
  checkOptions("webgpu", options, kinds);
  return {
    name: "webgpu",
    open: async () => {
      const open = await openDevice(options);
      return new WebgpuBackend(new DeviceQueue(open), open.info);
    },
    weightBytes: deviceBytes,
  };
}

class WebgpuBackend implements Backend {
  readonly name = "webgpu";
  readonly device: DeviceInfo;
  readonly syncAvailable = false;
  readonly thresholds: BackendThresholds = measured.thresholds;
  readonly memoryModel = "buffers";
  readonly fusion: FusionLimits;
  readonly #queue: DeviceQueue;
  readonly #plans = new Set<WebgpuPlan>();

  constructor(queue: DeviceQueue, device: DeviceInfo) {
    this.#queue = queue;
    this.device = device;
    // One binding is the output's.
    this.fusion = { maxInputs: queue.device.limits.maxStorageBuffersPerShaderStage - 1, maxCalls: 128 };
  }

  get counters(): Counters {
    return this.#queue.counters;
  }

  unsupported(op: AnyOp, inputs: readonly (TensorSpec | undefined)[], params: object, output: TensorSpec): string | undefined {
    if (op.alias === true) return undefined;
    const kernel = kernelOf(op);
    if (kernel === undefined)
      return op.kernels === undefined ? `there is no kernel for ${op.name} yet` : `${op.name} came without a kernel for webgpu`;
    return kernel.unsupported?.({ inputs, params, output });
  }

  async compile(program: ProgramGraph, options: CompileOptions = {}): Promise<Plan> {
    const { shareWith, signal } = compileOptions(program, options);
    signal?.throwIfAborted();
    this.#queue.check();
    const lowered = lower(program, this.name, (...call) => this.unsupported(...call), this);
    const shared = shareWith instanceof WebgpuPlan ? shareWith.parts.cells : undefined;
    const parts = await compileProgram(this.#queue, lowered, shared);
    const plan = new WebgpuPlan(this.#queue, parts, (disposed) => this.#plans.delete(disposed));
    this.#plans.add(plan);
    if (signal?.aborted === true) plan.dispose();
    signal?.throwIfAborted();
    return plan;
  }

  upload(spec: ConcreteSpec, data: TypedArray): Tensor {
    checkData("upload", spec, data);
    return uploadTensor(this.#queue, spec, data);
  }

  memory(): MemoryReport {
    const plans = [...this.#plans];
    const cells = new Set(plans.flatMap((plan) => [...plan.parts.cells.values()]));
    const { tensors, staging } = this.#queue;
    return {
      persistents: [...cells].reduce((sum, { buffer }) => sum + buffer.size, 0),
      arenas: plans.reduce((sum, plan) => sum + plan.arenaBytes, 0),
      tensors: tensors.usedBytes,
      other: tensors.freeBytes + staging.usedBytes + staging.freeBytes,
    };
  }

  async idle(): Promise<void> {
    await this.#queue.idle();
  }

  async dispose(): Promise<void> {
    try {
      await this.idle();
    } catch {
      // Whoever reads the failed work's outputs is told.
    }
    this.#plans.clear();
    this.#queue.dispose();
  }
}
