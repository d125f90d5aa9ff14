import type { Shape } from "@centella/core";
import { elementAt, tupleOf } from "@centella/core/backend";
import {
  asValue,
  broadcastIndices,
  type Epilogue,
  type Extent,
  type F32,
  isBelow,
  offset,
  plus,
  product,
  times,
  timesPlus,
  type U32,
  unflatten,
} from "@centella/gpu-kernels";
import { isHalf } from "@centella/quant";
import { warpSum } from "../../ptx/reduce.ts";
import type { Var } from "../../ptx/writer.ts";
import { lanes } from "./gpu.ts";
import {
  type Argument,
  bucketElements,
  bucketShape,
  epilogueArgs,
  input,
  type KernelCall,
  type Launch,
  launch,
  type NamedArguments,
  output,
  type Scope,
} from "./kernel.ts";

/** A matrix product of the call: its `b` and output, and an `a` that may have been replaced by a prepared copy. */
export interface Product {
  readonly a: Argument;
  /** Default: the call's second input. */
  readonly b?: Argument;
  /** Default: the call's output. */
  readonly y?: Argument;
  readonly aShape: Shape;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly epilogue?: Epilogue | undefined;
  /** Further memory that the epilogue reads. */
  readonly earlier?: NamedArguments;
}

/** The matrices of one batch element, as index functions. */
export interface Matrices {
  readonly m: Extent;
  readonly n: Extent;
  readonly depth: Extent;
  loadA(row: Extent, p: Extent): F32;
  loadB(p: Extent, column: Extent): F32;
  /** Elements from `p` on along the depth, where that is contiguous. */
  loadVectorA(row: Extent, p: Extent): readonly F32[];
  loadVectorB(p: Extent, column: Extent): readonly F32[];
  store(row: Extent, column: Extent, value: F32): void;
  /** Stores four neighbouring columns from a multiple of 4 on, where rows have a multiple of 4. */
  storeVector(row: Extent, column: Extent, values: readonly F32[]): void;
}

/** Columns per block of products with few rows. */
export const vectorWarps = 4;

/** One warp per column of the output, which it computes for all rows at once: `b [n, k]` is read once. For few rows. */
export function vectorProduct(call: KernelCall, given: Product): Launch {
  const [rows, columns] = bucketShape(call, call.output.shape).slice(-2) as [number, number];
  const columnBlocks = Math.max(1, Math.ceil(columns / vectorWarps));
  const blocks = columnBlocks * batchElements(call);
  const options = { threads: vectorWarps * lanes, blocks, args: argsOf(call, given) };
  return launch(call, `matmulVector_${nameOf(call, given)}`, options, (scope) => {
    const { k } = scope;
    // Otherwise ptxas keeps to 56 registers for halves on sm_90, and spills.
    if (call.gpu.target !== "sm_80" && isHalf(elementAt(call.inputs, 1).dtype)) k.blocksPerMultiprocessor = 8;
    const thread = k.thread();
    const lane = k.and(thread, lanes - 1);
    const [batch, columnBlock] = unflatten(k, k.block(), [1, columnBlocks]);
    const column = asValue(k, timesPlus(k, columnBlock, vectorWarps, k.shiftRight(thread, 5)));
    inBatch(scope, call, given, batch, (matrices) => {
      const { m, n, store } = matrices;
      k.if(isBelow(k, column, n), () => {
        const sums = Array.from({ length: rows }, () => k.variable("f32", 0));
        k.if(isBelow(k, 0, m), () => addProducts(scope, given, matrices, { lane, column, sums }));
        const totals = sums.map((sum) => warpSum(k, sum.get()));
        k.if(k.compare("eq", lane, 0), () => {
          for (const [i, total] of totals.entries()) k.if(isBelow(k, i, m), () => store(i, column, total));
        });
      });
    });
  });
}

const vector = 4;
const vectorsInFlight = 4;

interface Column {
  readonly lane: U32;
  readonly column: U32;
  /** One sum per row. */
  readonly sums: readonly Var<"f32">[];
}

