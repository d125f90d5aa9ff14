import { type FunctionBuilder, i16x8, i32, i32x4, type Local, v128 } from "../emit/index.ts";
import { toHalves } from "../formats/half.ts";
import type { Kernel } from "../kernel.ts";

export const kvWrite: Kernel = {
  emit(module) {
    const signature = { cache: "i32", k: "i32", v: "i32", heads: "i32", dK: "i32", dV: "i32" } as const;
    module.function("kvWrite.f32", signature, (f, { cache, k, v, heads, dK, dV }) => {
      f.while(heads, () => {
        for (const [from, count] of [[k, dK] as const, [v, dV] as const]) {
          f.memoryCopy(cache, from, i32.shl(count, 2));
          f.advance(from, i32.shl(count, 2));
          f.advance(cache, i32.shl(count, 2));
        }
        f.advance(heads, -1);
      });
    });
    module.function("kvWrite.f16", signature, (f, { cache, k, v, heads, dK, dV }) => {
      f.while(heads, () => {
        for (const [from, count] of [[k, dK] as const, [v, dV] as const]) writeHalves(f, from, cache, count);
        f.advance(heads, -1);
      });
    });
  },
  unsupported: ([cache]) => (cache!.dtype === "q8_0" ? "a q8_0 cache is not written here yet; use f32 or f16" : undefined),
  build({ exports, heap }, [cache, k, v, slots]) {
    const { dtype } = cache!.spec;
    const call = exports(`kvWrite.${dtype}`);
    const elementBytes = dtype === "f16" ? 2 : 4;
    return (run) => {
      const [size, heads, width] = run.shape(cache!) as readonly [number, number, number];
      const [tokens, , dK] = run.shape(k!) as readonly [number, number, number];
      const dV = width - dK;
      const [cacheAt, kAt, vAt, slotsAt] = [run.address(cache!), run.address(k!), run.address(v!), run.address(slots!) / 4];
      for (let t = 0; t < tokens; t++) {
        const slot = heap.i32[slotsAt + t]!;
        if (slot < 0 || slot >= size) continue;
        call(cacheAt + slot * heads * width * elementBytes, kAt + 4 * t * heads * dK, vAt + 4 * t * heads * dV, heads, dK, dV);
      }
    };
  },
};

/** `count` f32 as halves, both pointers moved on. */
function writeHalves(f: FunctionBuilder, from: Local<"i32">, to: Local<"i32">, count: Local<"i32">): void {
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
