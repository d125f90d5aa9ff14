import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { sinhFunction } from "./shared/functions.ts";
import { math } from "./shared/math.ts";

export const sinh: KernelDefinition = unary({ expression: "sinhOf(x)", declarations: [math, sinhFunction] });
