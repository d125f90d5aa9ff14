import type { Backend } from "@centella/core";
import { slowZeroing, useSwiftShader } from "@centella/test-devices";
import { type WebgpuOptions, webgpu } from "../src/index.ts";
import { guardedGpu } from "./guardedGpu.ts";

/** A backend for tests, and what it was opened with. */
export interface OpenedBackend {
  readonly backend: Backend;
  /** The device that the backend opened last. */
  readonly device: GPUDevice;
  readonly gpu: GPU;
}

/** @throws {UnsupportedError} where there is no device */
export async function openBackend(options: WebgpuOptions = {}): Promise<OpenedBackend> {
  let device: GPUDevice | undefined;
  const gpu = intercept(await softwareGpu(), (made) => {
    device = made;
  });
  const backend = await webgpu({ ...options, gpu }).open();
  return {
    backend,
    get device() {
      return device!;
    },
    gpu,
  };
}

/** A backend whose kernels are held to their outputs. @throws {UnsupportedError} where there is no device */
export async function openGuarded(options: Pick<WebgpuOptions, "disabledFeatures"> = {}): Promise<Backend> {
  return webgpu({ ...options, gpu: guardedGpu(await softwareGpu()) }).open();
}

/** The Dawn instances of the tests. They must not be collected while a device is open. */
const instances: GPU[] = [];

/** Dawn on SwiftShader, or on what the user names. */
export function softwareGpu(): Promise<GPU> {
  useSwiftShader();
  return dawn([`disable-dawn-features=${slowZeroing}`]);
}

/** Dawn without a device: it compiles kernels at every feature and runs none. */
export function nullGpu(): Promise<GPU> {
  return dawn(["backend=null", "enable-dawn-features=allow_unsafe_apis"]);
}

async function dawn(flags: string[]): Promise<GPU> {
  const { create } = await import("webgpu");
  const gpu = create(flags);
  instances.push(gpu);
  return gpu;
}

/** An entry point that tells of the devices it makes. */
function intercept(gpu: GPU, onDevice: (device: GPUDevice) => void): GPU {
  const requestAdapter: GPU["requestAdapter"] = async (options) => {
    const adapter = await gpu.requestAdapter(options);
    if (adapter === null) return null;
    const { info, limits, features } = adapter;
    const requestDevice: GPUAdapter["requestDevice"] = async (descriptor) => {
      const device = await adapter.requestDevice(descriptor);
      onDevice(device);
      return device;
    };
    return { __brand: "GPUAdapter", info, limits, features, requestDevice };
  };
  return {
    __brand: "GPU",
    requestAdapter,
    getPreferredCanvasFormat: () => gpu.getPreferredCanvasFormat(),
    wgslLanguageFeatures: gpu.wgslLanguageFeatures,
  };
}
