import type { DType } from "@centella/core";
import { elementAt, layoutOf } from "@centella/core/backend";
import type { Bool, Emitter, SharedArray, U32 } from "../emitter.ts";
import { asValue, type Extent, offset, plus, stridesOf, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuCall, type GpuScope, type GpuStep, input, mostElements, output } from "../kernel.ts";
import { countOf } from "./moving.ts";
import type { Permutation } from "./permutation.ts";

/** Places of a tile along the last axis of the input, and along that of the output. */
const tileColumns = 32;
const tileRows = 64;
/** Elements from a row of a tile to the next one in shared memory. It is odd: a column's elements are in different banks. */
const stride = tileColumns + 1;

/** Lanes of a group. */
const lanes = 256;

/** Fewest places along both axes for which tiles are worth it. */
const fewest = 16;

/** Whether a transpose moves the last axis to another place, and both last axes have fixed, large extents and rows of whole words. */
export function isTiled(dtype: DType, { axes, order }: Permutation): boolean {
  const [row, column] = [axes[order.at(-1) ?? 0], axes.at(-1)];
  if (row === undefined || column === undefined || row === column) return false;
  const sizes = [row, column].map((axis) => (axis.every((dim) => typeof dim === "number") ? mostElements(axis) : 0));
  return sizes.every((size) => size >= fewest) && elementAt(sizes, 0) % perWordOf(dtype) === 0;
}

/** Elements of a word. */
function perWordOf(dtype: DType): number {
  return 4 / layoutOf(dtype).bytes;
}

/** A matrix that is transposed. Rows of the input are along its last axis, rows of the output along that of the output. */
interface Matrix {
  readonly rows: number;
  readonly columns: number;
  /** Axes besides these, in the order of the output. */
  readonly outer: readonly number[];
}

/** A tile of a matrix. */
interface Tile {
  /** Index in the input of the tile's first element, and elements from one row to the next one. */
  readonly from: U32;
  readonly fromStride: Extent;
  /** The same for the output. */
  readonly to: U32;
  readonly toStride: Extent;
}

/**
 * A group copies a tile of the last axes of input and output through shared memory: neighbouring lanes read neighbouring elements of the input,
 * and write neighbouring words of the output.
 */
export function tiledTranspose(call: GpuCall, permutation: Permutation): GpuStep {
  const { axes } = permutation;
  const { dtype } = call.output;
  const matrix = matrixOf(permutation);
  const isWhole = matrix.rows % tileRows === 0 && matrix.columns % tileColumns === 0;
  return {
    kind: "groups",
    name: `${dtype}_tiles${isWhole ? "_whole" : ""}`,
    args: { x: input(call, 0), y: output(call) },
    shape: [...matrix.outer.flatMap((axis) => elementAt(axes, axis)), ...tilesOf(matrix)],
    lanes,
    body: (scope, group) => transposeTile(scope, { permutation, matrix, perWord: perWordOf(dtype), isWhole }, group),
  };
}

function matrixOf({ axes, order }: Permutation): Matrix {
  const [row, column] = [elementAt(order, order.length - 1), axes.length - 1];
  return {
    rows: mostElements(elementAt(axes, row)),
    columns: mostElements(elementAt(axes, column)),
    outer: order.slice(0, -1).filter((axis) => axis !== column),
  };
}

/** Number of tiles along rows and columns. */
function tilesOf({ rows, columns }: Matrix): readonly [number, number] {
  return [Math.ceil(rows / tileRows), Math.ceil(columns / tileColumns)];
}

/** The work of a step. */
interface Transpose {
  readonly permutation: Permutation;
  readonly matrix: Matrix;
  readonly perWord: number;
  /** Whether tiles are whole everywhere. */
  readonly isWhole: boolean;
}

