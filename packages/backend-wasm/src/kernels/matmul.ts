import type { DType, ParamsOf } from "@centella/core";
import { broadcastStrides, elementCount, layoutOf, type Operand, tupleOf } from "@centella/core/backend";
import { activationType, type BlockType } from "@centella/quant";
import { f32x4, i32, type ModuleBuilder, v128 } from "../emit/index.ts";
import { groupRows } from "../formats/block.ts";
import { type FormatName, formatNameOf, formatOf } from "../formats/index.ts";
import { groupedBytes } from "../formats/interleave.ts";
import type { BuildContext, Kernel, Stage, Task } from "../kernel.ts";
import { lazyPart } from "../linking/lazyParts.ts";
import type { Path } from "../matmul/product.ts";
import { roundedProduct, roundedScratch } from "../matmul/roundedProduct.ts";
import { toForm } from "../memory/weightLayout.ts";
import { aligned } from "./shared/aligned.ts";
import { zip } from "./shared/zip.ts";

type Params = ParamsOf<"matmul">;

export const matmul: Kernel<"matmul"> = {
  emit: emitTranspose,
  build(context, [a, b], params, y) {
    const path = choosePath(context, b, params);
    const { transposeA } = params;
    const transpose = context.exports("transpose");
    const most = extents(context.max(a).shape, context.max(b).shape, context.max(y).shape, params);
    const rows = Math.max(most.m, most.mergedRows);
    const transposedBytes = transposeA ? aligned(4 * most.m * most.k) : 0;
    context.reserve(transposedBytes + path.scratch(rows, most.n, most.k));
    const zero = (from: number, count: number): void => void context.heap.f32.fill(0, from / 4, from / 4 + count);

    return function* (run): Iterable<Stage> {
      const [aAt, bAt, yAt] = [run.address(a), run.address(b), run.address(y)];
      const { m, n, k, batch, mergedRows, aBatch, bBatch } = extents(run.shape(a), run.shape(b), run.shape(y), params);
      const scratch = run.scratch + transposedBytes;
      if (k === 0) return zero(yAt, m * n * elementCount(batch));
      if (m === 0 || n === 0 || batch.includes(0)) return;
      if (mergedRows > 0) return yield* path.multiply({ a: aAt, b: bAt, y: yAt, m: mergedRows, n, k, scratch });
      const bBytes = path.matrixBytes(n, k);
      for (let index = 0; index < elementCount(batch); index++) {
        let from = aAt + 4 * m * k * aBatch(index);
        if (transposeA) {
          transpose(from, run.scratch, m, k);
          from = run.scratch;
        }
        yield* path.multiply({ a: from, b: bAt + bBytes * bBatch(index), y: yAt + 4 * m * n * index, m, n, k, scratch });
      }
    } satisfies Task;
  },
};

/** Chooses how to multiply with `b`, or with each of its matrices if it has batch axes. */
export function choosePath(context: BuildContext, b: Operand, params: Params): Path {
  const { dtype } = b.spec;
  const form = context.interleaving(b) ?? formatNameOf(dtype);
  if (form === undefined) return lazyPart("floats").floatPath(context, b, params);
  const pathIn = (own: BuildContext): Path =>
    params.activations === "ggml" ? roundedPath(own, dtype, form) : lazyPart("exact").exactPath(own, form);
  if (context.interleaving(b) !== undefined) return pathIn(context);
  // Its stages follow work on the caller's thread.
  return interleavingFirst(context, dtype, form, pathIn({ ...context, onDemand: context.exports }));
}

/** Blocks times activations that are first rounded to 8 bits. */
function roundedPath(context: BuildContext, dtype: DType, form: FormatName): Path {
  const { target, maxThreads } = context;
  // Converted types accept only the activations of their own format.
  const rounding = dtype === form || activationType[dtype as BlockType] !== "q8_K" ? formatOf(form).rounding : "q8_Kx32";
  return {
    single: `groups1.${form}`,
    matrixBytes: (n, k) => groupedBytes(form, n, k),
    multiply: roundedProduct(context, form, rounding),
    scratch: roundedScratch(form, rounding, target, maxThreads),
  };
}

