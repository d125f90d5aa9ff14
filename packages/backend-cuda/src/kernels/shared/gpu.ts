import type { DeviceProperties } from "../../device/driver.ts";
import type { Target } from "../../ptx/text.ts";

/** What the kernels of a device may use. */
export interface Gpu {
  readonly target: Target;
  readonly multiprocessors: number;
  /** Whether launches of a graph may start while the one before them ends. */
  readonly dependentLaunch: boolean;
}

/** An H100 or H200. */
export const hopper: Gpu = { target: "sm_90", multiprocessors: 132, dependentLaunch: true };

/** The driver of CUDA 12.3, the first one whose graphs have dependencies that end early. */
const dependentLaunchVersion = 12030;

export function gpuOf({ computeCapability, multiprocessors, driverVersion }: DeviceProperties): Gpu {
  const isHopper = computeCapability[0] >= 9;
  return {
    target: isHopper ? "sm_90" : "sm_80",
    multiprocessors,
    dependentLaunch: isHopper && driverVersion >= dependentLaunchVersion,
  };
}