function transposeTile(scope: GpuScope, { permutation, matrix, perWord, isWhole }: Transpose, group: U32): void {
  const { k } = scope;
  const { axes, order } = permutation;
  const extents = axes.map((axis) => countOf(scope, axis));
  const inputStrides = stridesOf(k, extents);
  const outputStrides = stridesOf(
    k,
    order.map((axis) => elementAt(extents, axis)),
  );
  const [rowAxis, columnAxis] = [elementAt(order, order.length - 1), axes.length - 1];
  const tiles = tilesOf(matrix).map((count) => scope.whole(count));
  const places = unflatten(k, group, [...matrix.outer.map((axis) => elementAt(extents, axis)), ...tiles]);
  const [row, column] = [
    times(k, elementAt(places, places.length - 2), tileRows),
    times(k, elementAt(places, places.length - 1), tileColumns),
  ];
  // The tile's first element along each axis.
  const first = axes.map((_, axis) =>
    axis === rowAxis ? row : axis === columnAxis ? column : elementAt(places, matrix.outer.indexOf(axis)),
  );
  const tile: Tile = {
    from: asValue(k, offset(k, first, inputStrides)),
    fromStride: elementAt(inputStrides, rowAxis),
    to: asValue(
      k,
      offset(
        k,
        order.map((axis) => elementAt(first, axis)),
        outputStrides,
      ),
    ),
    toStride: elementAt(outputStrides, order.indexOf(columnAxis)),
  };
  const elements = k.shared("u32", tileRows * stride);
  if (isWhole) {
    readTile(k, elements, tile);
    k.sync();
    writeTile(k, elements, tile, perWord);
    return;
  }
  const left = [k.sub(asValue(k, elementAt(extents, rowAxis)), row), k.sub(asValue(k, elementAt(extents, columnAxis)), column)] as const;
  const isInside = (r: U32, c: U32): Bool => k.both(k.compare("lt", r, left[0]), k.compare("lt", c, left[1]));
  const fits = k.both(k.compare("ge", left[0], tileRows), k.compare("ge", left[1], tileColumns));
  k.ifUniform(
    fits,
    () => readTile(k, elements, tile),
    () => readTile(k, elements, tile, isInside),
  );
  k.sync();
  k.ifUniform(
    fits,
    () => writeTile(k, elements, tile, perWord),
    () => writeTile(k, elements, tile, perWord, isInside),
  );
}

type Elements = SharedArray<"u32">;
type Inside = (row: U32, column: U32) => Bool;

/** Reads a tile, or its elements inside the matrix. All loads of a whole tile are in flight at once. */
function readTile(k: Emitter, elements: Elements, { from, fromStride }: Tile, isInside?: Inside): void {
  const lane = k.lane();
  const column = k.and(lane, tileColumns - 1);
  const reads = laneTurns(tileRows * tileColumns).map((first) => {
    const row = k.add(k.shiftRight(lane, Math.log2(tileColumns)), first / tileColumns);
    const read = (): U32 => k.loadBits("x", asValue(k, plus(k, timesPlus(k, row, fromStride, column), from)));
    const place = k.add(k.mul(row, stride), column);
    if (isInside !== undefined) {
      k.if(isInside(row, column), () => elements.set(place, read()));
      return undefined;
    }
    return { place, bits: read() };
  });
  for (const read of reads) if (read !== undefined) elements.set(read.place, read.bits);
}

/** Writes the words of a tile's columns, or those inside the matrix, whose rows are whole words. */
function writeTile(k: Emitter, elements: Elements, { to, toStride }: Tile, perWord: number, isInside?: Inside): void {
  const lane = k.lane();
  const words = tileRows / perWord;
  const row = k.mul(k.and(lane, words - 1), perWord);
  for (const first of laneTurns(words * tileColumns)) {
    const column = k.add(k.shiftRight(lane, Math.log2(words)), first / words);
    const write = (): void => {
      const parts = Array.from({ length: perWord }, (_, i) => {
        const bits = elements.get(k.add(k.mul(k.add(row, i), stride), column));
        return i === 0 ? bits : k.shiftLeft(bits, (i * 32) / perWord);
      });
      const index = asValue(k, plus(k, timesPlus(k, column, toStride, row), to));
      k.store(
        "y",
        perWord === 1 ? index : k.shiftRight(index, Math.log2(perWord)),
        parts.reduce((a, b) => k.or(a, b)),
      );
    };
    if (isInside === undefined) write();
    else k.if(isInside(row, column), write);
  }
}

/** The first of the places that lanes take in each turn. */
function laneTurns(count: number): readonly number[] {
  return Array.from({ length: count / lanes }, (_, turn) => turn * lanes);
}
