import { broadcastStrides, elementCount, isQuantized, layoutOf, type Operand } from "@centella/core";
import { activationType } from "@centella/quant";
import { f32x4, i32, type ModuleBuilder, v128 } from "../emit/index.ts";
import type { ActivationFormat } from "../formats/activations.ts";
import { blockFormats, hasBlockFormat } from "../formats/index.ts";
import type { BuildContext, Kernel, ParamsOf, Pause, Task } from "../kernel.ts";
import { innerProduct, innerScratch } from "../matmul/innerProduct.ts";
import { outerProduct, outerScratch } from "../matmul/outerProduct.ts";
import type { Product } from "../matmul/product.ts";
import { activationScratch, quantizedProduct, roundRows } from "../matmul/quantizedProduct.ts";
import { readInterleavedRow, rowBytesOf } from "../storedForm.ts";

type Params = ParamsOf<"matmul">;

export const matmul: Kernel<Params> = {
  emit: emitTranspose,
  build(context, [a, b], params, y) {
    const path = choosePath(context, b!, params);
    const { transposeA } = params;
    const transpose = context.exports("transpose");
    const most = extents(context.max(a!).shape, context.max(b!).shape, context.max(y).shape, params);
    const rows = Math.max(most.m, most.mergedRows);
    const transposedBytes = transposeA ? align(4 * most.m * most.k) : 0;
    context.reserve(transposedBytes + path.scratch(rows, most.n, most.k));
    const zero = (from: number, count: number): void => void context.heap.f32.fill(0, from / 4, from / 4 + count);

    return function* (run): Iterable<Pause> {
      const [aAt, bAt, yAt] = [run.address(a!), run.address(b!), run.address(y)];
      const { m, n, k, batch, mergedRows, aBatch, bBatch } = extents(run.shape(a!), run.shape(b!), run.shape(y), params);
      const scratch = run.scratch + transposedBytes;
      if (k === 0) return zero(yAt, m * n * elementCount(batch));
      if (m === 0 || n === 0 || batch.includes(0)) return;
      if (mergedRows > 0) return yield* path.multiply({ a: aAt, b: bAt, y: yAt, m: mergedRows, n, k, scratch });
      const bBytes = n * k * path.bytesPerElement;
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

/** One of the ways to multiply, chosen from the layout of `b` and the parameters. */
interface Path {
  readonly bytesPerElement: number;
  readonly multiply: (product: Product) => Iterable<Pause>;
  readonly scratch: (m: number, n: number, k: number) => number;
}

function choosePath(context: BuildContext, b: Operand, { transposeB, activations }: Params): Path {
  const { exports, storedAs } = context;
  const stored = storedAs(b);
  const { elements, bytes } = layoutOf(stored);
  const bytesPerElement = bytes / elements;
  if (!transposeB) {
    const multiply = outerProduct(exports, stored, context.threads);
    return { bytesPerElement, multiply, scratch: (m, n) => outerScratch(m, n, context.threads) };
  }
  const { dtype } = b.spec;
  if (activations === "f32" || !isQuantized(dtype)) {
    return plainRows(context, b, { bytesPerElement, multiply: innerProduct(exports, stored, context.threads), scratch: innerScratch });
  }
  // q8_1 activations are q8_0 ones with a sum besides, of which nothing is left once they are numbers again.
  const format: ActivationFormat = activationType[dtype] === "q8_K" ? "q8_K" : "q8_0";
  if (hasBlockFormat(stored)) {
    const scratch = (m: number, _n: number, k: number): number => activationScratch(blockFormats[stored].activation, m, k);
    return {
      bytesPerElement,
      multiply: quantizedProduct(exports, stored, context.interleaving(b) !== undefined, context.threads),
      scratch,
    };
  }
  const round = roundRows(exports, format);
  const multiply = innerProduct(exports, stored, context.threads);
  const roundedBytes = (m: number, k: number): number => align(4 * m * k);
  return {
    bytesPerElement,
    *multiply(product) {
      const { a, m, k, scratch } = product;
      const room = scratch + roundedBytes(m, k);
      yield* round(a, scratch, m * k, room);
      yield* multiply({ ...product, a: scratch, scratch: room });
    },
    scratch: (m, _n, k) => roundedBytes(m, k) + Math.max(activationScratch(format, m, k), innerScratch(m)),
  };
}

/** A path for interleaved weights that it cannot read: it is given a copy of them as they were loaded. */
function plainRows({ interleaving, heap }: BuildContext, b: Operand, path: Path): Path {
  const dtype = interleaving(b);
  if (dtype === undefined) return path;
  const copyBytes = (n: number, k: number): number => align(n * rowBytesOf(dtype, k));
  return {
    ...path,
    *multiply(product) {
      const { n, k, scratch } = product;
      const rowBytes = rowBytesOf(dtype, k);
      for (let row = 0; row < n; row++) {
        const to = scratch + row * rowBytes;
        readInterleavedRow(dtype, row, n, heap.u8, product.b, heap.u8.subarray(to, to + rowBytes));
        if (row % 256 === 255) yield;
      }
      yield* path.multiply({ ...product, b: scratch, scratch: scratch + copyBytes(n, k) });
    },
    scratch: (m, n, k) => copyBytes(n, k) + path.scratch(m, n, k),
  };
}

/** Extents of one call; `mergedRows > 0` if all batches multiply one `b` and their rows can be taken as one matrix. */
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
  const [m, n, k] = [yShape.at(-2)!, yShape.at(-1)!, aShape.at(transposeA ? -2 : -1)!];
  const [batch, aLead, bLead] = [yShape.slice(0, -2), aShape.slice(0, -2), bShape.slice(0, -2)];
  const isMerged = !transposeA && elementCount(bLead) === 1 && elementCount(aLead) === elementCount(batch);
  return {
    m,
    n,
    k,
    batch,
    mergedRows: isMerged ? m * elementCount(batch) : 0,
    aBatch: batchIndex(aLead, batch),
    bBatch: batchIndex(bLead, batch),
  };
}

/** Maps the index of a batch of `y` to that of an input. */
function batchIndex(input: readonly number[], batch: readonly number[]): (index: number) => number {
  const strides = broadcastStrides(input, batch);
  return (index) => {
    let at = 0;
    for (let axis = batch.length - 1; axis >= 0; axis--) {
      at += (index % batch[axis]!) * strides[axis]!;
      index = Math.floor(index / batch[axis]!);
    }
    return at;
  };
}

function align(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}

/** `transpose(from, to, m, k)`: `from [k, m] -> to [m, k]`, f32. */
function emitTranspose(module: ModuleBuilder): void {
  module.function("transpose", { from: "i32", to: "i32", m: "i32", k: "i32" }, (f, { from, to, m, k }) => {
    const [source, target, left] = [f.local("i32"), f.local("i32"), f.local("i32")];
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
      f.set(m, i32.select(i32.gtU(m, 4), i32.sub(m, 4), 0));
    });
  });
}
