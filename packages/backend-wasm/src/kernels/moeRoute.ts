import type { Kernel, ParamsOf } from "../kernel.ts";
import { hostKernel } from "./shared/hostKernel.ts";

export const moeRoute: Kernel<ParamsOf<"moeRoute">> = hostKernel("moeRoute");