/** Adds a lane's share of the products of a column with all rows; 16 bytes per access and four of them at once where the depth allows it. */
export function addProducts(
  { k }: Scope,
  { transposeA }: Pick<Product, "transposeA">,
  matrices: Omit<Matrices, "n" | "store" | "storeVector">,
  { lane, column, sums }: Column,
): void {
  const { m, depth, loadA, loadB, loadVectorA, loadVectorB } = matrices;
  // Rows beyond the run's m repeat its last one; they are not stored.
  const last = typeof m === "number" ? m - 1 : k.sub(m, 1);
  const rowOf = (i: number): Extent => (typeof last === "number" ? Math.min(i, last) : k.min(last, i));
  if (transposeA || typeof depth !== "number" || depth % (vector * lanes) !== 0) {
    k.for(lane, depth, lanes, (p) => {
      const weight = loadB(p, column);
      for (const [i, sum] of sums.entries()) sum.accumulate(weight, loadA(rowOf(i), p));
    });
    return;
  }
  const step = vector * lanes;
  const unrolled = depth % (step * vectorsInFlight) === 0 ? vectorsInFlight : 1;
  k.for(k.mul(lane, vector), depth, step * unrolled, (start) => {
    const places = Array.from({ length: unrolled }, (_, u) => k.add(start, u * step));
    const weights = places.map((p) => loadVectorB(p, column));
    for (const [i, sum] of sums.entries()) {
      const row = rowOf(i);
      const values = places.map((p) => loadVectorA(row, p));
      for (const [u, each] of weights.entries())
        for (const [j, weight] of each.entries()) sum.accumulate(weight, elementAt(elementAt(values, u), j));
    }
  });
}

/** Columns of a block of {@link columnProduct}, and parts of the depth that its threads share. */
const blockColumns = 16;
const depthParts = 16;
const partsInFlight = 8;

/** For few rows where `b [k, n]` has neighbouring columns side by side: one block per 16 columns, its threads along the depth as well. */
export function columnProduct(call: KernelCall, given: Product): Launch {
  const [rows, columns] = bucketShape(call, call.output.shape).slice(-2) as [number, number];
  const columnBlocks = Math.max(1, Math.ceil(columns / blockColumns));
  const threads = blockColumns * depthParts;
  const options = { threads, blocks: columnBlocks * batchElements(call), args: argsOf(call, given) };
  return launch(call, `matmulColumns_${nameOf(call, given)}`, options, (scope) => {
    const { k } = scope;
    const thread = k.thread();
    const [batch, columnBlock] = unflatten(k, k.block(), [1, columnBlocks]);
    const column = asValue(k, timesPlus(k, columnBlock, blockColumns, k.and(thread, blockColumns - 1)));
    const part = k.shiftRight(thread, 4);
    const partials = k.sharedMemory("f32", threads);
    inBatch(scope, call, given, batch, ({ m, n, depth, loadA, loadB, store }) => {
      // Columns and rows beyond the run's repeat its last ones; they are not stored.
      const read = k.min(column, typeof n === "number" ? n - 1 : k.sub(n, 1));
      const lastRow = typeof m === "number" ? m - 1 : k.sub(m, 1);
      const rowOf = (i: number): Extent => (typeof lastRow === "number" ? Math.min(i, lastRow) : k.min(lastRow, i));
      const sums = Array.from({ length: rows }, () => k.variable("f32", 0));
      const term = (p: U32, weight: F32): void => {
        for (const [i, sum] of sums.entries()) sum.accumulate(weight, loadA(rowOf(i), p));
      };
      k.if(k.and(isBelow(k, 0, n), isBelow(k, 0, m)), () => {
        const at = k.variable("u32", part);
        k.while(
          () => isBelow(k, k.add(at.get(), (partsInFlight - 1) * depthParts), depth),
          () => {
            const places = Array.from({ length: partsInFlight }, (_, i) => k.add(at.get(), i * depthParts));
            const weights = places.map((p) => loadB(p, read));
            for (const [i, p] of places.entries()) term(p, elementAt(weights, i));
            at.set(k.add(at.get(), partsInFlight * depthParts));
          },
        );
        k.while(
          () => isBelow(k, at.get(), depth),
          () => {
            term(at.get(), loadB(at.get(), read));
            at.set(k.add(at.get(), depthParts));
          },
        );
      });
      const own = k.sharedAt("f32", partials, thread);
      for (const [i, sum] of sums.entries()) {
        k.sync();
        k.st("f32", own, sum.get());
        for (let stride = threads / 2; stride >= blockColumns; stride /= 2) {
          k.sync();
          k.if(k.compare("lt", thread, stride), () => k.st("f32", own, k.add(k.ld("f32", own), k.ld("f32", own, stride))));
        }
        const isStored = k.and(k.and(k.compare("lt", thread, blockColumns), isBelow(k, column, n)), isBelow(k, i, m));
        k.if(isStored, () => store(i, column, k.ld("f32", own)));
      }
    });
  });
}

