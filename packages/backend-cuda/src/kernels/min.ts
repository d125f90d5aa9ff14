import type { ParamsOf } from "@centella/core";
import type { Kernel } from "./shared/kernel.ts";
import { reduction } from "./shared/reduction.ts";

export const min: Kernel<ParamsOf<"min">> = reduction("min", Number.POSITIVE_INFINITY, (k, a, b) => k.min(a, b));
