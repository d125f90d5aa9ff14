import { elementAt } from "@centella/core/backend";
import type { Bool, F32, U32 } from "@centella/gpu-kernels";
import type { Shared } from "../../ptx/types.ts";
import type { MatrixDescriptor } from "../../ptx/warpgroup.ts";
import { halfScale } from "../shared/halfScale.ts";
import type { Scope } from "../shared/kernel.ts";
import { lanes } from "../shared/product.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, tokenQuery } from "./problem.ts";
import { extreme, noPosition, type QueryBlock, rowPlace } from "./queryBlock.ts";
import type { QueryTiles } from "./queryTiles.ts";
import { stagePositions, type WarpgroupShape, warpgroupRows, warpgroupWarps } from "./warpgroupShape.ts";

/** Tiles of queries in shared memory: one that is multiplied, and the next one. */
const depth = 2;

/** Bytes of a row of swizzled pieces. */
const rowBytes = 128;

/** Rows whose queries a warp reads together beside products. */
const rowsInFlight = 8;

/** Words that describe a tile: see {@link TileRange}. */
const rangeWords = 4;

/** The positions that the rows of a tile see. */
export interface TileRange {
  /** Stages of positions from `first` on, one at least. */
  readonly first: U32;
  readonly count: U32;
  /** End of the positions that any row sees. */
  readonly high: U32;
  /** Number of positions that the sequence has. */
  readonly length: U32;
}

/** Tiles of queries in shared memory as warpgroup products read them: rows of 64 halves, swizzled. Some warps write them, the others read them. */
export class QueryStages {
  readonly #scope: Scope;
  readonly #call: AttentionCall;
  readonly #params: AttentionParams;
  readonly #sizes: AttentionSizes;
  readonly #shape: WarpgroupShape;
  readonly #tiles: QueryTiles;
  readonly #queries: Shared<"u32">;
  /** Per stage and row. */
  readonly #lows: Shared<"u32">;
  readonly #seen: Shared<"u32">;
  readonly #inverses: Shared<"f32">;
  readonly #ranges: Shared<"u32">;
  /** Per stage: described when its range and what its rows see are there, full when its queries are, free when all have read both. */
  readonly #described: Shared<"u64">;
  readonly #full: Shared<"u64">;
  readonly #free: Shared<"u64">;

