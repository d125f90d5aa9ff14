import type { DeviceProperties } from "../../device/driver.ts";
import type { Target } from "../../ptx/text.ts";

/** What the kernels of a device may use. */
export interface Gpu {
  readonly target: Target;
  readonly multiprocessors: number;
}

/** An H100 or H200. */
export const hopper: Gpu = { target: "sm_90", multiprocessors: 132 };

export function gpuOf({ computeCapability, multiprocessors }: Pick<DeviceProperties, "computeCapability" | "multiprocessors">): Gpu {
  return { target: computeCapability[0] >= 9 ? "sm_90" : "sm_80", multiprocessors };
}
