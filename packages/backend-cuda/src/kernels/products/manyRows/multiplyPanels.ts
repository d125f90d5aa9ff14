import { elementAt } from "@centella/core/backend";
import { asValue, type Extent, type F32, isBelow, product as productOf, type U32 } from "@centella/gpu-kernels";
import type { HalfType } from "../../../ptx/matrix.ts";
import type { Shared } from "../../../ptx/types.ts";
import type { MatrixDescriptor, WarpgroupSums } from "../../../ptx/warpgroup.ts";
import { tilePowerBytes, unitRows } from "../../../weights/unitFormat.ts";
import {
  type Argument,
  epilogueArgs,
  fixed,
  type KernelCall,
  type Launch,
  launch,
  type Parameter,
  type Scope,
  waitForEarlier,
} from "../../shared/kernel.ts";
import { lanes } from "../../shared/product.ts";
import { type UnitResult, weightName } from "../segments.ts";
import { type Columns, inResultOfTile, panelRows, weightArgs } from "./columns.ts";
import { panelDepth, panelRowBytes, tileRows, tileWidth } from "./panels.ts";
import { type RingPlace, StageRing } from "./stageRing.ts";
import { tilePower } from "./tilePowers.ts";

/** Parts of 64 rows of a tile, which are multiplied one after the other. */
const parts = 2;

const warpgroup = 128;
/** Warpgroups that multiply, a tile each at a time. While one stores its results, the other one multiplies. */
const multipliers = 2;
/** With a warpgroup that starts copies. */
const threads = (1 + multipliers) * warpgroup;

/** Row tiles that share columns: blocks that run at the same time read the same panels. */
const rowsPerGroup = 8;

/** Registers of the threads that copy, and of those that multiply. */
const copyRegisters = 40;
const multiplyRegisters = 232;

/** Rows of a part of a tile that a warp has. */
const warpRows = 16;

/** Most columns of products whose epilogues' loads are under way together. */
const maxColumnsInFlight = 32;

export interface PanelOperands {
  readonly type: HalfType;
  readonly panels: number;
  readonly places: { readonly a: Parameter; readonly factors: Parameter; readonly b: Parameter };
}

/**
 * Multiplies activations in panels with columns' weights in panels. Each block takes every n-th tile of all results. One warpgroup fills a ring of
 * stages with bulk copies, 64 places of the depth each. The two others take the block's tiles in turn.
 */
export function multiplyPanels(call: KernelCall, columns: Columns, operands: PanelOperands, lead: UnitResult["result"]["shape"]): Launch {
  const { results } = columns;
  const { type, places } = operands;
  const args = Object.fromEntries<Argument>([
    ...Object.entries(places),
    ...results.flatMap(({ result }, i) => [[`y${i}`, result.y] as const, ...Object.entries(epilogueArgs(call, result.epilogue))]),
    ...(hasPowers(columns) ? weightArgs(results) : []),
  ]);
  // Texts do not depend on the most rows of a run: with few of them, blocks may have no tile.
  const blocks = call.gpu.multiprocessors;
  return launch(call, `matmulMany_${type}`, { threads, blocks, args, waitsInBody: true }, (scope) => {
    const { k } = scope;
    k.blocksPerMultiprocessor = 1;
    const kernel = new PanelKernel(scope, columns, operands, { blocks, rows: productOf(k, scope.extents(lead)) });
    waitForEarlier(scope, call);
    k.if(
      k.compare("lt", k.thread(), warpgroup),
      () => kernel.copy(),
      () => kernel.multiply(),
    );
  });
}

/** Columns of a result's products whose epilogues' loads are under way together: as many as registers hold without spills. */
function columnsInFlight({ result, products }: UnitResult): number {
  const loads = Object.keys(result.epilogue.args).length;
  const isWhole = fixed(result.shape.at(-1)) % (tileWidth / products.length) === 0;
  const most = loads > 2 ? 8 : loads > 1 || !isWhole ? 16 : maxColumnsInFlight;
  return Math.max(most, 8 * products.length);
}

/** Whether weights were multiplied by powers of two. */
function hasPowers({ results }: Columns): boolean {
  return tilePowerBytes(elementAt(elementAt(results, 0).products, 0).units.format) > 0;
}

/** Place of a tile: its first row, and the number of its tile of columns among those of all results. */
interface TilePlace {
  readonly row: U32;
  readonly tile: U32;
}

class PanelKernel {
  readonly #scope: Scope;
  readonly #columns: Columns;
  readonly #operands: PanelOperands;
  readonly #blocks: number;
  readonly #rows: Extent;
  readonly #rowTiles: U32;
  readonly #ring: StageRing;
  /** For each warpgroup that multiplies: complete when the other one has multiplied its tile. */
  readonly #turns: Shared<"u64">;

