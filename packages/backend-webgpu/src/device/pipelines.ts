import { KernelError } from "@centella/core";
import type { Dispatch } from "../kernels/shared/kernel.ts";

/** Compute pipelines of a device, one per WGSL text. */
export class PipelineCache {
  readonly #device: GPUDevice;
  readonly #pipelines = new Map<string, Promise<GPUComputePipeline>>();
  readonly #layouts = new Map<string, GPUBindGroupLayout>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** @throws {KernelError} with the op's name, the text and the compiler's messages */
  get(op: string, kernel: Dispatch): Promise<GPUComputePipeline> {
    const known = this.#pipelines.get(kernel.code);
    if (known !== undefined) return known;
    const pipeline = this.#compile(op, kernel);
    this.#pipelines.set(kernel.code, pipeline);
    pipeline.catch(() => this.#pipelines.delete(kernel.code));
    return pipeline;
  }

  /** The layout of a dispatch's bind group, shared by dispatches with bindings of the same kinds. */
  layout({ bindings }: Dispatch): GPUBindGroupLayout {
    const types: GPUBufferBindingType[] = bindings.map(({ access }) => (access === "read" ? "read-only-storage" : "storage"));
    types.push("uniform");
    const key = types.join();
    let layout = this.#layouts.get(key);
    if (layout === undefined) {
      const entries = types.map((type, binding) => ({ binding, visibility: computeStage, buffer: { type } }));
      layout = this.#device.createBindGroupLayout({ entries });
      this.#layouts.set(key, layout);
    }
    return layout;
  }

  async #compile(op: string, kernel: Dispatch): Promise<GPUComputePipeline> {
    const device = this.#device;
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ label: op, code: kernel.code });
    const layout = device.createPipelineLayout({ bindGroupLayouts: [this.layout(kernel)] });
    const pipeline = device.createComputePipelineAsync({ label: op, layout, compute: { module, entryPoint: "main" } });
    const scope = device.popErrorScope();
    const [compiled, error] = await Promise.all([pipeline.catch((cause: unknown) => cause as Error), scope]);
    if (error === null && !(compiled instanceof Error)) return compiled;
    const { messages } = await module.getCompilationInfo();
    const log = messages.map(({ type, lineNum, linePos, message }) => `${type} at ${lineNum}:${linePos}: ${message}`);
    if (compiled instanceof Error) log.push(compiled.message);
    if (error !== null) log.push(error.message);
    throw new KernelError(op, kernel.code, log.join("\n"));
  }
}

/** `GPUShaderStage.COMPUTE`. */
const computeStage = 0x4;
