import { elementAt } from "@centella/core/backend";
import type { Bool, U32 } from "@centella/gpu-kernels";
import type { SumFragment } from "../../ptx/matrix.ts";
import { type Lane, laneOf } from "../products/unitDecoder.ts";
import { lanes } from "../shared/gpu.ts";
import { type Launch, launch, type Scope } from "../shared/kernel.ts";
import { KeyStages, stagedBytes } from "./keyStages.ts";
import { keyPieces, productWords, valueFragments, valuePieces } from "./pieces.ts";
import {
  type AttentionCall,
  type AttentionParams,
  type AttentionSizes,
  attentionArgs,
  attentionInputs,
  restBytes,
  tileRows,
} from "./problem.ts";
import { blockGrid, extreme, forQueryBlock, noPosition, outputShare, type QueryBlock, queryRow, type TileRow } from "./queryBlock.ts";
import { hasWholeTexts, QueryTile } from "./queryTile.ts";

/** The sizes of a block, by the width of a head. */
interface BlockShape {
  readonly warps: number;
  /** Tiles of queries of a warp, which use each key and value that it reads. */
  readonly warpTiles: number;
  /** Positions whose keys and values the warps share at a time. */
  readonly positions: number;
  /** Whether lanes have no registers for all loads of these positions at once. */
  readonly isTight: boolean;
}

function blockShapeOf(call: AttentionCall, { window, softcap, alibi }: AttentionParams, sizes: AttentionSizes): BlockShape {
  const { cache } = attentionInputs(call);
  const width = sizes.keyWidth + sizes.valueWidth;
  const isTight = cache.dtype === "q8_0" && (window !== 0 || alibi !== 0);
  if (width <= 128 && softcap === 0 && alibi === 0) return { warps: 4, warpTiles: 2, positions: 64, isTight };
  const hasRoom = width <= 256 && stagedBytes(sizes, 64) + restBytes <= call.gpu.sharedBytes;
  return { warps: 8, warpTiles: 1, positions: hasRoom ? 64 : 32, isTight };
}

/**
 * For many tokens of a sequence. A block takes some tokens that follow each other and belong to one sequence, and the heads that read the same
 * head of the cache. Its warps share tiles of keys and values, which copies bring to shared memory ahead of their use.
 */
export function manyQueries(call: AttentionCall, params: AttentionParams, sizes: AttentionSizes): Launch {
  const shape = blockShapeOf(call, params, sizes);
  const grid = blockGrid(call, sizes, shape.warps * shape.warpTiles * tileRows);
  const form = [sizes, shape, grid];
  const isWhole = hasWholeTexts(call);
  const options = { threads: shape.warps * lanes, blocks: grid.blocks, args: attentionArgs(call), form, isWhole };
  return launch(call, `attentionMany_${attentionInputs(call).cache.dtype}`, options, (scope) => {
    forQueryBlock(scope, call, sizes, grid, (block) => new ManyQueries(scope, call, { params, sizes, shape }, block).run());
  });
}

/** Positions that rows see: some row those from `low` to before `high`, every row those from `allLow` to before `allHigh`. */
interface SeenRange {
  readonly low: U32;
  readonly high: U32;
  readonly allLow: U32;
  readonly allHigh: U32;
}

class ManyQueries {
  readonly #scope: Scope;
  readonly #call: AttentionCall;
  readonly #form: { readonly params: AttentionParams; readonly sizes: AttentionSizes; readonly shape: BlockShape };
  readonly #block: QueryBlock;
  readonly #lane: Lane;
  readonly #warp: U32;

  constructor(
    scope: Scope,
    call: AttentionCall,
    form: { readonly params: AttentionParams; readonly sizes: AttentionSizes; readonly shape: BlockShape },
    block: QueryBlock,
  ) {
    const { k } = scope;
    this.#scope = scope;
    this.#call = call;
    this.#form = form;
    this.#block = block;
    this.#lane = laneOf(k, k.thread(), []);
    this.#warp = k.shiftRight(k.thread(), 5);
  }

