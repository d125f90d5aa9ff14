import { elementAt } from "@centella/core/backend";
import type { Bool, F32, U32 } from "@centella/gpu-kernels";
import type { Shared } from "../../ptx/types.ts";
import type { MatrixDescriptor } from "../../ptx/warpgroup.ts";
import { lanes, warpgroupLanes, warpgroupRows, warpgroupWarps } from "../shared/gpu.ts";
import { halfScale } from "../shared/halfScale.ts";
import type { Scope } from "../shared/kernel.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, type TokenQuery, tokenQuery } from "./problem.ts";
import { noPosition, type QueryBlock, rowPlace } from "./queryBlock.ts";
import type { QueryTiles } from "./queryTiles.ts";
import { stagePositions, type WarpgroupShape } from "./warpgroupShape.ts";

/** Tiles of queries in shared memory: one that is multiplied, and the next one. */
const depth = 2;

/** Bytes of a row of swizzled pieces. */
const rowBytes = 128;

/** Lanes that read a row's queries, and elements that each reads at a time. */
const rowLanes = 8;
const vector = 4;

/** Rows whose queries a warp reads together while others multiply: the registers of its lanes hold no more. */
const rowsInFlight = 8;

/** Words that describe the positions of a tile: see {@link TileRange} and {@link SeenByAll}. */
const rangeWords = 4;
const seenByAllWords = 2;

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

