import type { ParamsOf } from "@centella/core";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const clip: Kernel<ParamsOf<"clip">> = unary("clip", (k, x, { min, max }) => k.min(k.max(x, min), max));
