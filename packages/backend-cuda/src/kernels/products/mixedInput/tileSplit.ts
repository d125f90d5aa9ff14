import type { U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { MixedSizes } from "./sizes.ts";

/** Items of a block. */
export interface Range {
  readonly first: U32;
  readonly end: U32;
}

/** A part of a tile: copies of units that one block multiplies. */
export interface TilePart {
  /** Number of the tile: those of the same columns follow each other. */
  readonly tile: U32;
  /** Tile of columns, and tile of rows of activations. */
  readonly column: U32;
  readonly rowTile: U32;
  /** First copy of the depth, and number of them. */
  readonly unit: U32;
  readonly count: U32;
}

/**
 * How tiles are shared out. An item is the depth of one copy in a tile; items of all tiles are numbered consecutively, and each block has a range of
 * them, whole granules. A tile belongs to one block or to several neighbouring ones.
 */
export class TileSplit {
  readonly #k: PtxEmitter;
  readonly #sizes: MixedSizes;
  readonly #rowTiles: U32;
  /** Granules of each block; the first {@link #more} blocks have one more. */
  readonly #each: U32;
  readonly #more: U32;

  constructor(k: PtxEmitter, sizes: MixedSizes, rowTiles: U32) {
    const { columns, copies, blocks, granule } = sizes;
    this.#k = k;
    this.#sizes = sizes;
    this.#rowTiles = rowTiles;
    const granules = k.mul(rowTiles, ((columns.end - columns.first) * copies) / granule);
    this.#each = k.quotient(granules, blocks);
    this.#more = k.remainder(granules, blocks);
  }

  rangeOf(block: U32): Range {
    const k = this.#k;
    const { granule } = this.#sizes;
    const first = k.mad(block, this.#each, k.min(block, this.#more));
    const own = k.add(this.#each, k.select(k.compare("lt", block, this.#more), k.constant("u32", 1), 0));
    return { first: k.mul(first, granule), end: k.mul(k.add(first, own), granule) };
  }

  /** The part of a tile from an item on, up to `end`. */
  at(item: U32, end: U32): TilePart {
    const k = this.#k;
    const { copies, isOneTile } = this.#sizes;
    const tile = k.quotient(item, copies);
    const unit = k.sub(item, k.mul(tile, copies));
    const count = k.min(k.sub(k.constant("u32", copies), unit), k.sub(end, item));
    if (isOneTile) return { tile, column: tile, rowTile: k.constant("u32", 0), unit, count };
    return { tile, column: k.quotient(tile, this.#rowTiles), rowTile: k.remainder(tile, this.#rowTiles), unit, count };
  }

  /** The first and the last block that have a part of a tile. */
  blocksOf(tile: U32): { readonly first: U32; readonly last: U32 } {
    const k = this.#k;
    const { copies } = this.#sizes;
    const first = k.mul(tile, copies);
    return { first: this.#blockOf(first), last: this.#blockOf(k.add(first, copies - 1)) };
  }

  #blockOf(item: U32): U32 {
    const k = this.#k;
    const number = k.quotient(item, this.#sizes.granule);
    const large = k.add(this.#each, 1);
    const inLarge = k.mul(this.#more, large);
    const after = k.sub(k.max(number, inLarge), inLarge);
    const isLarge = k.compare("lt", number, inLarge);
    return k.select(isLarge, k.quotient(number, large), k.add(this.#more, k.quotient(after, k.max(this.#each, 1))));
  }
}
