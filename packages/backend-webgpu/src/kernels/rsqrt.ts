import type { KernelDefinition } from "../kernel.ts";
import { unary } from "./shared/elementwise.ts";
import { edges } from "./shared/functions.ts";

export const rsqrt: KernelDefinition = unary({ expression: "inverseRootOf(x)", declarations: [edges] });
