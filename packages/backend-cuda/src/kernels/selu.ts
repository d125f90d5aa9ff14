import { expm1 } from "../ptx/math.ts";
import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

const alpha = 1.6732632423543772;
const lambda = 1.0507009873554805;

export const selu: Kernel = unary("selu", (k, x) => k.select(k.compare("gt", x, 0), k.mul(x, lambda), k.mul(expm1(k, x), lambda * alpha)));
