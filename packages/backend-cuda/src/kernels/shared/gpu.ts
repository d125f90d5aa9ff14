import type { DeviceProperties } from "../../device/driver.ts";
import type { Target } from "../../ptx/text.ts";

/** Lanes of a warp. */
export const lanes = 32;

/** Threads and warps of a warpgroup, and rows of the left matrix of its products. */
export const warpgroupLanes: number = 4 * lanes;
export const warpgroupWarps: number = warpgroupLanes / lanes;
export const warpgroupRows = 64;

/** What the kernels of a device may use. */
export interface Gpu {
  readonly target: Target;
  readonly multiprocessors: number;
  /** Most bytes of shared memory that a block can have. */
  readonly sharedBytes: number;
  /** Whether launches of a graph may start while the one before them ends. */
  readonly dependentLaunch: boolean;
}

/** Shared memory of a block on data centre GPUs since Hopper. Texts for sm_90 count on it. */
const hopperShared = 227 * 1024;

/** An H100 or H200. */
export const hopper: Gpu = {
  target: "sm_90a",
  multiprocessors: 132,
  sharedBytes: hopperShared,
  dependentLaunch: true,
};

/** Whether one thread can start a copy of any size to shared memory. Without bulk copies, each thread copies 16 bytes at a time. */
export function hasBulkCopies({ target }: Gpu): boolean {
  return target !== "sm_80";
}

/** The driver of CUDA 12.3, the first one whose graphs have dependencies that end early. */
const dependentLaunchVersion = 12030;

export function gpuOf({ computeCapability, multiprocessors, driverVersion }: DeviceProperties): Gpu {
  const [major, minor] = computeCapability;
  const sharedBytes = sharedBytesOf(major, minor);
  const overlaps = major >= 9 && sharedBytes >= hopperShared;
  return {
    // The instructions of sm_90a are those of exactly 9.0.
    target: major === 9 && minor === 0 ? "sm_90a" : overlaps ? "sm_90" : "sm_80",
    multiprocessors,
    sharedBytes,
    dependentLaunch: overlaps && driverVersion >= dependentLaunchVersion,
  };
}

/** Source: CUDA Programming Guide, "Compute Capabilities", maximum shared memory per thread block. */
function sharedBytesOf(major: number, minor: number): number {
  if (major === 9 || major === 10 || major === 11) return hopperShared;
  const hasMore = major === 8 && (minor === 0 || minor === 7);
  return (hasMore ? 163 : 99) * 1024;
}
