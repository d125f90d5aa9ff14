import { layoutOf, type QuantizedType } from "@centella/core/backend";
import { f32x4, i32, type Local, type ModuleBuilder, threadIndex, v128 } from "../emit/index.ts";
import { zip } from "../kernels/shared/zip.ts";
import { encoders } from "./encoders.ts";
import { FourBlocks, fourBlocksBytes } from "./fourBlocks.ts";

/** Bytes of scratch per thread for {@link emitQuantize}. */
export const quantizeScratchBytes: number = fourBlocksBytes;

/**
 * `name(x, y, count, threadScratch, begin, end)` encodes `count` blocks of the f32 at `x` with ggml's bytes, four at a
 * time; `begin` and `end` count fours. A block with a value that is not finite gets NaN as its scale, because kernels
 * cannot raise errors.
 */
export function emitQuantize(module: ModuleBuilder, name: string, dtype: QuantizedType): void {
  const { elements, bytes } = layoutOf(dtype);
  const signature = { x: "i32", y: "i32", count: "i32", threadScratch: "i32", begin: "i32", end: "i32" } as const;
  module.function(name, signature, (f, { x, y, count, threadScratch, begin, end }) => {
    const scratch = f.let(i32.add(threadScratch, i32.mul(threadIndex, quantizeScratchBytes)));
    const [block, place, from, value, odd] = [f.local("i32"), f.local("i32"), f.locals("i32", 4), f.local("v128"), f.local("v128")];
    const to = f.locals("i32", 4);
    const q = new FourBlocks(f, scratch, to, f32x4.ne(odd, odd));
    f.while(i32.ltU(begin, end), () => {
      // If fewer than four are left, the last is encoded repeatedly.
      for (const [lane, [source, target]] of zip(from, to).entries()) {
        f.set(block, i32.add(i32.shl(begin, 2), lane));
        f.set(block, i32.select(i32.ltU(block, count), block, i32.sub(count, 1)));
        f.set(source, i32.add(x, i32.mul(block, 4 * elements)));
        f.set(target, i32.add(y, i32.mul(block, bytes)));
      }
      f.set(odd, f.splat(0));
      f.for(place, 0, 16 * elements, 16, () => {
        const offset = f.let(i32.shrU(place, 2));
        const at = (source: Local<"i32">): Local<"i32"> => f.let(i32.add(source, offset));
        const [first, ...others] = from;
        f.set(
          value,
          others.reduce((into, source, i) => v128.load32Lane(at(source), into, i + 1), v128.load32Zero(at(first))),
        );
        q.values.store(place, value);
        f.set(odd, f32x4.add(odd, f32x4.mul(value, v128.zero())));
      });
      encoders[dtype](q);
      f.advance(begin, 1);
    });
  });
}
