import type { ParamsOf } from "@centella/core";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const scale: Kernel<ParamsOf<"scale">> = unary("scale", (k, x, { by }) => k.mul(x, by));