/** The positions that every row of a tile sees: from `low` to before `high`. */
interface SeenByAll {
  readonly low: U32;
  readonly high: U32;
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
  /** Per stage and token of its tile. */
  readonly #lows: Shared<"u32">;
  readonly #seen: Shared<"u32">;
  /** Per stage and row. */
  readonly #inverses: Shared<"f32">;
  /** Per stage. */
  readonly #ranges: Shared<"u32">;
  readonly #seenByAll: Shared<"u32">;
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
    const tokens = this.#rounds * lanes;
    [this.#lows, this.#seen] = [k.sharedMemory("u32", depth * tokens), k.sharedMemory("u32", depth * tokens)];
    this.#inverses = k.sharedMemory("f32", depth * shape.rows);
    this.#ranges = k.sharedMemory("u32", depth * rangeWords);
    this.#seenByAll = k.sharedMemory("u32", depth * seenByAllWords);
    [this.#described, this.#full, this.#free] = [k.sharedMemory("u64", depth), k.sharedMemory("u64", depth), k.sharedMemory("u64", depth)];
  }

  /** Number of tokens that each lane of a warp looks at, for all tokens of a tile. */
  get #rounds(): number {
    return Math.ceil(Math.floor(this.#shape.rows / this.#sizes.blockHeads) / lanes);
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
   * what the tokens see. For the lanes of a warp.
   */
  write(writer: U32, writers: number): void {
    const { k } = this.#scope;
    const isFirst = k.compare("eq", writer, 0);
    k.for(1, this.#tiles.count, 1, (turn) => {
      const waitFree = (): void =>
        k.if(k.compare("ge", turn, depth), () => k.waitBarrier(this.#barrier(this.#free, turn), parityOf(k, k.sub(turn, depth))));
      k.if(isFirst, () => this.#describe(turn, waitFree), waitFree);
      const block = this.#tiles.at(turn);
      k.for(writer, this.#shape.rows / rowsInFlight, writers, (group) => {
        this.#writeQueries(block, turn, k.mul(group, rowsInFlight), rowsInFlight);
      });
      k.fenceAsyncProxy();
      k.syncWarp();
      this.#ifFirstLane(() => k.arriveBarrier(this.#barrier(this.#full, turn)));
    });
  }

  /** Writes what the tokens of the first tile see. For the lanes of a warp. */
  describeFirst(): void {
    this.#describe(this.#scope.k.constant("u32", 0));
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
    for (let i = 0; i < this.#shape.consumers; i++) k.if(k.compare("eq", warpgroup, i), () => k.syncSome(1 + i, warpgroupLanes));
  }

  /** Waits until a tile's range is known. */
  range(turn: U32): TileRange {
    const { k } = this.#scope;
    k.waitBarrier(this.#barrier(this.#described, turn), parityOf(k, turn));
    const words = k.ldVector("u32", k.sharedAt("u32", this.#ranges, k.mul(k.and(turn, 1), rangeWords)));
    const [first, count, high, length] = words.map((word) => k.ofFirstLane(word)) as [U32, U32, U32, U32];
    return { first, count, high, length };
  }

  /** The positions that all rows of a tile see, once its range is known. */
  seenByAll(turn: U32): SeenByAll {
    const { k } = this.#scope;
    const words = k.ldVector("u32", k.sharedAt("u32", this.#seenByAll, k.mul(k.and(turn, 1), seenByAllWords)), 0, seenByAllWords);
    const [low, high] = words.map((word) => k.ofFirstLane(word)) as [U32, U32];
    return { low, high };
  }

  /** Waits for the queries of a tile after the first one. */
  waitQueries(turn: U32): void {
    const { k } = this.#scope;
    k.waitBarrier(this.#barrier(this.#full, turn), parityOf(k, k.sub(turn, 1)));
  }

  /** What row `row` of a tile sees, which belongs to the tile's token `token`, and what products with its query are multiplied by. */
  row(turn: U32, row: U32, token: U32): { readonly low: U32; readonly seen: U32; readonly inverse: F32 } {
    const { k } = this.#scope;
    const stage = k.and(turn, 1);
    const ofToken = k.mad(stage, this.#rounds * lanes, token);
    return {
      low: k.ld("u32", k.sharedAt("u32", this.#lows, ofToken)),
      seen: k.ld("u32", k.sharedAt("u32", this.#seen, ofToken)),
      inverse: k.ld("f32", k.sharedAt("f32", this.#inverses, k.mad(stage, this.#shape.rows, row))),
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

  /** Writes what the tokens of a tile see. The lanes of the warp look at them, then they `wait` until they may write. */
  #describe(turn: U32, wait: () => void = () => undefined): void {
    const { k } = this.#scope;
    const { tokens } = this.#tiles.at(turn);
    const stage = k.and(turn, 1);
    const lane = k.and(k.thread(), lanes - 1);
    const queries = Array.from({ length: this.#rounds }, (_, round) => {
      const place = k.add(lane, round * lanes);
      const token = k.min(k.add(tokens.first, place), k.sub(tokens.end, 1));
      return { place, ...tokenQuery(this.#scope, this.#call, this.#params, token) };
    });
    wait();
    for (const { place, low, high } of queries) {
      const at = k.mad(stage, this.#rounds * lanes, place);
      k.st("u32", k.sharedAt("u32", this.#lows, at), low);
      k.st("u32", k.sharedAt("u32", this.#seen, at), k.sub(k.max(high, low), low));
    }
    const all = (which: "min" | "max", of: (query: TokenQuery) => U32): U32 => {
      const own = queries.map(of).reduce((a, b) => (which === "min" ? k.min(a, b) : k.max(a, b)));
      return k.reduceLanes(which, own);
    };
    const sees = ({ low, high }: TokenQuery): Bool => k.compare("lt", low, high);
    const end = all("max", (query) => k.select(sees(query), query.high, 0));
    const start = all("min", (query) => k.select(sees(query), query.low, noPosition));
    const first = k.and(k.min(start, end), -stagePositions >>> 0);
    const count = k.max(k.quotient(k.add(k.sub(end, first), stagePositions - 1), stagePositions), 1);
    const range = [first, count, end, all("max", ({ length }) => length)];
    const seenByAll = [all("max", ({ low }) => low), all("min", ({ high }) => high)];
    this.#ifFirstLane(() => {
      k.stVector("u32", k.sharedAt("u32", this.#ranges, k.mul(stage, rangeWords)), range);
      k.stVector("u32", k.sharedAt("u32", this.#seenByAll, k.mul(stage, seenByAllWords)), seenByAll);
    });
    k.syncWarp();
    this.#ifFirstLane(() => k.arriveBarrier(this.#barrier(this.#described, turn)));
  }

  /**
   * Writes the queries of `count` rows, a multiple of eight, from `first` on: rounded to f16 after they are multiplied by powers of two. A warp takes four
   * rows at a time, whose pieces of equal columns are in different banks.
   */
  #writeQueries(block: QueryBlock, turn: U32, first: U32, count: number): void {
    const { k } = this.#scope;
    const { heads, keyWidth } = this.#sizes;
    const lane = k.and(k.thread(), lanes - 1);
    const element = k.mul(k.and(lane, rowLanes - 1), vector);
    const quarter = k.quotient(lane, rowLanes);
    const own = k.add(first, k.mad(k.and(quarter, 1), 4, k.and(quarter, 2)));
    const loaded = Array.from({ length: count / 4 }, (_, i) => {
      const row = k.add(own, 8 * (i >> 1) + (i & 1));
      const { token, head } = rowPlace(this.#scope, this.#sizes, block, row);
      const from = k.at("f32", k.pointer("q", "f32"), k.mad(k.mad(token, heads, head), keyWidth, element));
      return {
        row,
        vectors: Array.from({ length: keyWidth / (rowLanes * vector) }, (_, j) => k.ldVector("f32", from, j * rowLanes * vector)),
      };
    });
    for (const { row, vectors } of loaded) this.#writeRow(k.and(turn, 1), row, element, vectors);
  }

  /** Writes a lane's part of a row: vectors of four elements, the first one from `element` on, the next ones 32 elements further each. */
  #writeRow(stage: U32, row: U32, element: U32, vectors: readonly (readonly F32[])[]): void {
    const { k } = this.#scope;
    const { keyWidth } = this.#sizes;
    const { rows } = this.#shape;
    const own = vectors
      .flat()
      .map((value) => k.abs(value))
      .reduce((a, b) => k.max(a, b));
    // Magnitudes are ordered as their bits are.
    let largest = k.bitcast("u32", own);
    for (let mask = 1; mask < rowLanes; mask *= 2) largest = k.max(largest, k.shuffleXor(largest, mask));
    const { factor, inverse } = halfScale(k, k.bitcast("f32", largest));
    const start = k.mul(k.mad(stage, rows, k.and(row, -warpgroupRows >>> 0)), 2 * keyWidth);
    const place = k.add(start, this.#placeInTile(k.and(row, warpgroupRows - 1), element));
    // 32 elements further is the other half of the row's 128 bytes.
    const halves = [place, k.xor(place, rowBytes / 2)].map((each) => k.sharedAtBytes<"u32">(this.#queries, each));
    for (const [j, values] of vectors.entries()) {
      const [a, b, c, d] = values.map((value) => k.mul(value, factor)) as [F32, F32, F32, F32];
      const words = [k.roundPair("f16", a, b), k.roundPair("f16", c, d)];
      k.stVector("u32", elementAt(halves, j & 1), words, ((j >> 1) * warpgroupRows * rowBytes) / 4);
    }
    k.if(k.compare("eq", element, 0), () => k.st("f32", k.sharedAt("f32", this.#inverses, k.mad(stage, rows, row)), inverse));
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
