import type { PtxBuilder } from "../../ptx/builder.ts";
import type { F32 } from "../../ptx/types.ts";
import { elementwise, input, type Kernel, output } from "./kernel.ts";

/** Kernel of `y[i] = f(x[i])` on f32. */
export function unary<P extends object>(name: string, f: (k: PtxBuilder, x: F32, params: P) => F32): Kernel<P> {
  return {
    element: (k, [x], params) => f(k, x as F32, params),
    launches: (call, params) => [
      elementwise(call, name, { shape: call.output.shape, args: { x: input(0), y: output } }, ({ k, pointer }, index) => {
        const x = k.load("f32", k.at("f32", pointer("x", "f32"), index));
        k.store("f32", k.at("f32", pointer("y", "f32"), index), f(k, x, params));
      }),
    ],
  };
}
