import { moeMatmul } from "@centella/gpu-kernels";
import { type Capabilities, subgroupLanes } from "../device/capabilities.ts";
import { kernelFrom } from "../wgsl/gpuKernel.ts";
import { expertProducts } from "./experts/expertProducts.ts";
import type { KernelOf } from "./shared/kernel.ts";

export function moeMatmulFor(capabilities: Capabilities): KernelOf<"moeMatmul"> {
  const shared = kernelFrom(moeMatmul, subgroupLanes(capabilities));
  return {
    ...shared,
    dispatches: (call, params) => expertProducts(call, params, capabilities) ?? shared.dispatches(call, params),
  };
}