const tile = 64;
const tileDepth = 16;
const side = 16;
const perThread = tile / side;

/** One block per 64 x 64 tile of the output: 16 x 16 threads with 4 x 4 sums each, operands staged in shared memory. */
export function tiledProduct(call: KernelCall, given: Product): Launch {
  const [rows, columns] = bucketShape(call, call.output.shape).slice(-2) as [number, number];
  const [rowTiles, columnTiles] = [Math.max(1, Math.ceil(rows / tile)), Math.max(1, Math.ceil(columns / tile))];
  const blocks = rowTiles * columnTiles * batchElements(call);
  const options = { threads: side * side, blocks, args: argsOf(call, given) };
  return launch(call, `matmulTiled_${nameOf(call, given)}`, options, (scope) => {
    const { k } = scope;
    const thread = k.thread();
    const [batch, rowTile, columnTile] = unflatten(k, k.block(), [1, rowTiles, columnTiles]);
    const firstRow = times(k, rowTile, tile);
    const firstColumn = times(k, columnTile, tile);
    // Rows of shared memory are one word longer than the tile: stores along the depth hit different banks.
    const pitch = tile + 1;
    const [aTile, bTile] = [k.sharedMemory("f32", tileDepth * pitch), k.sharedMemory("f32", tileDepth * pitch)];
    const x = k.and(thread, side - 1);
    const y = k.shiftRight(thread, 4);
    inBatch(scope, call, given, batch, ({ m, n, depth, loadA, loadB, store }) => {
      const sums = Array.from({ length: perThread * perThread }, () => k.variable("f32", 0));
      k.forUniform(0, depth, tileDepth, (start) => {
        for (let i = 0; i < perThread; i++) {
          const e = k.add(thread, i * side * side);
          // Neighbouring threads read neighbouring addresses, transposed or not.
          const alongDepth = { p: k.and(e, tileDepth - 1), other: k.shiftRight(e, 4) };
          const across = { p: k.shiftRight(e, 6), other: k.and(e, tile - 1) };
          const forA = given.transposeA ? across : alongDepth;
          const forB = given.transposeB ? alongDepth : across;
          const row = plus(k, firstRow, forA.other);
          const column = plus(k, firstColumn, forB.other);
          const a = guarded(scope, [row, m], [k.add(forA.p, start), depth], loadA);
          const b = guarded(scope, [k.add(forB.p, start), depth], [column, n], loadB);
          k.st("f32", k.sharedAt("f32", aTile, k.mad(forA.p, pitch, forA.other)), a);
          k.st("f32", k.sharedAt("f32", bTile, k.mad(forB.p, pitch, forB.other)), b);
        }
        k.sync();
        const [aFrom, bFrom] = [k.sharedAt("f32", aTile, y), k.sharedAt("f32", bTile, x)];
        for (let p = 0; p < tileDepth; p++) {
          const as = Array.from({ length: perThread }, (_, i) => k.ld("f32", aFrom, p * pitch + i * side));
          const bs = Array.from({ length: perThread }, (_, i) => k.ld("f32", bFrom, p * pitch + i * side));
          for (const [i, sum] of sums.entries()) sum.accumulate(elementAt(as, Math.floor(i / perThread)), elementAt(bs, i % perThread));
        }
        k.sync();
      });
      sums.forEach((sum, i) => {
        const row = plus(k, plus(k, firstRow, y), Math.floor(i / perThread) * side);
        const column = plus(k, plus(k, firstColumn, x), (i % perThread) * side);
        k.if(k.and(isBelow(k, row, m), isBelow(k, column, n)), () => store(row, column, sum.get()));
      });
    });
  });
}