  constructor(
    scope: Scope,
    call: AttentionCall,
    { params, sizes, shape }: { readonly params: AttentionParams; readonly sizes: AttentionSizes; readonly shape: WarpgroupShape },
    tiles: QueryTiles,
  ) {
    const { k } = scope;
    this.#scope = scope;
    this.#call = call;
    this.#params = params;
    this.#sizes = sizes;
    this.#shape = shape;
    this.#tiles = tiles;
    this.#queries = k.sharedMemory("u32", (depth * shape.rows * sizes.keyWidth) / 2, 1024);
    [this.#lows, this.#seen] = [k.sharedMemory("u32", depth * shape.rows), k.sharedMemory("u32", depth * shape.rows)];
    this.#inverses = k.sharedMemory("f32", depth * shape.rows);
    this.#ranges = k.sharedMemory("u32", depth * rangeWords);
    [this.#described, this.#full, this.#free] = [k.sharedMemory("u64", depth), k.sharedMemory("u64", depth), k.sharedMemory("u64", depth)];
  }

  /** For one thread. `writers`: warps that write queries beside the products. */
  initBarriers(writers: number): void {
    const { k } = this.#scope;
    for (let stage = 0; stage < depth; stage++) {
      k.initBarrier(k.sharedAt("u64", this.#described, stage), 1);
      k.initBarrier(k.sharedAt("u64", this.#full, stage), writers);
      k.initBarrier(k.sharedAt("u64", this.#free, stage), this.#shape.consumers * warpgroupWarps);
    }
  }

  /**
   * Writes the tiles from the second one on ahead of their use: the queries, which warp number `writer` shares with others, and in the first of them
   * what the rows see. For the lanes of a warp.
   */
  write(writer: U32, writers: number): void {
    const { k } = this.#scope;
    const isFirst = k.compare("eq", writer, 0);
    k.for(1, this.#tiles.count, 1, (turn) => {
      k.if(k.compare("ge", turn, depth), () => {
        k.waitBarrier(this.#barrier(this.#free, turn), parityOf(k, k.sub(turn, depth)));
      });
      k.if(isFirst, () => this.#describe(turn, 1));
      const block = this.#tiles.at(turn);
      k.for(writer, this.#shape.rows / rowsInFlight, writers, (group) => {
        this.#writeQueries(block, turn, k.mul(group, rowsInFlight), rowsInFlight);
      });
      k.fenceAsyncProxy();
      k.syncWarp();
      this.#ifFirstLane(() => k.arriveBarrier(this.#barrier(this.#full, turn)));
    });
  }

  /** Writes what the rows of the first tile see. For the lanes of a warp that has all registers. */
  describeFirst(): void {
    this.#describe(this.#scope.k.constant("u32", 0), this.#shape.rows / lanes);
  }

  /** Writes the queries of the first tile that a warpgroup multiplies itself. For all its threads. */
  writeFirst(warpgroup: U32): void {
    const { k } = this.#scope;
    const turn = k.constant("u32", 0);
    const block = this.#tiles.at(turn);
    const warp = k.shiftRight(k.thread(), 5);
    const perWarp = warpgroupRows / warpgroupWarps;
    this.#writeQueries(block, turn, k.mul(warp, perWarp), perWarp);
    k.fenceAsyncProxy();
    this.#syncWarpgroup(warpgroup);
  }

  /** Starts to bring the queries of the first tile to the L2 cache. For the threads that multiply. */
  prefetchFirst(): void {
    const { k } = this.#scope;
    const { heads, keyWidth } = this.#sizes;
    const block = this.#tiles.at(k.constant("u32", 0));
    k.if(k.compare("lt", k.thread(), this.#shape.rows), () => {
      const { token, head } = rowPlace(this.#scope, this.#sizes, block, k.thread());
      k.prefetchBulk(k.at("f32", k.pointer("q", "f32"), k.mul(k.mad(token, heads, head), keyWidth)), 4 * keyWidth);
    });
  }

  #syncWarpgroup(warpgroup: U32): void {
    const { k } = this.#scope;
    for (let i = 0; i < this.#shape.consumers; i++) k.if(k.compare("eq", warpgroup, i), () => k.syncSome(1 + i, warpgroupWarps * lanes));
  }

  /** Waits until a tile's range is known. */
  range(turn: U32): TileRange {
    const { k } = this.#scope;
    k.waitBarrier(this.#barrier(this.#described, turn), parityOf(k, turn));
    const words = k.ldVector("u32", k.sharedAt("u32", this.#ranges, k.mul(k.and(turn, 1), rangeWords)));
    const [first, count, high, length] = words.map((word) => k.ofFirstLane(word)) as [U32, U32, U32, U32];
    return { first, count, high, length };
  }

  /** Waits for the queries of a tile after the first one. */
  waitQueries(turn: U32): void {
    const { k } = this.#scope;
    k.waitBarrier(this.#barrier(this.#full, turn), parityOf(k, k.sub(turn, 1)));
  }

  /** What row `row` of a tile sees, and what products with its query are multiplied by. */
  row(turn: U32, row: U32): { readonly low: U32; readonly seen: U32; readonly inverse: F32 } {
    const { k } = this.#scope;
    const at = k.mad(k.and(turn, 1), this.#shape.rows, row);
    return {
      low: k.ld("u32", k.sharedAt("u32", this.#lows, at)),
      seen: k.ld("u32", k.sharedAt("u32", this.#seen, at)),
      inverse: k.ld("f32", k.sharedAt("f32", this.#inverses, at)),
    };
  }

  /** Elements from `16 * step` on of the queries of a warpgroup's rows, as a left matrix. */
  matrix(turn: U32, warpgroup: U32, step: number): MatrixDescriptor {
    const { k } = this.#scope;
    const bytes = 2 * warpgroupRows * this.#sizes.keyWidth;
    const stage = k.mad(k.and(turn, 1), this.#shape.consumers, warpgroup);
    const offset = (step >> 2) * warpgroupRows * rowBytes + (step & 3) * 32;
    return k.matrixDescriptor(k.sharedAtBytes(this.#queries, k.mul(stage, bytes)), { offset });
  }

  /** Frees a tile. All lanes of each warp that multiplies must come here. */
  release(turn: U32): void {
    const { k } = this.#scope;
    k.syncWarp();
    this.#ifFirstLane(() => k.arriveBarrier(this.#barrier(this.#free, turn)));
  }

  /** Writes what the rows of a tile see. The lanes of the warp look at `together` rows each at a time. */
  #describe(turn: U32, together: number): void {
    const { k } = this.#scope;
    const { rows } = this.#shape;
    const block = this.#tiles.at(turn);
    const stage = k.and(turn, 1);
    const [low, high, length] = [k.variable("u32", noPosition), k.variable("u32", 0), k.variable("u32", 0)];
    k.for(k.and(k.thread(), lanes - 1), rows, lanes * together, (start) => {
      const queries = Array.from({ length: together }, (_, i) => {
        const row = k.add(start, i * lanes);
        return { row, ...tokenQuery(this.#scope, this.#call, this.#params, rowPlace(this.#scope, this.#sizes, block, row).token) };
      });
      for (const query of queries) {
        const at = k.mad(stage, rows, query.row);
        const isSeeing = k.compare("lt", query.low, query.high);
        k.st("u32", k.sharedAt("u32", this.#lows, at), query.low);
        k.st("u32", k.sharedAt("u32", this.#seen, at), k.sub(k.max(query.high, query.low), query.low));
        low.set(k.min(low.get(), k.select(isSeeing, query.low, noPosition)));
        high.set(k.max(high.get(), k.select(isSeeing, query.high, 0)));
        length.set(k.max(length.get(), query.length));
      }
    });
    const end = extreme(k, "max", high.get(), 1);
    const first = k.and(k.min(extreme(k, "min", low.get(), 1), end), -stagePositions >>> 0);
    const count = k.max(k.quotient(k.add(k.sub(end, first), stagePositions - 1), stagePositions), 1);
    const range = [first, count, end, extreme(k, "max", length.get(), 1)];
    this.#ifFirstLane(() => k.stVector("u32", k.sharedAt("u32", this.#ranges, k.mul(stage, rangeWords)), range));
    k.syncWarp();
    this.#ifFirstLane(() => k.arriveBarrier(this.#barrier(this.#described, turn)));
  }

  /** Writes the queries of `count` rows from `first` on, rounded to f16 after they are multiplied by powers of two. */
  #writeQueries(block: QueryBlock, turn: U32, first: U32, count: number): void {
    const { k } = this.#scope;
    const { heads, keyWidth } = this.#sizes;
    const { rows } = this.#shape;
    const perLane = keyWidth / lanes;
    const lane = k.and(k.thread(), lanes - 1);
    const element = k.mul(lane, perLane);
    const loaded = Array.from({ length: count }, (_, i) => {
      const row = k.add(first, i);
      const { token, head } = rowPlace(this.#scope, this.#sizes, block, row);
      const from = k.at("f32", k.pointer("q", "f32"), k.mad(k.mad(token, heads, head), keyWidth, element));
      return { row, values: k.ldVector("f32", from, 0, perLane as 2 | 4) };
    });
    for (const { row, values } of loaded) {
      const own = values.map((value) => k.abs(value)).reduce((a, b) => k.max(a, b));
      // Magnitudes are ordered as their bits are.
      const largest = k.bitcast("f32", extreme(k, "max", k.bitcast("u32", own), 1));
      const { factor, inverse } = halfScale(k, largest);
      const scaled = values.map((value) => k.mul(value, factor));
      const words = Array.from({ length: perLane / 2 }, (_, i) =>
        k.roundPair("f16", elementAt(scaled, 2 * i), elementAt(scaled, 2 * i + 1)),
      );
      const stage = k.and(turn, 1);
      const start = k.mad(stage, rows, k.and(row, -warpgroupRows >>> 0));
      const place = k.mad(start, 2 * keyWidth, this.#placeInTile(k.and(row, warpgroupRows - 1), element));
      const to = k.sharedAtBytes<"u32">(this.#queries, place);
      if (words.length === 1) k.st("u32", to, elementAt(words, 0));
      else k.stVector("u32", to, words);
      this.#ifFirstLane(() => k.st("f32", k.sharedAt("f32", this.#inverses, k.mad(stage, rows, row)), inverse));
    }
  }

  /** Bytes from the start of a warpgroup's queries to an element of a row. */
  #placeInTile(row: U32, element: U32): U32 {
    const { k } = this.#scope;
    const inRow = k.mul(k.and(element, 63), 2);
    const swizzled = k.swizzledByte(row, inRow);
    return k.mad(k.shiftRight(element, 6), warpgroupRows * rowBytes, k.mad(row, rowBytes, swizzled));
  }

  #barrier(barriers: Shared<"u64">, turn: U32): Shared<"u64"> {
    const { k } = this.#scope;
    return k.sharedAt("u64", barriers, k.and(turn, 1));
  }

  #ifFirstLane(body: () => void): void {
    const { k } = this.#scope;
    const isFirst: Bool = k.compare("eq", k.and(k.thread(), lanes - 1), 0);
    k.if(isFirst, body);
  }
}

/** Parity of the phase of a stage's barrier that belongs to a tile, if each tile in the stage takes a phase. */
function parityOf(k: Scope["k"], turn: U32): U32 {
  return k.and(k.shiftRight(turn, 1), 1);
}
