import { type FunctionBuilder, f32, f32x4, i16x8, i32, i32x4, v128 } from "../../emit/index.ts";
import { loadFiniteHalves, loadHalves } from "../../formats/half.ts";
import { memoryMap } from "../../memoryMap.ts";
import type { Pointer } from "./attentionParts.ts";
import { storeLanes } from "./loops.ts";

/** `width` elements of a cache's row as f32. */
export function copyRow(f: FunctionBuilder, type: "f16" | "q8_0", row: Pointer, copy: Pointer, width: Pointer): void {
  const [from, to, left] = [f.let(row), f.let(copy), f.let(width)];
  if (type === "q8_0") {
    f.while(left, () => {
      const d = f.let(f32x4.splat(f32.load(i32.add(i32.shl(i32.load16U(from), 2), memoryMap.halfTable))));
      for (let eight = 0; eight < 4; eight++) {
        const words = f.let(v128.load8x8S(from, 2 + 8 * eight));
        f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendLowS(words)), d), 32 * eight);
        f.store(to, f32x4.mul(f32x4.fromI32x4(i32x4.extendHighS(words)), d), 32 * eight + 16);
      }
      f.advance(from, 34);
      f.advance(to, 128);
      f.advance(left, -32);
    });
    return;
  }
  // The largest magnitude tells whether there is an infinity or a NaN: only then is each value looked at.
  const largest = f.let(v128.zero());
  f.while(i32.geU(left, 8), () => {
    f.store(to, loadFiniteHalves(f, from));
    f.store(to, loadFiniteHalves(f, from, 8), 16);
    f.set(largest, i16x8.maxS(largest, v128.and(v128.load(from), f.splatBits(0x7fff7fff))));
    f.advance(from, 16);
    f.advance(to, 32);
    f.advance(left, -8);
  });
  f.if(v128.anyTrue(i16x8.gtS(largest, f.splatBits(0x7bff7bff))), () => {
    f.set(from, row);
    f.set(to, copy);
    f.set(left, width);
  });
  f.while(left, () => {
    const value = loadHalves(f, from);
    storeLanes(f, to, value, left);
    f.advance(from, 8);
    f.advance(to, i32.shl(i32.select(i32.ltU(left, 4), left, 4), 2));
    f.set(left, i32.select(i32.gtU(left, 4), i32.sub(left, 4), 0));
  });
}