/** Element `[i, j]` of a matrix, 0 outside of its extents. */
function guarded(
  { k }: Scope,
  [i, rows]: readonly [Extent, Extent],
  [j, columns]: readonly [Extent, Extent],
  load: (i: Extent, j: Extent) => F32,
): F32 {
  const value = k.variable("f32", 0);
  k.if(k.and(isBelow(k, i, rows), isBelow(k, j, columns)), () => value.set(load(i, j)));
  return value.get();
}

/** Runs `body` with the matrices of a batch element, in blocks whose batch element the run has. */
export function inBatch(scope: Scope, call: KernelCall, given: Product, batch: Extent, body: (matrices: Matrices) => void): void {
  const { k } = scope;
  const { aShape, transposeA, transposeB, epilogue } = given;
  const b = elementAt(call.inputs, 1);
  const batchShape = call.output.shape.slice(0, -2);
  const [m, n] = scope.extents(tupleOf(call.output.shape.slice(-2), 2));
  const depth = scope.extent(elementAt(aShape, aShape.length - (transposeA ? 2 : 1)));
  const [aStrides, bStrides] = [transposeA ? [1, m] : [depth, 1], transposeB ? [1, depth] : [n, 1]];
  k.ifUniform(isBelow(k, batch, product(k, scope.extents(batchShape))), () => {
    const batches = broadcastIndices(scope, batchShape, [aShape.slice(0, -2), b.shape.slice(0, -2)], batch);
    const [aBatch, bBatch] = tupleOf(batches, 2);
    const aStart = times(k, times(k, aBatch, m), depth);
    const bStart = times(k, times(k, bBatch, n), depth);
    const yStart = times(k, times(k, batch, m), n);
    const aIndex = (row: Extent, p: Extent): Extent => plus(k, offset(k, [row, p], aStrides), aStart);
    const bIndex = (p: Extent, column: Extent): Extent => plus(k, offset(k, [p, column], bStrides), bStart);
    const finish = (index: U32, value: F32): F32 => epilogue?.apply(scope, index, [value]) ?? value;
    body({
      m,
      n,
      depth,
      loadA: (row, p) => k.load("a", aIndex(row, p)),
      loadB: (p, column) => k.load("b", bIndex(p, column)),
      loadVectorA: (row, p) => k.loadVector("a", aIndex(row, p)),
      loadVectorB: (p, column) => k.loadVector("b", bIndex(p, column)),
      store(row, column, value) {
        const index = plus(k, timesPlus(k, row, n, column), yStart);
        k.store("y", index, finish(asValue(k, index), value));
      },
      storeVector(row, column, values) {
        const first = asValue(k, plus(k, timesPlus(k, row, n, column), yStart));
        let i = 0;
        k.neighbours([first], ([index = first]) => k.store("y", index, finish(index, elementAt(values, i++))));
      },
    });
  });
}

export function argsOf(call: KernelCall, { a, b = input(1), y = output, epilogue, earlier }: Product): NamedArguments {
  return { a, b, y, ...epilogueArgs(call, epilogue), ...earlier };
}

export function batchElements(call: KernelCall): number {
  return Math.max(1, bucketElements(call, call.output.shape.slice(0, -2)));
}

export function nameOf(call: KernelCall, { transposeA, transposeB, epilogue }: Product): string {
  const form = `${elementAt(call.inputs, 1).dtype}_${transposeA ? "t" : "n"}${transposeB ? "t" : "n"}`;
  return epilogue === undefined ? form : `${form}_fused`;
}
