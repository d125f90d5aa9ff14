import { f32x4, i32, i32x4, type Local, type V128, v128 } from "../../emit/index.ts";
import type { Fold, Pair } from "./foldTypes.ts";
import { zip } from "./zip.ts";

/** Vectors per iteration, elements per block, and the number of elements from which blocks pay off. */
const unrolled = 8;
const block = 4096;
const worthwhile = 256;

const infinityBits = 0x7f800000;
const signBit = 0x80000000;

/**
 * Finds the largest or smallest elements, and whether there was a NaN, with two instructions per vector. Both compare
 * bits as integers: one takes the signed maximum, the other the unsigned maximum. If any float is not negative, the
 * signed maximum is the largest float, or a NaN if it is above infinity. If any is negative, the unsigned maximum is
 * the smallest float, or likewise a NaN. A block that does not decide, because all values so far have the other sign,
 * is read once more from the cache.
 */
export function extremumBulk(isMax: boolean): NonNullable<Fold<Pair>["bulk"]> {
  return (f, [best, hasNaN], load, at, left) => {
    f.if(i32.geU(left, worthwhile), () => {
      const signed = f.locals("v128", unrolled);
      const unsigned = f.locals("v128", 4);
      // Two adjacent vectors share an unsigned maximum.
      const pairwise = unsigned.flatMap((local) => [local, local]);
      const open = f.let(f.splatBits(isMax ? infinityBits | signBit : infinityBits));
      const [value, from, count, again] = [f.local("v128"), f.local("i32"), f.local("i32"), f.local("i32")];
      const largest = (
        [first, ...others]: readonly [Local<"v128">, ...Local<"v128">[]],
        max: (a: V128, b: V128) => V128,
      ): Local<"v128"> => {
        const result = f.let(first);
        for (const local of others) f.set(result, max(result, local));
        return result;
      };
      for (const local of signed) f.set(local, f.splatBits(signBit));
      for (const local of unsigned) f.set(local, v128.zero());
      f.while(i32.geU(left, 4 * unrolled), () => {
        f.set(from, at);
        f.set(count, i32.select(i32.ltU(left, block), i32.and(left, -4 * unrolled), block));
        f.set(left, i32.sub(left, count));
        f.set(again, count);
        f.while(count, () => {
          for (const [i, [own, shared]] of zip(signed, pairwise).entries()) {
            f.set(value, load(16 * i));
            f.set(own, i32x4.maxS(own, value));
            f.set(shared, i32x4.maxU(shared, value));
          }
          f.advance(at, 16 * unrolled);
          f.advance(count, -4 * unrolled);
        });
        const signs = i32x4.bitmask(isMax ? largest(signed, i32x4.maxS) : largest(unsigned, i32x4.maxU));
        f.if(i32.eq(signs, isMax ? 15 : 0), () => {
          f.set(at, from);
          f.while(again, () => {
            for (let i = 0; i < unrolled; i++) f.set(open, i32x4.minU(open, load(16 * i)));
            f.advance(at, 16 * unrolled);
            f.advance(again, -4 * unrolled);
          });
        });
      });
      const [s, u] = [largest(signed, i32x4.maxS), largest(unsigned, i32x4.maxU)];
      const wasNaN = v128.or(i32x4.gtS(s, f.splatBits(infinityBits)), i32x4.gtU(u, f.splatBits(infinityBits | signBit)));
      f.set(hasNaN, v128.or(hasNaN, wasNaN));
      if (isMax) f.set(best, f32x4.pmax(best, v128.bitselect(i32x4.shrS(s, 31), open, s)));
      else f.set(best, f32x4.pmin(best, v128.bitselect(i32x4.shrS(u, 31), u, open)));
    });
  };
}
