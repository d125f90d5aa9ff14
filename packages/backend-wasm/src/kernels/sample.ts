import type { Kernel, ParamsOf } from "../kernel.ts";
import { hostKernel } from "./shared/hostKernel.ts";

/** The same choice as everywhere: its sums are in f64 and in the order of the definition. */
export const sample: Kernel<ParamsOf<"sample">> = hostKernel("sample");
