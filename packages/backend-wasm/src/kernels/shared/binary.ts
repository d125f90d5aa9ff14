import { broadcastStrides } from "@centella/core";
import { i32, type Local, type V128, v128 } from "../../emit/index.ts";
import type { Kernel } from "../../kernel.ts";
import { forEachVector } from "./loops.ts";

type Combine = (a: V128, b: V128) => V128;

/** How the innermost axis moves: both along, or one of them fixed. */
const modes = ["both", "fixedA", "fixedB"] as const;

/** Output elements per pause. */
const chunk = 1 << 20;

/** An elementwise function of two tensors with broadcasting; `i32` is its body on integers. */
export function binary(name: string, f32Body: Combine, i32Body?: Combine): Kernel {
  return {
    emit(module) {
      for (const [dtype, body] of [["f32", f32Body] as const, ["i32", i32Body] as const]) {
        if (body === undefined) continue;
        for (const mode of modes) {
          const signature = { a: "i32", b: "i32", y: "i32", n: "i32", rows: "i32", aRow: "i32", bRow: "i32" } as const;
          module.function(`${name}.${dtype}.${mode}`, signature, (f, p) => {
            const [a, b, count] = f.locals("i32", 3) as [Local<"i32">, Local<"i32">, Local<"i32">];
            const fixed = f.local("v128");
            f.while(p.rows, () => {
              f.set(a, p.a);
              f.set(b, p.b);
              f.set(count, p.n);
              if (mode !== "both") f.set(fixed, v128.load32Splat(mode === "fixedA" ? a : b));
              const moving = mode === "both" ? [a, b] : [mode === "fixedA" ? b : a];
              forEachVector(f, count, [...moving, p.y], (offset, store) => {
                const left = mode === "fixedA" ? fixed : v128.load(a, offset);
                const right = mode === "fixedB" ? fixed : v128.load(b, offset);
                store(p.y, body(left, right));
              });
              // The last step may have moved past the row's end.
              f.set(p.y, i32.sub(p.y, i32.and(i32.mul(i32.sub(0, p.n), 4), 15)));
              f.advance(p.a, p.aRow);
              f.advance(p.b, p.bRow);
              f.advance(p.rows, -1);
            });
          });
        }
      }
    },
    build({ exports }, [a, b], _params, y) {
      const calls = Object.fromEntries(modes.map((mode) => [mode, exports(`${name}.${y.spec.dtype}.${mode}`)]));
      return function* (run) {
        const [aAt, bAt, yAt] = [run.address(a!), run.address(b!), run.address(y)];
        const [inner, rows, ...outer] = loops(run.shape(a!), run.shape(b!), run.shape(y));
        if (inner === undefined || rows === undefined) return;
        const call = calls[inner.b === 0 && inner.n > 1 ? "fixedB" : inner.a === 0 && inner.n > 1 ? "fixedA" : "both"]!;
        const planes = outer.reduce((product, { n }) => product * n, 1);
        const rowsPerCall = Math.max(1, Math.floor(chunk / inner.n));
        for (let plane = 0; plane < planes; plane++) {
          let [rest, aFrom, bFrom] = [plane, aAt, bAt];
          for (const axis of outer) {
            aFrom += (rest % axis.n) * axis.a;
            bFrom += (rest % axis.n) * axis.b;
            rest = Math.floor(rest / axis.n);
          }
          for (let row = 0; row < rows.n; row += rowsPerCall) {
            const to = yAt + (plane * rows.n + row) * inner.n * 4;
            call(aFrom + row * rows.a, bFrom + row * rows.b, to, inner.n, Math.min(rowsPerCall, rows.n - row), rows.a, rows.b);
            yield;
          }
        }
      };
    },
  };
}

interface Axis {
  readonly n: number;
  /** Byte strides of the inputs. */
  readonly a: number;
  readonly b: number;
}

/** The axes of a broadcast from the innermost out, neighbours merged where both inputs allow it; at least two, none if `y` is empty. */
function loops(aShape: readonly number[], bShape: readonly number[], shape: readonly number[]): readonly Axis[] {
  if (shape.includes(0)) return [];
  const [aStrides, bStrides] = [broadcastStrides(aShape, shape), broadcastStrides(bShape, shape)];
  const axes: Axis[] = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const next = { n: shape[axis]!, a: 4 * aStrides[axis]!, b: 4 * bStrides[axis]! };
    if (next.n === 1) continue;
    const last = axes.at(-1);
    if (last !== undefined && next.a === last.a * last.n && next.b === last.b * last.n) {
      axes[axes.length - 1] = { n: last.n * next.n, a: last.a, b: last.b };
    } else axes.push(next);
  }
  while (axes.length < 2) axes.push({ n: 1, a: 0, b: 0 });
  return axes;
}
