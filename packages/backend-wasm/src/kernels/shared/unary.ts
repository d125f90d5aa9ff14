import { elementCount } from "@centella/core";
import { type FunctionBuilder, f32x4, type Local, type V128, v128 } from "../../emit/index.ts";
import type { Kernel } from "../../kernel.ts";
import type { Target } from "../../target.ts";
import { forEachVector } from "./loops.ts";

/** Elements per call: a few milliseconds at most, for the slowest function. */
const chunk = 1 << 20;

/** An elementwise function of one tensor. `scalars` are the parameters that `body` takes as vectors. */
export function unary<P extends object>(
  name: string,
  scalars: readonly (keyof P & string)[],
  body: (f: FunctionBuilder, target: Target, x: Local<"v128">, scalars: readonly V128[]) => V128,
): Kernel<P> {
  return {
    emit(module, target) {
      const signature = { x: "i32", y: "i32", n: "i32", ...Object.fromEntries(scalars.map((scalar) => [scalar, "f32" as const])) } as const;
      module.function(name, signature, (f, p) => {
        const params: Readonly<Record<string, Local>> = p;
        const vectors = scalars.map((scalar) => f.let(f32x4.splat(params[scalar] as Local<"f32">)));
        forEachVector(f, p.n, [p.x, p.y], (offset, store) => {
          const x = f.let(v128.load(p.x, offset));
          store(p.y, body(f, target, x, vectors));
        });
      });
    },
    build({ exports }, [x], params, y) {
      const call = exports(name);
      const values = scalars.map((scalar) => Number(params[scalar]));
      return function* (run) {
        const [from, to, n] = [run.address(x!), run.address(y), elementCount(run.shape(y))];
        for (let at = 0; at < n; at += chunk) {
          call(from + 4 * at, to + 4 * at, Math.min(chunk, n - at), ...values);
          yield;
        }
      };
    },
  };
}
