import type { BackendFactory } from "@centella/core";
import { deviceBytes } from "@centella/gpu-kernels";
import { checkOptions, either, nonEmptyString, oneOf, whole } from "@centella/quant/checks";
import { openNativeDriver } from "./nativeDriver.ts";
import { unitMatrix } from "./weights/unitFormat.ts";

export interface CudaOptions {
  /** Number of the device, as the driver counts them (`CUDA_VISIBLE_DEVICES` counts). */
  readonly device?: number;
  /**
   * Folder in which the machine code of kernels is kept, so that later processes do not compile them again; false: none. Default:
   * `centella/kernels` in the user's cache folder, which is `XDG_CACHE_HOME`, on Windows `LOCALAPPDATA`, or `~/.cache`. It grows to 256 MiB
   * at most; then the oldest files are removed. Only you should be able to write to it.
   */
  readonly kernelCache?: string | false;
}

/**
 * The CUDA backend. Nothing is loaded before `open()`, which throws UnsupportedError with the reason if the addon, the
 * NVIDIA driver or a device of compute capability 8.0 is missing, or if the driver refuses to open the device.
 * @throws {ArgumentError} for an unknown option, or a device that is not a whole number from 0
 */
export function cuda(options: CudaOptions = {}): BackendFactory {
  const { device = 0, kernelCache } = checkOptions("cuda", options, {
    device: whole(0),
    kernelCache: either(nonEmptyString, oneOf(false)),
  });
  return {
    name: "cuda",
    async open() {
      const driver = await openNativeDriver(device);
      // A process without a device loads no kernels.
      const { CudaBackend } = await import("./backend.ts");
      if (kernelCache === false) return new CudaBackend(driver);
      const [{ openKernelCache }, { CodeCache }] = await Promise.all([
        import("@centella/core/kernelCache"),
        import("./device/codeCache.ts"),
      ]);
      const cache = openKernelCache(kernelCache);
      return new CudaBackend(driver, cache && new CodeCache(cache, driver.device));
    },
    weightBytes: (spec) => unitMatrix(spec.dtype, spec.shape)?.bytes ?? deviceBytes(spec),
  };
}
