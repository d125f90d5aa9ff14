import { moeMatmul as sharedKernel } from "@centella/gpu-kernels";
import { kernelFrom } from "../ptx/gpuKernel.ts";
import { expertLaunches } from "./products/expertRows.ts";
import { manyExpertsLaunches } from "./products/manyRows/manyExperts.ts";
import type { KernelOf } from "./shared/kernel.ts";

const shared = kernelFrom("moeMatmul", sharedKernel);

export const moeMatmul: KernelOf<"moeMatmul"> = {
  ...shared,
  launches: (call, params) => manyExpertsLaunches(call, params) ?? expertLaunches(call, params) ?? shared.launches(call, params),
};
