import type { ScaleParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";

export const scale: KernelDefinition<ScaleParams> = unary({ expression: "x * p.by", parameters: ["by"] });
