import { type FunctionBuilder, f32x4, f64x2, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { horner, madd, type Target } from "../target.ts";
import { doubleSplat } from "./double.ts";

/** The first 33 bits of pi / 2, and the rest: products with whole numbers up to 2^20 are exact. */
const [quarterHigh, quarterLow] = [1.5707963267341256, 6.077100506506192e-11];

/** An angle as `r + n pi / 2`, |r| ≤ pi / 4: `isOdd` where n is odd, `isUpper` where n mod 4 is 2 or 3. NaN for the infinities. */
export interface ReducedAngle {
  readonly r: Local<"v128">;
  readonly isOdd: Local<"v128">;
  readonly isUpper: Local<"v128">;
}

/** Reduces angles in f64: r is exact to the last bit of an f32 up to |x| = 2^20. */
export function reduceAngle(f: FunctionBuilder, x: Local<"v128">): ReducedAngle {
  const halves = [x, f32x4.shuffle(x, x, [2, 3, 2, 3])].map((half) => {
    const angle = f.let(f64x2.promoteLowF32x4(half));
    const n = f.let(f64x2.nearest(f64x2.mul(angle, doubleSplat(f, 2 / Math.PI))));
    const rough = f64x2.sub(angle, f64x2.mul(n, doubleSplat(f, quarterHigh)));
    const r = f64x2.sub(rough, f64x2.mul(n, doubleSplat(f, quarterLow)));
    return { n, r: f.let(f32x4.demoteF64x2(r)) };
  });
  const [low, high] = halves as [(typeof halves)[number], (typeof halves)[number]];
  // The low bits of n: adding 1.5 * 2^52 leaves them at the end of the f64.
  const shifted = [low, high].map(({ n }) => f.let(f64x2.add(n, doubleSplat(f, 1.5 * 2 ** 52))));
  const n = f.let(f32x4.shuffle(shifted[0]!, shifted[1]!, [0, 2, 4, 6]));
  const bit = (mask: number): Local<"v128"> => f.let(i32x4.ne(v128.and(n, f.splatBits(mask)), v128.zero()));
  return { r: f.let(f32x4.shuffle(low.r, high.r, [0, 1, 4, 5])), isOdd: bit(1), isUpper: bit(2) };
}

/** Cephes' `sinf` for |r| ≤ pi / 4. */
export function sine(f: FunctionBuilder, target: Target, r: Local<"v128">): Local<"v128"> {
  const z = f.let(f32x4.mul(r, r));
  const p = horner(
    target,
    z,
    [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1].map((c) => f.splat(c)),
  );
  return f.let(madd(target, f32x4.mul(p, z), r, r));
}

/** Cephes' `cosf` for |r| ≤ pi / 4. */
export function cosine(f: FunctionBuilder, target: Target, r: Local<"v128">): Local<"v128"> {
  const z = f.let(f32x4.mul(r, r));
  const p: V128 = horner(
    target,
    z,
    [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5].map((c) => f.splat(c)),
  );
  return f.let(madd(target, p, z, f.splat(1)));
}
