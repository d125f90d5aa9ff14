import type { GpuKernelOf } from "../kernel.ts";
import { unary } from "../shared/elementwise.ts";

/** Flips the sign bit, which keeps denormals on devices that flush them. */
export const neg: GpuKernelOf<"neg"> = unary((k, x) => k.bitcast("f32", k.xor(k.bitcast("u32", x), 0x80000000)));
