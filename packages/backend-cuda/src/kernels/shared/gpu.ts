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
export const hopper: Gpu = { target: "sm_90a", multiprocessors: 132, dependentLaunch: true };

/** The driver of CUDA 12.3, the first one whose graphs have dependencies that end early. */
const dependentLaunchVersion = 12030;

export function gpuOf({ computeCapability, multiprocessors, driverVersion }: DeviceProperties): Gpu {
  const [major, minor] = computeCapability;
  const overlaps = major >= 9;
  return {
    // The instructions of sm_90a are those of exactly 9.0.
    target: major === 9 && minor === 0 ? "sm_90a" : overlaps ? "sm_90" : "sm_80",
    multiprocessors,
    dependentLaunch: overlaps && driverVersion >= dependentLaunchVersion,
  };
}
