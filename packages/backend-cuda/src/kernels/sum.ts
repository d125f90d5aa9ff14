import type { ParamsOf } from "@centella/core";
import type { Kernel } from "./shared/kernel.ts";
import { reduction } from "./shared/reduction.ts";

export const sum: Kernel<ParamsOf<"sum">> = reduction("sum", 0, (k, a, b) => k.add(a, b));
