import { elementAt, tupleOf } from "@centella/core/backend";
import { type Extent, type F32, isBelow, plus, times, type U32, unflatten } from "@centella/gpu-kernels";
import type { Shared } from "../../ptx/types.ts";
import { lanes } from "./gpu.ts";
import { bucketShape, isFixed, type KernelCall, type Launch, launch, type Scope } from "./kernel.ts";
import { argsOf, batchElements, inBatch, type Matrices, nameOf, type Product } from "./product.ts";

/** Rows and columns of a block's tile of the output. */
const tile = 128;
/** Places of the depth of a stage. */
const tileDepth = 16;
const threads = 256;
/** Elements of an access. */
const wide = 4;

/** Sums of a thread: four times four, in two rows and two columns of such groups. */
const groups = 2;
/** Rows and columns of a warp's part of the tile, 32 x 64. Lanes are four by eight. */
const warpRows = 32;
const warpColumns = 64;
const laneRows = 4;
const laneColumns = 8;

/** Rows of a stage are longer than the tile by one access: stores along the depth hit different banks. */
const pitch: number = tile + wide;
const stageElements: number = tileDepth * pitch;

/** Pieces of four elements of an operand's stage that a thread copies. */
const piecesPerThread: number = (tile * tileDepth) / wide / threads;

/**
 * One block per 128 x 128 tile of the output, in f32: a thread has 8 x 8 sums. The next stage of both operands is loaded while one is multiplied.
 * Undefined where operands have no pieces of four elements, or if the tiles would leave multiprocessors idle.
 */
export function largeTileProduct(call: KernelCall, given: Product): Launch | undefined {
  const { aShape, transposeA, transposeB } = given;
  const [m, n] = tupleOf(call.output.shape.slice(-2), 2);
  const depth = elementAt(aShape, aShape.length - (transposeA ? 2 : 1));
  // Every access is within a row of its matrix.
  const along = [n, transposeA ? m : depth, transposeB ? depth : n];
  if (!isFixed(depth, ...along) || along.some((extent) => Number(extent) % wide !== 0)) return undefined;
  const [rows, columns] = bucketShape(call, [m, n]) as [number, number];
  const [rowTiles, columnTiles] = [Math.ceil(rows / tile), Math.ceil(columns / tile)];
  const blocks = rowTiles * columnTiles * batchElements(call);
  if (blocks < call.gpu.multiprocessors) return undefined;
  const options = { threads, blocks, args: argsOf(call, given) };
  return launch(call, `matmulLargeTiles_${nameOf(call, given)}`, options, (scope) => {
    const { k } = scope;
    // Two blocks hide each other's waits. Decoded weights take more registers than that leaves.
    k.blocksPerMultiprocessor = elementAt(call.inputs, 1).dtype === "f32" ? 2 : 1;
    const [batch, columnTile, rowTile] = unflatten(k, k.block(), [1, columnTiles, rowTiles]);
    const first = { row: times(k, rowTile, tile), column: times(k, columnTile, tile) };
    inBatch(scope, call, given, batch, (matrices) => multiplyTile(scope, given, matrices, first));
  });
}

/** First row and column of a block's tile. */
interface TileStart {
  readonly row: Extent;
  readonly column: Extent;
}

function multiplyTile(scope: Scope, given: Product, matrices: Matrices, first: TileStart): void {
  const { k } = scope;
  const { depth } = matrices;
  const operands = [
    new StagedOperand(scope, { isAcross: given.transposeA, from: first.row, count: matrices.m, load: matrices.loadVectorA, depth }),
    new StagedOperand(scope, {
      isAcross: !given.transposeB,
      from: first.column,
      count: matrices.n,
      load: (column, p) => matrices.loadVectorB(p, column),
      depth,
    }),
  ] as const;
  const lane = k.and(k.thread(), lanes - 1);
  const warp = k.shiftRight(k.thread(), 5);
  const row = k.mad(k.and(warp, 3), warpRows, k.mul(k.shiftRight(lane, 3), wide));
  const column = k.mad(k.shiftRight(warp, 2), warpColumns, k.mul(k.and(lane, laneColumns - 1), wide));
  const sums = Array.from({ length: (groups * wide) ** 2 }, () => k.variable("f32", 0));
  const stage = k.variable("u32", 0);
  for (const operand of operands) operand.store(operand.load(k.constant("u32", 0)), stage.get());
  k.sync();
  k.forUniform(0, depth, tileDepth, (start) => {
    const next = k.add(start, tileDepth);
    // Past the last stage, loads repeat the last places: their values are not used.
    const loaded = operands.map((operand) => operand.load(next));
    const own = operands.map((operand, i) => operand.at(stage.get(), i === 0 ? row : column));
    for (let p = 0; p < tileDepth; p++) {
      const [left, right] = own.map((from, i) => fragment(scope, from, p, i === 0 ? laneRows * wide : laneColumns * wide)) as [
        readonly F32[],
        readonly F32[],
      ];
      for (const [i, sum] of sums.entries()) sum.accumulate(elementAt(left, Math.floor(i / 8)), elementAt(right, i % 8));
    }
    stage.set(k.xor(stage.get(), 1));
    operands.forEach((operand, i) => void operand.store(elementAt(loaded, i), stage.get()));
    k.sync();
  });
  const isWhole = typeof matrices.n === "number" && matrices.n % tile === 0;
  for (let i = 0; i < groups * wide; i++) {
    const line = plus(k, first.row, k.add(row, laneRows * wide * (i >> 2) + (i & 3)));
    for (let group = 0; group < groups; group++) {
      const from = plus(k, first.column, k.add(column, laneColumns * wide * group));
      const values = Array.from({ length: wide }, (_, j) => elementAt(sums, 8 * i + wide * group + j).get());
      const isRow = isBelow(k, line, matrices.m);
      k.if(isWhole ? isRow : k.and(isRow, isBelow(k, from, matrices.n)), () => matrices.storeVector(line, from, values));
    }
  }
}

