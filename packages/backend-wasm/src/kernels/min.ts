import type { Kernel, ParamsOf } from "../kernel.ts";
import { extremumKernel } from "./shared/extremum.ts";

export const min: Kernel<ParamsOf<"min">> = extremumKernel("min");
