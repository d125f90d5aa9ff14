import { f32, i32 } from "../emit/index.ts";
import type { Kernel, ParamsOf } from "../kernel.ts";
import { outerProduct, outerScratch } from "../matmul/outerProduct.ts";
import { blockCopy, filler } from "./shared/copies.ts";

/** Floats of unfolded image that are multiplied at once. */
const unfoldedFloats = 1 << 18;

/** Output positions per product: whole tiles. */
function positionsPerPass(taps: number, positions: number): number {
  return Math.min(positions, Math.max(8, Math.floor(unfoldedFloats / taps / 8) * 8));
}

/** Unfolds the image (im2col) and multiplies it by the weights: `y [O, positions] = w [O, taps] · unfolded [taps, positions]`. */
export const conv2d: Kernel<ParamsOf<"conv2d">> = {
  emit(module) {
    const signature = {
      x: "i32",
      to: "i32",
      height: "i32",
      width: "i32",
      columns: "i32",
      first: "i32",
      count: "i32",
      top: "i32",
      left: "i32",
      strideY: "i32",
      strideX: "i32",
    } as const;
    // One tap of one channel at `count` output positions from `first`: `top` and `left` are its place in the image for output (0, 0).
    module.function("conv2d.unfold", signature, (f, { x, to, height, width, columns, first, count, top, left, strideY, strideX }) => {
      const row = f.let(i32.divU(first, columns));
      const column = f.let(i32.remU(first, columns));
      const [y, at] = [f.local("i32"), f.local("i32")];
      const value = f.local("f32");
      f.while(count, () => {
        f.set(y, i32.add(i32.mul(row, strideY), top));
        f.set(at, i32.add(i32.mul(column, strideX), left));
        f.set(value, f32.const(0));
        f.if(i32.and(i32.ltU(y, height), i32.ltU(at, width)), () => {
          f.set(value, f32.load(i32.add(x, i32.shl(i32.add(i32.mul(y, width), at), 2))));
        });
        f.store(to, value);
        f.advance(to, 4);
        f.advance(column, 1);
        f.if(i32.eq(column, columns), () => {
          f.setI32(column, 0);
          f.advance(row, 1);
        });
        f.advance(count, -1);
      });
    });
  },
  build(context, [x, w], { stride, padding, dilation, groups }, y) {
    const { exports } = context;
    const unfold = exports("conv2d.unfold");
    const [fill, copy] = [filler(context, "f32"), blockCopy(context, "f32", 2)];
    const multiply = outerProduct(exports, "f32", context.threads);
    const [out, perGroup, kh, kw] = context.max(w!).shape as readonly [number, number, number, number];
    const [, , rows, columns] = context.max(y).shape as readonly [number, number, number, number];
    const [taps, positions, outPerGroup] = [perGroup * kh * kw, rows * columns, out / groups];
    const pass = positionsPerPass(taps, positions);
    const unfoldedBytes = 64 * Math.ceil((4 * taps * pass) / 64 + 1);
    const productBytes = 64 * Math.ceil((4 * outPerGroup * pass) / 64 + 1);
    context.reserve(unfoldedBytes + productBytes + outerScratch(outPerGroup, pass, context.threads));
    return function* (run) {
      const [batch, channels, height, width] = run.shape(x!) as readonly [number, number, number, number];
      const [image, weights, to] = [run.address(x!), run.address(w!), run.address(y)];
      const unfolded = run.scratch;
      const product = unfolded + unfoldedBytes;
      const scratch = product + productBytes;
      for (let plane = 0; plane < batch * groups; plane++) {
        const [item, group] = [Math.floor(plane / groups), plane % groups];
        const outAt = to + 4 * (item * out + group * outPerGroup) * positions;
        const w0 = weights + 4 * group * outPerGroup * taps;
        if (taps === 0) {
          yield* fill(outAt, outPerGroup * positions, 0);
          continue;
        }
        for (let first = 0; first < positions; first += pass) {
          const count = Math.min(pass, positions - first);
          for (let tap = 0; tap < taps; tap++) {
            const [channel, p, q] = [Math.floor(tap / (kh * kw)), Math.floor(tap / kw) % kh, tap % kw];
            const from = image + 4 * (item * channels + group * perGroup + channel) * height * width;
            const [top, left] = [p * dilation[0] - padding[0], q * dilation[1] - padding[1]];
            unfold(from, unfolded + 4 * tap * count, height, width, columns, first, count, top, left, stride[0], stride[1]);
          }
          yield;
          yield* multiply({ a: w0, b: unfolded, y: product, m: outPerGroup, n: count, k: taps, scratch });
          const axes = [
            { n: count, x: 1, y: 1 },
            { n: outPerGroup, x: count, y: positions },
          ];
          yield* copy(product, outAt, { axes, from: 0, to: first });
        }
      }
    };
  },
};
