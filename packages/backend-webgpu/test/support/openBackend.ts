import type { Backend } from "@centella/core";
import { slowZeroing, useSwiftShader } from "@centella/test-devices";
import { type OpenDevice, openDevice } from "../../src/device/device.ts";
import { type WebgpuOptions, webgpu } from "../../src/index.ts";
import { guardedGpu, overlay } from "./guardedGpu.ts";

/** A backend for tests, and what it was opened with. */
export interface OpenedBackend {
  readonly backend: Backend;
  /** The device that the backend opened last. */
  readonly device: GPUDevice;
  readonly gpu: GPU;
}

/**
 * A backend whose kernels must not write outside of their outputs: `idle()` and `dispose()` reject where one did.
 * @throws {UnsupportedError} where there is no device
 */
export async function openBackend(options: WebgpuOptions = {}): Promise<OpenedBackend> {
  return open(guardedGpu(await softwareGpu()), options, disposedAfterChecks);
}

/**
 * A backend whose calls of the device are its own: {@link openBackend} makes buffers larger, adds copies, and gives each dispatch a pass without
 * timestamps. Checks fail on a device that is lost.
 * @throws {UnsupportedError} where there is no device
 */
export async function openUnguarded(options: WebgpuOptions = {}): Promise<OpenedBackend> {
  return open(await softwareGpu(), options, (backend) => backend);
}

async function open(gpu: GPU, options: WebgpuOptions, wrap: (backend: Backend) => Backend): Promise<OpenedBackend> {
  let device: GPUDevice | undefined;
  const intercepted = intercept(gpu, (made) => {
    device = made;
  });
  const backend = wrap(await webgpu({ ...options, gpu: intercepted }).open());
  return {
    backend,
    get device() {
      return device!;
    },
    gpu: intercepted,
  };
}

/** The backend itself ignores what fails when it is disposed of. */
function disposedAfterChecks(backend: Backend): Backend {
  let checked: Promise<void> | undefined;
  const dispose = async (): Promise<void> => {
    checked ??= backend.idle();
    try {
      await checked;
    } finally {
      await backend.dispose();
    }
  };
  return overlay(backend, { dispose });
}

/**
 * A device without a backend, which kernels must not write outside of their outputs on: `queue.onSubmittedWorkDone()` rejects where one did.
 * @throws {UnsupportedError} where there is no device
 */
export async function openGuardedDevice(): Promise<OpenDevice> {
  return openDevice({ gpu: guardedGpu(await softwareGpu()) });
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
