import type { BackendFactory } from "@centella/core";
import { deviceBytes } from "@centella/gpu-kernels";
import { checkOptions, whole } from "@centella/quant/checks";
import { CudaBackend } from "./backend.ts";
import { backendName } from "./device/deviceTensor.ts";
import { openNativeDriver } from "./nativeDriver.ts";
import { unitMatrix } from "./weights/unitFormat.ts";

export interface CudaOptions {
  /** Number of the device, as the driver counts them (`CUDA_VISIBLE_DEVICES` counts). */
  readonly device?: number;
}

/**
 * The CUDA backend. Nothing is loaded before `open()`, which throws UnsupportedError with the reason if the addon, the
 * NVIDIA driver or a device of compute capability 8.0 is missing.
 * @throws {ArgumentError} for an unknown option, or a device that is not a whole number from 0
 */
export function cuda(options: CudaOptions = {}): BackendFactory {
  const { device = 0 } = checkOptions("cuda", options, { device: whole(0) });
  return {
    name: backendName,
    open: async () => new CudaBackend(await openNativeDriver(device)),
    weightBytes: (spec) => unitMatrix(spec.dtype, spec.shape)?.bytes ?? deviceBytes(spec),
  };
}
