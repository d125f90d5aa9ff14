import { elementAt } from "@centella/core/backend";
import { asValue, type Extent, type F32, isBelow, neighbourCount, type U32 } from "@centella/gpu-kernels";
import { unitRows } from "../../../weights/unitFormat.ts";
import { lanes } from "../../shared/gpu.ts";
import { fixed, type Scope } from "../../shared/kernel.ts";
import { type UnitResult, weightName } from "../segments.ts";
import { type Columns, hasPowers, inResultOfTile } from "./columns.ts";
import { rowOfSlot } from "./expertSlots.ts";
import { tilePower } from "./tilePowers.ts";
import type { PanelOperands } from "./tiles.ts";

/** A lane's columns of each 16, in each of its two rows. */
const perGroup: number = neighbourCount;

/** Most numbers of a lane whose epilogues' loads are under way together. */
const maxInFlight = 32;

/** A row of results that a lane stores a part of. */
interface ResultRow {
  readonly line: U32;
  /** The row, or the run's last one if the row is past it. */
  readonly safe: U32;
  readonly factor: F32;
}

/** Four neighbouring columns of a row, or fewer where rows have no whole fours of columns. */
interface Piece {
  readonly row: ResultRow;
  /** Which of the lane's two rows. */
  readonly high: number;
  /** First of the 16 columns of the tile that the columns are of. */
  readonly within: number;
  readonly column: U32;
}

/** Finishes sums of tiles and stores them: rows by the columns of `columns`, whose weights are in the order of {@link columnPlace}. */
export class TileResults {
  readonly #scope: Scope;
  readonly #columns: Columns;
  readonly #rows: Extent;
  readonly #hasSlots: boolean;

  constructor(scope: Scope, columns: Columns, { slots }: PanelOperands, rows: Extent) {
    this.#scope = scope;
    this.#columns = columns;
    this.#rows = rows;
    this.#hasSlots = slots !== undefined;
  }

  /** The lane's two rows of the 16 of a warp, from row `first` on. Rows past the last one repeat it and are not stored: loads need no branches. */
  rowsFrom(first: U32): readonly ResultRow[] {
    const { k } = this.#scope;
    const own = k.add(first, k.shiftRight(k.and(k.thread(), lanes - 1), 2));
    const last = k.sub(asValue(k, this.#rows), 1);
    return [0, 8].map((down) => {
      const slot = k.add(own, down);
      const line = this.#hasSlots ? rowOfSlot(k, slot) : slot;
      const safe = k.min(line, last);
      return { line, safe, factor: k.ld("f32", k.at("f32", k.pointer("factors", "f32"), this.#hasSlots ? slot : safe)) };
    });
  }

  /** Stores the results of sums of tile `tile`, of which a lane has `rows`. */
  store(sums: TileSums, rows: readonly ResultRow[], tile: U32): void {
    const { k } = this.#scope;
    const { perTile } = this.#columns;
    const { columns, first } = sums;
    inResultOfTile(k, this.#columns, tile, (result, index, ownTile) => {
      const start = first === undefined ? k.mul(ownTile, perTile) : k.mad(ownTile, perTile, first);
      const inMatrix = this.#hasSlots ? k.remainder(start, fixed(result.result.shape.at(-1))) : start;
      const column = k.add(inMatrix, k.shiftLeft(k.and(k.thread(), 3), 2));
      const firstUnit = k.shiftRight(start, Math.log2(unitRows));
      const groups = Math.max(1, Math.floor(groupsInFlight(result) / rows.length));
      for (let from = 0; from < columns; from += groups * unitRows) {
        const count = Math.min(groups, (columns - from) / unitRows);
        const withins = Array.from({ length: count }, (_, i) => from + i * unitRows);
        const pieces = rows.flatMap((row, high) => withins.map((within) => ({ row, high, within, column: k.add(column, within) })));
        this.#storePieces({ result, index, firstUnit }, sums, pieces);
      }
    });
  }

  #storePieces(of: ResultOfTile, sums: TileSums, pieces: readonly Piece[]): void {
    const { k } = this.#scope;
    const { result } = of.result;
    const n = fixed(result.shape.at(-1));
    const width = n % perGroup === 0 ? perGroup : 1;
    const isWhole = n % this.#columns.perTile === 0;
    const termsOf = this.#terms(of, sums);
    const runs = pieces.flatMap((piece) =>
      Array.from({ length: perGroup / width }, (_, first) => {
        const column = first === 0 ? piece.column : k.add(piece.column, first);
        // Columns past the last one repeat the last ones, and are not stored.
        const at = k.mad(piece.row.safe, n, isWhole ? column : k.min(column, n - width));
        return { piece, column, first, at, values: [] as F32[] };
      }),
    );
    const apply = (indices: readonly U32[], i: number): void =>
      runs.forEach(({ piece, first, values }, j) => {
        values.push(result.epilogue.apply(this.#scope, elementAt(indices, j), termsOf(piece, first + i)));
      });
    const firsts = runs.map(({ at }) => at);
    if (width === 1) apply(firsts, 0);
    else {
      let i = 0;
      k.neighbours(firsts, (indices) => apply(indices, i++));
    }
    for (const { piece, column, at, values } of runs) {
      const isRow = isBelow(k, piece.row.line, this.#rows);
      const words = values.map((value) => k.bitcast("u32", value));
      k.if(isWhole ? isRow : k.and(isRow, isBelow(k, column, n)), () => k.storeWords(`y${of.index}`, at, words));
    }
  }

  /** The products of column `i` of a piece, without the powers of two of its operands. */
  #terms({ result: { products }, index, firstUnit }: ResultOfTile, sums: TileSums): (piece: Piece, i: number) => readonly F32[] {
    const { k } = this.#scope;
    const scaled = hasPowers(this.#columns);
    const inverses = new Map<string, F32>();
    const inverseOf = (product: number, within: number): F32 => {
      const { units } = elementAt(products, product);
      const tile = k.min(k.add(firstUnit, within / unitRows), units.tiles - 1);
      const found = inverses.get(`${product} ${within}`) ?? tilePower(k, weightName(index, product), units, tile).inverse();
      inverses.set(`${product} ${within}`, found);
      return found;
    };
    return ({ row, high, within }, i) =>
      products.map((_, j) => {
        const sum = sums.get((j * sums.columns + within) / 2 + 4 * (i >> 1) + 2 * high + (i & 1));
        return k.mul(scaled ? k.mul(sum, inverseOf(j, within)) : sum, row.factor);
      });
  }
}

/**
 * A lane's sums of rows g and g + 8 of 16: for each eight columns of each product, those of its two columns in row g, then in row g + 8. The products
 * follow each other.
 */
interface TileSums {
  /** Columns of each product. */
  readonly columns: number;
  /** First one in the tile, a multiple of 16. Default: the tile's first. */
  readonly first?: U32;
  get(index: number): F32;
}

/** The result that sums belong to, with the first row tile of their weights. */
interface ResultOfTile {
  readonly result: UnitResult;
  readonly index: number;
  readonly firstUnit: U32;
}

/** Groups of 16 columns of a row whose epilogues' loads are under way together: as many as registers hold without spills. */
function groupsInFlight({ result }: UnitResult): number {
  const loads = Object.keys(result.epilogue.args).length;
  return Math.floor(maxInFlight / perGroup / Math.max(1, loads));
}
