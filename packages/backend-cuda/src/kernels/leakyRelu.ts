import type { ParamsOf } from "@centella/core";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const leakyRelu: Kernel<ParamsOf<"leakyRelu">> = unary("leakyRelu", (k, x, { slope }) =>
  k.select(k.compare("lt", x, 0), k.mul(x, slope), x),
);
