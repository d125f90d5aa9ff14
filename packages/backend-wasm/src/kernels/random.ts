import { elementCount, mapTuple } from "@centella/core/backend";
import { storeSome } from "../elementwise/lanes.ts";
import { type FunctionBuilder, f32x4, i32, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { cosine, sine } from "../math/angle.ts";
import { log } from "../math/log.ts";
import type { Target } from "../target.ts";
import { ranges } from "./shared/axes.ts";
import { philox, type Words } from "./shared/philox.ts";
import { transposed } from "./shared/transpose.ts";

const signature = { y: "i32", count: "i32", draw: "i32", low: "i32", high: "i32", begin: "i32", end: "i32" } as const;

/** Four blocks of four words at a time. A unit is 16 elements; `draw` is the address of the draw index, or 0. */
export const random: Kernel<"random"> = {
  build({ emit }, [draw], { seed, distribution }, y) {
    const call = emit(`random ${distribution}`, (module, name, target) => {
      module.function(name, signature, (f, p) => {
        const [unit, left] = f.locals("i32", 2);
        const third = f.let(i32.const(0));
        f.if(p.draw, () => f.set(third, i32.load(p.draw)));
        f.for(unit, p.begin, p.end, 1, () => {
          const lanes = f.pooled(new Uint8Array(Int32Array.of(0, 1, 2, 3).buffer));
          const first = f.let(i32x4.add(i32x4.splat(i32.shl(unit, 2)), lanes));
          const words = philox(f, [first, f.let(v128.zero()), f.let(i32x4.splat(third)), f.let(v128.zero())], [p.low, p.high]);
          const units = mapTuple(words, (word) => f.let(f32x4.mul(f32x4.fromI32x4(i32x4.shrU(word, 8)), f.splat(2 ** -24))));
          const values = distribution === "uniform" ? units : normals(f, target, units);
          const to = f.let(i32.add(p.y, i32.shl(unit, 6)));
          f.set(left, i32.sub(p.count, i32.shl(unit, 4)));
          for (const block of transposed(f, values)) {
            f.if(i32.gtS(left, 0), () => storeSome(f, "f32", to, block, left));
            f.advance(to, 16);
            f.advance(left, -4);
          }
        });
      });
    });
    return (run) => {
      const count = elementCount(run.shape(y));
      const at = draw === undefined ? 0 : run.address(draw);
      return ranges(call, [run.address(y), count, at, seed | 0, Math.floor(seed / 2 ** 32) | 0], Math.ceil(count / 16), 16 * 20);
    };
  },
};

/** Four normal values from four uniform ones. */
function normals(f: FunctionBuilder, target: Target, [u0, v0, u1, v1]: Words): Words {
  return [...normalPair(f, target, u0, v0), ...normalPair(f, target, u1, v1)];
}

/** Box-Muller: `sqrt(-2 log(u + 2^-24)) (cos, sin)(2 pi v)`. Quarter turns of v are subtracted exactly. */
function normalPair(f: FunctionBuilder, target: Target, u: Local<"v128">, v: Local<"v128">): readonly [Local<"v128">, Local<"v128">] {
  const radius = f.let(f32x4.sqrt(f32x4.mul(f.splat(-2), log(f, target, f32x4.add(u, f.splat(2 ** -24))))));
  const quarters = f.let(f32x4.mul(v, f.splat(4)));
  const n = f.let(f32x4.nearest(quarters));
  const r = f.let(f32x4.mul(f32x4.sub(quarters, n), f.splat(Math.PI / 2)));
  const quadrant = f.let(i32x4.truncSatF32x4S(n));
  const bit = (mask: number): V128 => i32x4.ne(v128.and(quadrant, f.splatBits(mask)), v128.zero());
  const [isOdd, isUpper] = [f.let(bit(1)), f.let(bit(2))];
  const [s, c] = [sine(f, target, r), cosine(f, target, r)];
  const sign = f.splatBits(0x80000000);
  const cos = v128.xor(v128.bitselect(isOdd, s, c), v128.and(v128.xor(isOdd, isUpper), sign));
  const sin = v128.xor(v128.bitselect(isOdd, c, s), v128.and(isUpper, sign));
  return [f.let(f32x4.mul(radius, cos)), f.let(f32x4.mul(radius, sin))];
}
