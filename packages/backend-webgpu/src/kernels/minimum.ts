import type { KernelDefinition } from "../kernel.ts";
import { orderKeys, specials } from "../wgsl.ts";
import { binaryFunction } from "./shared/elementwise.ts";

/** On order keys: comparisons of NaN cannot be relied on, and denormals may be flushed. */
const chosen = `fn chosen(a: f32, b: f32) -> f32 {
  if (isNan(a) || isNan(b)) { return nan(); }
  return ofKey(min(keyOf(a), keyOf(b)));
}`;

export const minimum: KernelDefinition = binaryFunction({
  f32: (a, b) => `chosen(${a}, ${b})`,
  i32: (a, b) => `min(${a}, ${b})`,
  declarations: `${specials}\n${orderKeys}\n${chosen}`,
});
