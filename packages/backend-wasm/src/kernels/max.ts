import type { Kernel, ParamsOf } from "../kernel.ts";
import { extremumKernel } from "./shared/extremum.ts";

export const max: Kernel<ParamsOf<"max">> = extremumKernel("max");
