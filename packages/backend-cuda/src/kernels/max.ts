import type { ParamsOf } from "@centella/core";
import type { Kernel } from "./shared/kernel.ts";
import { reduction } from "./shared/reduction.ts";

export const max: Kernel<ParamsOf<"max">> = reduction("max", Number.NEGATIVE_INFINITY, (k, a, b) => k.max(a, b));
