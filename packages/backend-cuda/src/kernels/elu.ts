import type { ParamsOf } from "@centella/core";
import { expm1 } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const elu: Kernel<ParamsOf<"elu">> = unary("elu", (k, x, { alpha }) =>
  k.select(k.compare("lt", x, 0), k.mul(expm1(k, x), alpha), x),
);
