import { lastOf, tupleOf } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, i8x16, i16x8, i32, i32x4, type Local, threadIndex, v128 } from "../emit/index.ts";
import { toHalves } from "../formats/half.ts";
import type { Kernel } from "../kernel.ts";
import { largestLane } from "../matmul/lanes.ts";

type Pointer = Local<"i32">;

/** Tokens per tile. */
const grain = 16;

export const kvWrite: Kernel<"kvWrite"> = {
  emit(module) {
    const signature = {
      cache: "i32",
      k: "i32",
      v: "i32",
      slots: "i32",
      size: "i32",
      heads: "i32",
      dK: "i32",
      dV: "i32",
      threadScratch: "i32",
      begin: "i32",
      end: "i32",
    } as const;
    for (const type of ["f32", "f16", "q8_0"] as const) {
      module.function(`kvWrite.${type}`, signature, (f, { cache, k, v, slots, size, heads, dK, dV, threadScratch, begin, end }) => {
        const width = f.let(i32.add(dK, dV));
        const headBytes = f.let(type === "f32" ? i32.shl(width, 2) : type === "f16" ? i32.shl(width, 1) : i32.mul(i32.shrU(width, 5), 34));
        const scratch = f.let(i32.add(threadScratch, i32.shl(i32.mul(threadIndex, width), 2)));
        const [slot, to, left, fromK, fromV] = f.locals("i32", 5);
        f.while(i32.ltU(begin, end), () => {
          f.set(slot, i32.load(i32.add(slots, i32.shl(begin, 2))));
          f.if(i32.ltU(slot, size), () => {
            f.set(to, i32.add(cache, i32.mul(i32.mul(slot, heads), headBytes)));
            f.set(left, heads);
            f.set(fromK, i32.add(k, i32.shl(i32.mul(i32.mul(begin, heads), dK), 2)));
            f.set(fromV, i32.add(v, i32.shl(i32.mul(i32.mul(begin, heads), dV), 2)));
            f.while(left, () => {
              // A block may span keys and values, so both are rounded together.
              const row = type === "q8_0" ? f.let(scratch) : to;
              for (const [from, count] of [[fromK, dK] as const, [fromV, dV] as const]) {
                if (type === "f16") writeHalves(f, from, to, count);
                else {
                  f.memoryCopy(row, from, i32.shl(count, 2));
                  f.advance(row, i32.shl(count, 2));
                }
                if (type !== "f16") f.advance(from, i32.shl(count, 2));
              }
              if (type === "q8_0") writeBlocks(f, f.let(scratch), to, f.let(width));
              f.advance(left, -1);
            });
          });
          f.advance(begin, 1);
        });
      });
    }
  },
  build({ exports, max, reserve, maxThreads }, [cache, k, v, slots]) {
    const { dtype } = cache.spec;
    const call = exports(`kvWrite.${dtype}`);
    if (dtype === "q8_0") reserve(maxThreads * 4 * lastOf(max(cache).shape));
    return function* (run) {
      const [size, heads, width] = tupleOf(run.shape(cache), 3);
      const [tokens, , dK] = tupleOf(run.shape(k), 3);
      const [cacheAt, kAt, vAt, slotsAt] = [run.address(cache), run.address(k), run.address(v), run.address(slots)];
      yield { fn: call, args: [cacheAt, kAt, vAt, slotsAt, size, heads, dK, width - dK, run.scratch], total: tokens, grain };
    };
  },
};

/** Writes `count` f32 as halves and advances both pointers. */
function writeHalves(f: FunctionBuilder, from: Pointer, to: Pointer, count: Pointer): void {
  const left = f.let(count);
  f.while(i32.geU(left, 4), () => {
    const halves = toHalves(f, v128.load(from));
    f.store64Lane(to, i16x8.narrowI32x4S(halves, halves), 0);
    f.advance(from, 16);
    f.advance(to, 8);
    f.advance(left, -4);
  });
  f.while(left, () => {
    f.store16(to, i32x4.extract(toHalves(f, v128.load32Splat(from)), 0));
    f.advance(from, 4);
    f.advance(to, 2);
    f.advance(left, -1);
  });
}

/**
 * Writes `count` f32 as blocks of q8_0, rounded as in ggml's reference code: `d = max|x| / 127`, halves of `x / d` away
 * from zero.
 */
function writeBlocks(f: FunctionBuilder, from: Pointer, to: Pointer, count: Pointer): void {
  f.while(count, () => {
    const largest = f.let(v128.zero());
    for (let at = 0; at < 128; at += 16) f.set(largest, f32x4.pmax(largest, f32x4.abs(v128.load(from, at))));
    const d = f.let(f32x4.div(largestLane(f, largest), f.splat(127)));
    const inverse = f.let(v128.andnot(f32x4.div(f.splat(1), d), f32x4.eq(d, v128.zero())));
    f.store16(to, i32x4.extract(toHalves(f, d), 0));
    const four = (at: number): Local<"v128"> => {
      const x = f.let(f32x4.mul(v128.load(from, at), inverse));
      const magnitude = f.let(f32x4.abs(x));
      const whole = f.let(f32x4.trunc(magnitude));
      const up = v128.and(f32x4.ge(f32x4.sub(magnitude, whole), f.splat(0.5)), f.splat(1));
      const rounded = v128.or(f32x4.add(whole, up), v128.and(x, f.splatBits(0x80000000)));
      return f.let(i32x4.truncSatF32x4S(rounded));
    };
    const eight = (at: number) => i16x8.narrowI32x4S(four(at), four(at + 16));
    for (const at of [0, 64]) f.store(to, i8x16.narrowI16x8S(f.let(eight(at)), f.let(eight(at + 32))), 2 + at / 4);
    f.advance(from, 128);
    f.advance(to, 34);
    f.advance(count, -32);
  });
}
