import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";
import { asinOfHalf, asinSmall } from "./asin.ts";

export const acos: GpuKernelOf<"acos"> = unary((k, x) => {
  const twice = k.mul(asinOfHalf(k, k.abs(x)), 2);
  const large = k.select(k.compare("lt", x, 0), k.sub(k.constant("f32", Math.PI), twice), twice);
  return k.select(k.compare("gt", k.abs(x), 0.5), large, k.sub(k.constant("f32", Math.PI / 2), asinSmall(k, x)));
});