  run(): void {
    const { k } = this.#scope;
    const { params, sizes, shape } = this.#form;
    const pieces = { keys: keyPieces(sizes.keyWidth, true), values: valuePieces(sizes.valueWidth) };
    const rows = Array.from({ length: shape.warpTiles }, (_, tile) => [0, 1].map((half) => this.#rowOf(tile, half)));
    const rangeThreads = shape.isTight && shape.warpTiles > 1 ? shape.warps * lanes : 0;
    const form = { params, sizes, rangeThreads };
    const tiles = rows.map((each) => new QueryTile(this.#scope, form, { lane: this.#lane, rows: each }, pieces));
    const seen = this.#seenByWarp(rows.flat());
    const { low, high } = this.#seenByBlock(seen);
    const { kvHead, valueFirst, tableRow } = this.#block;
    const from = { tableRow, kvHead, valueFirst, high };
    const stages = new KeyStages(this.#scope, this.#call, { params, sizes, ...shape }, from);
    stages.forEach(k.and(low, -shape.positions >>> 0), (stage, first) => {
      const isSeen = k.both(k.compare("lt", first, seen.high), k.compare("gt", k.add(first, shape.positions), seen.low));
      k.if(isSeen, () => {
        const isWithin = k.both(k.compare("ge", first, seen.allLow), k.compare("le", k.add(first, shape.positions), seen.allHigh));
        const isWhole = k.both(isWithin, k.not(stages.lacksAny(stage, this.#lane.lane)));
        this.#attend(tiles, pieces, stages, { stage, first, isWhole });
      });
    });
    for (const [i, tile] of tiles.entries()) this.#store(tile, elementAt(rows, i));
  }

  #rowOf(tile: number, half: number): TileRow {
    const { k } = this.#scope;
    const { params, sizes, shape } = this.#form;
    const row = k.add(k.mad(this.#warp, shape.warpTiles * tileRows, this.#lane.row), tile * tileRows + (half * tileRows) / 2);
    return queryRow(this.#scope, this.#call, { params, sizes }, this.#block, row);
  }

  #seenByWarp(rows: readonly TileRow[]): SeenRange {
    const { k } = this.#scope;
    const range = (which: "min" | "max", of: (row: TileRow) => U32): U32 => {
      const own = rows.map(of).reduce((a, b) => (which === "min" ? k.min(a, b) : k.max(a, b)));
      return extreme(k, which, own, 4);
    };
    const none = k.constant("u32", noPosition);
    const seesAny = ({ low, high, exists }: TileRow): Bool => k.both(exists, k.compare("lt", low, high));
    return {
      low: range("min", (row) => k.select(seesAny(row), row.low, none)),
      high: range("max", (row) => k.select(seesAny(row), row.high, 0)),
      allLow: range("max", (row) => k.select(row.exists, row.low, 0)),
      allHigh: range("min", (row) => k.select(row.exists, row.high, none)),
    };
  }

  #seenByBlock({ low, high }: SeenRange): { readonly low: U32; readonly high: U32 } {
    const { k } = this.#scope;
    const { warps } = this.#form.shape;
    const [lows, highs] = [k.sharedMemory("u32", warps), k.sharedMemory("u32", warps)];
    k.if(k.compare("eq", this.#lane.lane, 0), () => {
      k.st("u32", k.sharedAt("u32", lows, this.#warp), low);
      k.st("u32", k.sharedAt("u32", highs, this.#warp), high);
    });
    k.sync();
    const all = (from: typeof lows): readonly U32[] => Array.from({ length: warps }, (_, i) => k.ld("u32", from, i));
    return { low: all(lows).reduce((a, b) => k.min(a, b)), high: all(highs).reduce((a, b) => k.max(a, b)) };
  }

  /** Adds a stage's keys and values to the warp's tiles. */
  #attend(
    tiles: readonly QueryTile[],
    pieces: { readonly keys: ReturnType<typeof keyPieces>; readonly values: ReturnType<typeof valuePieces> },
    stages: KeyStages,
    { stage, first, isWhole }: { readonly stage: U32; readonly first: U32; readonly isWhole: Bool },
  ): void {
    const { k } = this.#scope;
    const { sizes, shape } = this.#form;
    const { row, part } = this.#lane;
    const zero = k.constant("f32", 0);
    const products = tiles.map((): SumFragment[] => []);
    for (let block = 0; block < shape.positions / 8; block++) {
      const sums = tiles.map((): SumFragment => [zero, zero, zero, zero]);
      const words = stages.read(stage, k.add(row, 8 * block), 0, pieces.keys, part);
      for (const [step, key] of words.flatMap(productWords).entries())
        for (const [i, tile] of tiles.entries()) sums[i] = tile.multiplyKeys(step, key, elementAt(sums, i));
      for (const [i, sum] of sums.entries()) elementAt(products, i).push(sum);
    }
    const isStored = (column: number): Bool => stages.isStored(stage, k.add(k.mul(part, 2), 8 * (column >> 1) + (column & 1)));
    for (const [i, tile] of tiles.entries()) tile.weigh(elementAt(products, i), { first, isWhole, isStored });
    const column = k.mul(part, 2);
    for (let step = 0; step < shape.positions / tileRows; step++) {
      const values = [0, 1, 8, 9].map((offset) => {
        return stages.read(stage, k.add(column, tileRows * step + offset), sizes.keyWidth, pieces.values, row);
      });
      for (const [i, piece] of pieces.values.entries()) {
        const fragments = valueFragments(
          k,
          values.map((each) => elementAt(each, i)),
          piece.count,
        );
        for (const tile of tiles) tile.addValues(step, i, fragments);
      }
    }
  }

  /** Stores the rows of a tile: zeros if no position was seen. */
  #store(tile: QueryTile, rows: readonly TileRow[]): void {
    const { k } = this.#scope;
    const { heads, valueWidth, valueBlocks } = this.#form.sizes;
    const { valueFirst } = this.#block;
    for (const [r, { token, head, exists }] of rows.entries()) {
      const share = outputShare(this.#scope, attentionInputs(this.#call).sinks !== undefined, head, tile.finish(r));
      k.if(exists, () => {
        const row = k.mul(k.mad(token, heads, head), valueWidth * valueBlocks);
        const to = valueFirst === undefined ? row : k.add(row, valueFirst);
        for (const { first, values } of tile.outputs(r)) {
          const at = k.at("f32", k.pointer("y", "f32"), k.add(to, first));
          const width = Math.min(4, values.length);
          const scaled = values.map((value) => k.mul(value, share));
          for (let i = 0; i < values.length; i += width) k.stVector("f32", at, scaled.slice(i, i + width), i);
        }
      });
    }
  }
}
