import type { Kernel, ParamsOf } from "../kernel.ts";
import { argExtremum } from "./shared/argExtremum.ts";

export const argmin: Kernel<ParamsOf<"argmax">> = argExtremum("argmin");
