import type { Kernel, ParamsOf } from "../kernel.ts";
import { argExtremum } from "./shared/argExtremum.ts";

export const argmax: Kernel<ParamsOf<"argmax">> = argExtremum("argmax");