/** A thread's eight elements of a stage at place `p` of the depth: two pieces, `apart` elements from each other. */
function fragment({ k }: Scope, from: Shared<"f32">, p: number, apart: number): readonly F32[] {
  return [0, apart].flatMap((offset) => k.ldVector("f32", from, p * pitch + offset));
}

interface OperandSource {
  /** Whether neighbouring elements are those of neighbouring rows (of the left matrix, columns of the right one), not along the depth. */
  readonly isAcross: boolean;
  /** First row of the block's tile. */
  readonly from: Extent;
  readonly count: Extent;
  readonly depth: Extent;
  load(row: Extent, p: Extent): readonly F32[];
}

/** Two stages of an operand in shared memory: for each place of the depth, the rows of the tile. */
class StagedOperand {
  readonly #k: Scope["k"];
  readonly #source: OperandSource;
  readonly #stages: Shared<"f32">;
  /** The thread's pieces of a stage. */
  readonly #pieces: readonly { readonly row: U32; readonly p: U32 }[];

  constructor({ k }: Scope, source: OperandSource) {
    this.#k = k;
    this.#source = source;
    this.#stages = k.sharedMemory("f32", 2 * stageElements);
    this.#pieces = Array.from({ length: piecesPerThread }, (_, i) => {
      const piece = k.add(k.thread(), i * threads);
      const perLine = (source.isAcross ? tile : tileDepth) / wide;
      const [line, within] = [k.shiftRight(piece, Math.log2(perLine)), k.mul(k.and(piece, perLine - 1), wide)];
      return source.isAcross ? { row: within, p: line } : { row: line, p: within };
    });
  }

  /**
   * Loads the thread's pieces of the stage from place `start` on. Rows past the last one repeat it. Places past the depth are 0 in the stage that has
   * the depth's end, and repeat the last ones in stages after it.
   */
  load(start: U32): readonly (readonly F32[])[] {
    const k = this.#k;
    const { isAcross, from, count, depth, load } = this.#source;
    const width = isAcross ? wide : 1;
    return this.#pieces.map(({ row, p }) => {
      const own = plus(k, from, row);
      const last = typeof count === "number" ? k.constant("u32", count - width) : k.sub(count, width);
      const line = k.min(last, own);
      const place = k.add(start, p);
      if (typeof depth === "number" && depth % tileDepth === 0) return load(line, k.min(place, depth - (isAcross ? 1 : wide)));
      const values = Array.from({ length: wide }, () => k.variable("f32", 0));
      k.if(isBelow(k, place, depth), () => load(line, place).forEach((value, i) => void elementAt(values, i).set(value)));
      return values.map((value) => value.get());
    });
  }

  store(pieces: readonly (readonly F32[])[], stage: U32): void {
    const k = this.#k;
    for (const [i, { row, p }] of this.#pieces.entries()) {
      const to = k.sharedAt("f32", this.#stages, k.mad(stage, stageElements, k.mad(p, pitch, row)));
      const values = elementAt(pieces, i);
      if (this.#source.isAcross) k.stVector("f32", to, values);
      else values.forEach((value, j) => void k.st("f32", to, value, j * pitch));
    }
  }

  /** Where the rows from `row` on start in a stage. */
  at(stage: U32, row: U32): Shared<"f32"> {
    return this.#k.sharedAt("f32", this.#stages, this.#k.mad(stage, stageElements, row));
  }
}
