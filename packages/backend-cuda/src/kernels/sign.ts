import type { Kernel } from "./shared/kernel.ts";
import { unary } from "./shared/unary.ts";

export const sign: Kernel = unary("sign", (k, x) => {
  const one = k.bitcast("f32", k.or(k.and(k.bitcast("u32", x), 0x80000000), 0x3f800000));
  return k.select(k.compare("gt", k.abs(x), 0), one, x);
});