  constructor(
    scope: Scope,
    columns: Columns,
    operands: PanelOperands,
    { blocks, rows }: { readonly blocks: number; readonly rows: Extent },
  ) {
    const { k } = scope;
    this.#scope = scope;
    this.#columns = columns;
    this.#operands = operands;
    this.#blocks = blocks;
    this.#rows = rows;
    this.#rowTiles = k.shiftRight(k.add(asValue(k, rows), tileRows - 1), Math.log2(tileRows));
    this.#ring = new StageRing(k);
    this.#turns = k.sharedMemory("u64", multipliers);
    k.if(k.compare("eq", k.thread(), 0), () => {
      for (let turn = 0; turn < multipliers; turn++) k.initBarrier(k.sharedAt("u64", this.#turns, turn), 1);
      this.#ring.init();
      k.fenceBarriers();
    });
    k.sync();
  }

  /** Fills the ring. One thread starts the copies. */
  copy(): void {
    const { k } = this.#scope;
    const { panels } = this.#operands;
    const { products, perTile } = this.#columns;
    const rows = panelRows(this.#columns);
    const allRows = k.mul(this.#rowTiles, tileRows);
    k.setRegisters("decrease", copyRegisters);
    k.if(k.compare("eq", k.thread(), 0), () => {
      const place = this.#ring.place();
      this.#forEachTile(k.block(), this.#blocks, ({ row, tile }) => {
        const column = k.mul(k.sub(tile, this.#columns.first), perTile);
        k.for(0, panels, 1, (panel) => {
          this.#ring.fill(place, (stage, copy) => {
            copy(stage, k.atBytes(k.pointer("a", "u32"), k.mad(panel, allRows, row), panelRowBytes), tileRows * panelRowBytes);
            for (let j = 0; j < products; j++) {
              const from = k.mad(k.add(panel, j * panels), rows, column);
              const to = k.sharedAtBytes<"u32">(stage, (tileRows + j * perTile) * panelRowBytes);
              copy(to, k.atBytes(k.pointer("b", "u32"), from, panelRowBytes), perTile * panelRowBytes);
            }
          });
        });
      });
    });
  }

  /** Multiplies what the ring brings for every other tile of the block, and stores the results. */
  multiply(): void {
    const { k } = this.#scope;
    const { panels } = this.#operands;
    k.setRegisters("increase", multiplyRegisters);
    const sums = Array.from({ length: parts }, () => k.warpgroupSums(tileWidth));
    const place = this.#ring.place();
    const turn = k.sub(k.shiftRight(k.thread(), 7), 1);
    k.if(k.compare("eq", turn, 1), () => this.#ring.skip(place, panels));
    const parity = k.variable("u32", k.xor(turn, 1));
    this.#forEachTile(k.mad(turn, this.#blocks, k.block()), multipliers * this.#blocks, ({ row, tile }) => {
      // A barrier of the ring is at most one phase ahead of a thread that waits for it.
      k.waitBarrier(k.sharedAt("u64", this.#turns, turn), parity.get());
      parity.set(k.xor(parity.get(), 1));
      const rows = sums.map((_, part) => this.#rowsOf(k.add(row, (tileRows / parts) * part)));
      this.#multiplyTile(sums, place, k.sharedAt("u64", this.#turns, k.xor(turn, 1)));
      // Those of the other warpgroup's tile.
      this.#ring.skip(place, panels);
      this.#finish(sums, rows, tile);
    });
  }

  /** Multiplies a tile, and arrives at `next` when all of its stages are full. */
  #multiplyTile(sums: readonly WarpgroupSums[], place: RingPlace, next: Shared<"u64">): void {
    const { k } = this.#scope;
    const { type, panels } = this.#operands;
    const previous = k.variable("u32", 0);
    const isFirst = k.compare("eq", k.and(k.thread(), warpgroup - 1), 0);
    k.for(0, panels, 1, (panel) => {
      const { stage, number } = this.#ring.wait(place);
      k.fenceProducts();
      for (let step = 0; step < panelDepth / 16; step++) {
        const adds = step === 0 ? k.compare("ne", panel, 0) : k.compare("ge", panel, 0);
        const rowsFrom = (row: number): MatrixDescriptor => k.matrixDescriptor(k.sharedAtBytes(stage, row * panelRowBytes + 32 * step));
        const right = rowsFrom(tileRows);
        for (const [part, each] of sums.entries()) k.multiplyWarpgroup(type, each, rowsFrom((tileRows / parts) * part), right, { adds });
      }
      k.commitProducts();
      // The products of this stage stay under way.
      k.waitProducts(1);
      k.if(k.and(isFirst, k.compare("ne", panel, 0)), () => this.#ring.release(previous.get()));
      previous.set(number);
    });
    k.if(isFirst, () => k.arriveBarrier(next));
    k.waitProducts(0);
    k.if(isFirst, () => this.#ring.release(previous.get()));
  }

  /** Runs `body` for every `step`-th tile from `start` on. Tiles of up to {@link rowsPerGroup} rows of tiles follow each other column by column. */
  #forEachTile(start: U32, step: number, body: (place: TilePlace) => void): void {
    const { k } = this.#scope;
    const { first, end } = this.#columns;
    const wide = end - first;
    const all = k.mul(this.#rowTiles, wide);
    k.for(start, all, step, (number) => {
      const group = k.quotient(number, wide * rowsPerGroup);
      const rest = k.sub(number, k.mul(group, wide * rowsPerGroup));
      const from = k.mul(group, rowsPerGroup);
      const high = k.min(k.sub(this.#rowTiles, from), rowsPerGroup);
      const column = k.quotient(rest, high);
      const row = k.add(from, k.sub(rest, k.mul(column, high)));
      body({ row: k.mul(row, tileRows), tile: k.add(column, first) });
    });
  }

  /** The lane's two rows of a part of a tile. Rows past the last one repeat it and are not stored: loads need no branches. */
  #rowsOf(first: U32): readonly ResultRow[] {
    const { k } = this.#scope;
    const lane = k.and(k.thread(), lanes - 1);
    const warp = k.and(k.shiftRight(k.thread(), 5), 3);
    const own = k.add(k.mad(warp, warpRows, k.shiftRight(lane, 2)), first);
    const last = k.sub(asValue(k, this.#rows), 1);
    return [0, 8].map((down) => {
      const line = k.add(own, down);
      const safe = k.min(line, last);
      return { line, safe, factor: k.ld("f32", k.at("f32", k.pointer("factors", "f32"), safe)) };
    });
  }

  /** Stores a tile's results. A lane has pairs of columns of two rows of each part. */
  #finish(sums: readonly WarpgroupSums[], rows: readonly (readonly ResultRow[])[], tile: U32): void {
    const { k } = this.#scope;
    const { perTile, products } = this.#columns;
    inResultOfTile(k, this.#columns, tile, (result, index, ownTile) => {
      const column = k.mad(ownTile, perTile, k.shiftLeft(k.and(k.thread(), 3), 1));
      const count = columnsInFlight(result) / products;
      for (const [part, each] of sums.entries())
        for (let from = 0; from < perTile; from += count)
          this.#storeColumns({ result, index }, each, { rows: elementAt(rows, part), column, ownTile, from, count });
    });
  }

  /** Stores a lane's columns of two rows. Columns past the last one repeat it. */
  #storeColumns(of: ResultOfTile, sums: WarpgroupSums, { rows, column: first, ownTile, from, count }: ColumnsToStore): void {
    const { k } = this.#scope;
    const { products, perTile } = this.#columns;
    const { result } = of.result;
    const inversesAt = this.#inverses(of, ownTile);
    const n = fixed(result.shape.at(-1));
    const isWhole = n % perTile === 0;
    const stores = rows.flatMap(({ line, safe, factor }, high) => {
      const start = k.mul(safe, n);
      return Array.from({ length: count / 4 }, (_, i) => {
        // A lane has two of each eight columns.
        const within = from + 8 * (i >> 1);
        const column = k.add(first, within + (i & 1));
        const at = k.add(start, isWhole ? column : k.min(column, n - 1));
        const inverses = inversesAt(within);
        const terms = Array.from({ length: products }, (_, j) => {
          const sum = sums.get((j * perTile + within) / 2 + 2 * high + (i & 1));
          const inverse = inverses[j];
          return k.mul(inverse === undefined ? sum : k.mul(sum, inverse), factor);
        });
        return { line, column, at, value: result.epilogue.apply(this.#scope, at, terms) };
      });
    });
    for (const { line, column, at, value } of stores) {
      const isRow = isBelow(k, line, this.#rows);
      k.if(isWhole ? isRow : k.and(isRow, isBelow(k, column, n)), () => k.store(`y${of.index}`, at, value));
    }
  }

  /** The inverses of the powers of two that the weights of a tile's columns were multiplied by, if they have scales: a number for each product. */
  #inverses({ result: { products }, index }: ResultOfTile, ownTile: U32): (within: number) => readonly F32[] {
    if (!hasPowers(this.#columns)) return () => [];
    const { k } = this.#scope;
    const { perTile } = this.#columns;
    const found = new Map<number, readonly F32[]>();
    return (within) => {
      const number = Math.floor(within / unitRows);
      const loaded =
        found.get(number) ??
        products.map(({ units }, j) => {
          const tile = k.min(k.mad(ownTile, perTile / unitRows, number), units.tiles - 1);
          return tilePower(k, weightName(index, j), units, tile).inverse();
        });
      found.set(number, loaded);
      return loaded;
    };
  }
}

/** The result that a tile belongs to. */
interface ResultOfTile {
  readonly result: UnitResult;
  readonly index: number;
}

/** Columns that a lane stores at a time. */
interface ColumnsToStore {
  readonly rows: readonly ResultRow[];
  /** The lane's first column of the tile. */
  readonly column: U32;
  /** Number of the tile among the result's. */
  readonly ownTile: U32;
  /** Columns of the tile before these, and the number of these: a multiple of 8. */
  readonly from: number;
  readonly count: number;
}

/** A row of a result that a lane stores a part of. */
interface ResultRow {
  readonly line: U32;
  /** The row, or the run's last one if the row is past it. */
  readonly safe: U32;
  readonly factor: F32;
}
