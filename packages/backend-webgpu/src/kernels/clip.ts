import type { ClipParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { orderKeys } from "../wgsl.ts";
import { unary } from "./shared/elementwise.ts";

/** On order keys: bounds may be infinite, and devices that flush denormals to zero still keep them. */
export const clip: KernelDefinition<ClipParams> = unary({
  expression: "ofKey(clamp(keyOf(x), keyOf(p.min), keyOf(p.max)))",
  declarations: [orderKeys],
  parameters: ["min", "max"],
});
