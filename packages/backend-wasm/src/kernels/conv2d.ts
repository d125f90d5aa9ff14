import { tupleOf } from "@centella/core/backend";
import { type Expr, type FunctionBuilder, f32, i32, type Local, type ModuleBuilder, threadIndex, type V128, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { emitFloats } from "../matmul/floatPath.ts";
import { outer } from "../matmul/outer.ts";
import { outerProduct, outerScratch, packedProduct } from "../matmul/outerProduct.ts";
import { sharedUnits } from "../matmul/product.ts";
import { madd, type Target } from "../target.ts";
import { storeLanes } from "./shared/loops.ts";
import { zip } from "./shared/zip.ts";

const { tileColumns } = outer;

/** Output channels per group below which each is summed directly instead of as rows of a product. */
const minProductChannels = 4;

/** Geometry of the kernel and the image, in elements. Output (0, 0) starts `top` above and `left` of the image. */
const geometry = {
  height: "i32",
  width: "i32",
  columns: "i32",
  positions: "i32",
  kh: "i32",
  kw: "i32",
  strideY: "i32",
  strideX: "i32",
  dilationY: "i32",
  dilationX: "i32",
  top: "i32",
  left: "i32",
} as const;

type Geometry = { readonly [K in keyof typeof geometry]: Local<"i32"> };

/**
 * Visits `count` kernel elements (taps) from number `tap` on, ordered by channel and row, for the eight output
 * positions from `position` on. `use` gets the eight image elements under a tap, zeros beyond the edges. `scratch`
 * holds eight f32; `use` may advance it.
 */
function forEachTap(
  f: FunctionBuilder,
  g: Geometry,
  {
    x,
    position,
    tap,
    count,
    scratch,
  }: {
    readonly x: Local<"i32">;
    readonly position: Local<"i32">;
    readonly tap: Expr<"i32">;
    readonly count: Expr<"i32">;
    readonly scratch: Local<"i32">;
  },
  use: (low: V128, high: V128) => void,
): void {
  const { height, width, columns, positions, kh, kw, strideY, strideX, dilationY, dilationX, top, left } = g;
  const [low, high, value] = [f.local("v128"), f.local("v128"), f.local("f32")];
  const [row0, column0] = [f.let(i32.divU(position, columns)), f.let(i32.remU(position, columns))];
  const inOneRow = f.let(i32.leU(i32.add(column0, tileColumns), columns));
  const [q, above] = [f.let(i32.remU(tap, kw)), f.let(i32.divU(tap, kw))];
  const [p, channel] = [f.let(i32.remU(above, kh)), f.let(i32.divU(above, kh))];
  const [step, span] = [f.let(i32.shl(strideX, 2)), f.let(i32.mul(strideX, tileColumns - 1))];
  const remaining = f.let(count);
  // Under the tap at the first position: the image row and column, the row's address, and whether all eight positions
  // are in this row.
  const [y, at, rowAddress, isRow] = f.locals("i32", 4);
  const [lane, line, column, y1, at1, from] = f.locals("i32", 6);
  const rowUnder = (row: Local<"i32">): Expr<"i32"> => i32.sub(i32.add(i32.mul(row, strideY), i32.mul(p, dilationY)), top);
  const columnUnder = (of: Local<"i32">): Expr<"i32"> => i32.sub(i32.add(i32.mul(of, strideX), i32.mul(q, dilationX)), left);
  const addressOf = (row: Local<"i32">): Expr<"i32"> => i32.add(x, i32.shl(i32.mul(i32.add(i32.mul(channel, height), row), width), 2));
  const startRow = (): void => {
    f.set(y, rowUnder(row0));
    f.set(at, columnUnder(column0));
    f.set(rowAddress, addressOf(y));
    f.set(isRow, i32.and(inOneRow, i32.ltU(y, height)));
  };
  startRow();
  f.while(remaining, () => {
    f.if(
      i32.and(isRow, i32.and(i32.ltU(at, width), i32.ltU(i32.add(at, span), width))),
      () => {
        f.set(from, i32.add(rowAddress, i32.shl(at, 2)));
        f.if(
          i32.eq(strideX, 1),
          () => {
            f.set(low, v128.load(from));
            f.set(high, v128.load(from, 16));
          },
          () => {
            for (const half of [low, high]) {
              f.set(half, v128.load32Zero(from));
              for (let i = 1; i < 4; i++) {
                f.advance(from, step);
                f.set(half, v128.load32Lane(from, half, i));
              }
              f.advance(from, step);
            }
          },
        );
      },
      () => {
        f.set(line, row0);
        f.set(column, column0);
        f.for(lane, 0, tileColumns, 1, () => {
          f.set(y1, rowUnder(line));
          f.set(at1, columnUnder(column));
          f.set(value, f32.const(0));
          f.if(i32.and(i32.ltU(i32.add(position, lane), positions), i32.and(i32.ltU(y1, height), i32.ltU(at1, width))), () =>
            f.set(value, f32.load(i32.add(addressOf(y1), i32.shl(at1, 2)))),
          );
          f.store(i32.add(scratch, i32.shl(lane, 2)), value);
          f.advance(column, 1);
          f.if(i32.eq(column, columns), () => {
            f.setI32(column, 0);
            f.advance(line, 1);
          });
        });
        f.set(low, v128.load(scratch));
        f.set(high, v128.load(scratch, 16));
      },
    );
    use(low, high);
    f.advance(remaining, -1);
    f.advance(q, 1);
    f.advance(at, dilationX);
    f.if(i32.eq(q, kw), () => {
      f.setI32(q, 0);
      f.advance(p, 1);
      f.if(i32.eq(p, kh), () => {
        f.setI32(p, 0);
        f.advance(channel, 1);
      });
      startRow();
    });
  });
}

/**
 * The product `y [O, positions] = w [O, taps] · unfolded [taps, positions]`. Only the panels in use are unfolded. 1×1
 * kernels need no unfolding. Groups with few channels, as in depthwise convolutions, are summed directly.
 */
export const conv2d: Kernel<"conv2d"> = {
  emit: emitConv2d,
  build({ exports, include, max, reserve, maxThreads, threads }, [x, w], { stride, padding, dilation, groups }, y) {
    const [pack, sum] = [exports("conv2d.pack"), exports("conv2d.sum")];
    include(emitFloats);
    const [multiply, multiplyPacked] = [outerProduct(exports, "f32", threads), packedProduct(exports, threads)];
    const [out, channels, kh, kw] = tupleOf(max(w).shape, 4);
    const [, , rows, columns] = tupleOf(max(y).shape, 4);
    const [taps, positions, perGroup] = [channels * kh * kw, rows * columns, out / groups];
    const isSummed = perGroup < minProductChannels || taps === 0;
    // With one tap at each position, the image equals its unfolded form.
    const isPlain = [kh, kw, ...stride].every((extent) => extent === 1) && padding.every((extent) => extent === 0);
    reserve(Math.max(maxThreads * threadScratchBytes, outerScratch(perGroup, positions, threads)));
    return function* (run) {
      const [batch, imageChannels, height, width] = tupleOf(run.shape(x), 4);
      const [image, weights, to, { scratch }] = [run.address(x), run.address(w), run.address(y), run];
      const places = [height, width, columns, positions, kh, kw, ...stride, ...dilation, ...padding];
      if (isSummed) {
        const args = [image, weights, to, ...places, out, perGroup, imageChannels, channels, taps, scratch];
        const total = batch * out * Math.ceil(positions / tileColumns);
        yield { fn: sum, args, total, grain: sharedUnits(4 * tileColumns * (taps + 1), 4 * tileColumns * (taps + 1) * total, threads) };
        return;
      }
      for (let plane = 0; plane < batch * groups; plane++) {
        const [item, group] = [Math.floor(plane / groups), plane % groups];
        const a = weights + 4 * group * perGroup * taps;
        const b = image + 4 * (item * imageChannels + group * channels) * height * width;
        const product = { a, y: to + 4 * (item * out + group * perGroup) * positions, m: perGroup, n: positions, k: taps, scratch };
        if (isPlain) yield* multiply({ ...product, b });
        else {
          yield* multiplyPacked(product, ({ to: panels, at, count, column, total }) => {
            const args = [b, panels, ...places, at, count, column];
            return { fn: pack, args, total, grain: panelsAtOnce };
          });
        }
      }
    };
  },
};

/** Emits the functions of {@link conv2d}. */
export function emitConv2d(module: ModuleBuilder, target: Target): void {
  emitPack(module);
  emitSum(module, target);
}

/** Bytes of a thread's scratch for eight elements: a cache line. */
const threadScratchBytes = 64;

/** Panels that a thread unfolds at a time. */
const panelsAtOnce = 8;

function emitPack(module: ModuleBuilder): void {
  // Packs panels `begin` to `end` after position `first`, for taps from `tap` on.
  const packing = { x: "i32", to: "i32", ...geometry, tap: "i32", count: "i32", first: "i32", begin: "i32", end: "i32" } as const;
  module.function("conv2d.pack", packing, (f, params) => {
    const { x, to, tap, count, first, begin, end } = params;
    const position = f.local("i32");
    f.advance(to, i32.mul(i32.mul(begin, count), 4 * tileColumns));
    f.while(i32.ltU(begin, end), () => {
      f.set(position, i32.add(first, i32.mul(begin, tileColumns)));
      forEachTap(f, params, { x, position, tap, count, scratch: to }, (low, high) => {
        f.store(to, low);
        f.store(to, high, 16);
        f.advance(to, 4 * tileColumns);
      });
      f.advance(begin, 1);
    });
  });
}

function emitSum(module: ModuleBuilder, target: Target): void {
  // Units are panels, one output channel after another. `channels` and `taps` are those of a group's input.
  const summing = {
    x: "i32",
    w: "i32",
    y: "i32",
    ...geometry,
    out: "i32",
    perGroup: "i32",
    imageChannels: "i32",
    channels: "i32",
    taps: "i32",
    threadScratch: "i32",
    begin: "i32",
    end: "i32",
  } as const;
  module.function("conv2d.sum", summing, (f, params) => {
    const { x, w, y, height, width, positions, out, perGroup, imageChannels, channels, taps, threadScratch, begin, end } = params;
    const scratch = f.let(i32.add(threadScratch, i32.mul(threadIndex, threadScratchBytes)));
    const panels = f.let(i32.divU(i32.add(positions, tileColumns - 1), tileColumns));
    const [plane, position, channel] = f.locals("i32", 3);
    const [image, weight, to, left] = f.locals("i32", 4);
    const sums = f.locals("v128", 2);
    f.while(i32.ltU(begin, end), () => {
      f.set(plane, i32.divU(begin, panels));
      f.set(position, i32.mul(i32.remU(begin, panels), tileColumns));
      f.set(channel, i32.remU(plane, out));
      const group = i32.mul(i32.divU(channel, perGroup), channels);
      const before = i32.add(i32.mul(i32.divU(plane, out), imageChannels), group);
      f.set(image, i32.add(x, i32.shl(i32.mul(before, i32.mul(height, width)), 2)));
      f.set(weight, i32.add(w, i32.shl(i32.mul(channel, taps), 2)));
      for (const sum of sums) f.set(sum, v128.zero());
      forEachTap(f, params, { x: image, position: position, tap: i32.const(0), count: taps, scratch }, (low, high) => {
        const factor = f.let(v128.load32Splat(weight));
        for (const [sum, values] of zip(sums, [low, high])) f.set(sum, madd(target, factor, values, sum));
        f.advance(weight, 4);
      });
      f.set(to, i32.add(y, i32.shl(i32.add(i32.mul(plane, positions), position), 2)));
      f.set(left, i32.sub(positions, position));
      for (const sum of sums) {
        f.if(i32.gtS(left, 0), () => storeLanes(f, to, sum, left));
        f.advance(to, 16);
        f.advance(left, -4);
      }
      f.advance(begin, 1);
    });
  });
}