/** A path for block rows that are stored as they were loaded: it multiplies with an interleaved copy. */
function interleavingFirst({ heap, exports }: BuildContext, dtype: DType, form: FormatName, path: Path): Path {
  const { elements, bytes } = layoutOf(dtype);
  const interleave = exports(`interleave.${form}`);
  const rowBytes = (k: number): number => (k / elements) * bytes;
  /** The interleaved groups, and the rows of one group. */
  const copyBytes = (n: number, k: number): number => aligned(groupedBytes(form, n + groupRows, k));
  return {
    single: path.single,
    matrixBytes: (n, k) => n * rowBytes(k),
    *multiply(product) {
      const { b, n, k, scratch } = product;
      const groupBytes = groupedBytes(form, groupRows, k);
      const group = scratch + groupedBytes(form, n, k);
      for (let row = 0; row < n; row += groupRows) {
        const { u8 } = heap;
        const rows = toForm(dtype, form, u8.subarray(b + row * rowBytes(k), b + Math.min(n, row + groupRows) * rowBytes(k)));
        u8.set(rows, group);
        u8.fill(0, group + rows.length, group + groupBytes);
        interleave(group, scratch + (row / groupRows) * groupBytes, groupBytes / groupRows, 0, 1);
        if (row % 256 === 0) yield;
      }
      yield* path.multiply({ ...product, b: scratch, scratch: scratch + copyBytes(n, k) });
    },
    scratch: (m, n, k) => copyBytes(n, k) + path.scratch(m, n, k),
  };
}

/** Extents of one call. `mergedRows > 0` if all batches multiply one `b` and their rows form one matrix. */
function extents(
  aShape: readonly number[],
  bShape: readonly number[],
  yShape: readonly number[],
  { transposeA }: Params,
): {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: readonly number[];
  readonly mergedRows: number;
  readonly aBatch: (index: number) => number;
  readonly bBatch: (index: number) => number;
} {
  const [m, n] = tupleOf(yShape.slice(-2), 2);
  const [aRows, aColumns] = tupleOf(aShape.slice(-2), 2);
  const [batch, aLead, bLead] = [yShape.slice(0, -2), aShape.slice(0, -2), bShape.slice(0, -2)];
  const isMerged = !transposeA && elementCount(bLead) === 1 && elementCount(aLead) === elementCount(batch);
  return {
    m,
    n,
    k: transposeA ? aRows : aColumns,
    batch,
    mergedRows: isMerged ? m * elementCount(batch) : 0,
    aBatch: batchIndex(aLead, batch),
    bBatch: batchIndex(bLead, batch),
  };
}

/** Maps a batch index of `y` to that of an input. */
function batchIndex(input: readonly number[], batch: readonly number[]): (index: number) => number {
  const axes = zip(batch, broadcastStrides(input, batch)).toReversed();
  return (index) => {
    let at = 0;
    for (const [extent, stride] of axes) {
      at += (index % extent) * stride;
      index = Math.floor(index / extent);
    }
    return at;
  };
}

/** `transpose(from, to, m, k)`: `from [k, m] -> to [m, k]`, f32. */
function emitTranspose(module: ModuleBuilder): void {
  module.function("transpose", { from: "i32", to: "i32", m: "i32", k: "i32" }, (f, { from, to, m, k }) => {
    const [source, target, left] = f.locals("i32", 3);
    const rowBytes = f.let(i32.shl(k, 2));
    const stride = f.let(i32.shl(m, 2));
    const quad = f.local("v128");
    f.while(m, () => {
      f.set(source, from);
      f.set(target, to);
      f.set(left, k);
      f.while(left, () => {
        f.set(quad, v128.load(source));
        f.store32Lane(target, quad, 0);
        for (let lane = 1; lane < 4; lane++) {
          f.if(i32.gtU(m, lane), () => f.store(i32.add(target, i32.mul(rowBytes, lane)), f32x4.extract(quad, lane)));
        }
        f.advance(source, stride);
        f.advance(target, 4);
        f.advance(left, -1);
      });
      f.advance(from, 16);
      f.advance(to, i32.mul(rowBytes, 4));
      f.countDown(m, 4);
    });
  });
}
