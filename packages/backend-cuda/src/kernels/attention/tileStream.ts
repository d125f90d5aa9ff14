import { elementAt } from "@centella/core/backend";
import type { Bool, U32 } from "@centella/gpu-kernels";
import type { RightFragment, SumFragment } from "../../ptx/matrix.ts";
import type { Var } from "../../ptx/writer.ts";
import type { Lane } from "../products/unitDecoder.ts";
import { lanes } from "../shared/gpu.ts";
import type { Scope } from "../shared/kernel.ts";
import { type CacheRows, type Piece, productWords, valueFragments } from "./pieces.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, attentionInputs, tileRows } from "./problem.ts";
import type { QueryTile } from "./queryTile.ts";
import { blockOf, slotInBlock, slotOf, storedSlot } from "./slots.ts";

/** Tiles of a warp that are brought to the L2 cache before they are read. */
const prefetchedTiles = 4;

/** Elements of a key and a value up to which a warp reads its next tile ahead. A lane has no registers for more. */
const maxAhead = 256;

/** The slots of a tile of 16 positions. */
interface TileSlot {
  /** Slots of the keys that the lane reads. */
  readonly keys: readonly U32[];
  /** Slots of the values that the lane reads. Their positions are those of its scores. */
  readonly values: readonly U32[];
  isStored(column: number): Bool;
}

/**
 * Looks up slots before they are used. Positions past the last one have the last one's slot. What was read of the block table is kept unchanged,
 * because a thread that computes with a loaded value waits for it.
 */
export class TileSlots {
  readonly #scope: Scope;
  readonly #blockSize: number;
  readonly #tableRow: U32;
  readonly #last: U32;
  readonly #slots: U32 | number;
  readonly #offsets: { readonly keys: readonly U32[]; readonly values: readonly U32[] };
  /** The block of the tile's first position where the others follow it; otherwise of each position that the lane reads. */
  readonly #blocks: readonly Var<"u32">[];

  constructor(
    scope: Scope,
    call: AttentionCall,
    { blockSize }: AttentionParams,
    { tableRow, lane, last }: { readonly tableRow: U32; readonly lane: Lane; readonly last: U32 },
  ) {
    const { k } = scope;
    this.#scope = scope;
    this.#blockSize = blockSize;
    this.#tableRow = tableRow;
    this.#last = last;
    this.#slots = scope.extent(elementAt(attentionInputs(call).cache.shape, 0));
    const column = k.mul(lane.part, 2);
    const half = tileRows / 2;
    this.#offsets = {
      keys: [lane.row, k.add(lane.row, half)],
      values: [column, k.add(column, 1), k.add(column, half), k.add(column, half + 1)],
    };
    const isTiled = blockSize % tileRows === 0 && typeof this.#slots === "number" && this.#slots % blockSize === 0;
    this.#blocks = Array.from({ length: isTiled ? 1 : 6 }, () => k.variable("u32", 0));
  }

  /** The slot of a position, or of the last one if it is past that; one that may be read if it is not in the cache. */
  slotOf(position: U32): U32 {
    const found = slotOf(this.#scope, this.#blockSize, this.#tableRow, this.#scope.k.min(position, this.#last));
    return storedSlot(this.#scope, found, this.#slots).slot;
  }

  /** Looks the slots of the tile at `first` up. */
  lookUp(first: U32): void {
    for (const [i, position] of this.#positions(first).entries())
      elementAt(this.#blocks, i).set(blockOf(this.#scope, this.#blockSize, this.#tableRow, position));
  }

  /** Positions of the tile at `first` that are looked up. */
  #positions(first: U32): readonly U32[] {
    const { k } = this.#scope;
    const { keys, values } = this.#offsets;
    const positions = this.#blocks.length === 1 ? [first] : [...keys, ...values].map((offset) => k.add(first, offset));
    return positions.map((position) => k.min(position, this.#last));
  }

  /** The slots of the tile at `first`, which was the last one to be looked up. */
  get(first: U32): TileSlot {
    const { k } = this.#scope;
    const found = this.#positions(first).map((position, i) => {
      const slot = slotInBlock(this.#scope, this.#blockSize, elementAt(this.#blocks, i).get(), position);
      return storedSlot(this.#scope, slot, this.#slots);
    });
    if (found.length > 1) {
      const slots = found.map(({ slot }) => slot);
      return { keys: slots.slice(0, 2), values: slots.slice(2), isStored: (column) => elementAt(found, 2 + column).isStored };
    }
    const { slot, isStored } = elementAt(found, 0);
    const most = k.sub(this.#last, first);
    const at = (offset: U32): U32 => k.add(slot, k.min(offset, most));
    return { keys: this.#offsets.keys.map(at), values: this.#offsets.values.map(at), isStored: () => isStored };
  }
}

/** What a warp reads from the cache. */
interface Source {
  readonly slots: TileSlots;
  readonly rows: CacheRows;
  readonly pieces: { readonly keys: readonly Piece[]; readonly values: readonly Piece[] };
  readonly sizes: AttentionSizes;
  readonly lane: Lane;
  /** Whether a warp reads the second eight keys of a tile after the first eight: lanes have no registers for all. */
  readonly isTight: boolean;
}

/** Per row and piece, words that were read. */
type Words = readonly (readonly (readonly U32[])[])[];

/** Tiles of a warp: those at every `step`-th position from `first` to before `end`. */
interface TileRange {
  readonly first: U32;
  readonly end: U32;
  readonly step: number;
}

/** What a lane has read ahead. */
interface Ahead {
  readonly keys: WordVariables;
  readonly values: WordVariables;
  /** Per column of the lane, 1 if its position is in the cache. */
  readonly stored: readonly Var<"u32">[];
}

/** The keys and values of a warp's tiles, each read while the one before it is used. */
export class TileStream {
  readonly #scope: Scope;
  readonly #source: Source;
  readonly #range: TileRange;
  readonly #ahead: Ahead | undefined;

  constructor(scope: Scope, source: Source, range: TileRange) {
    const { k } = scope;
    const { pieces, rows, sizes } = source;
    this.#scope = scope;
    this.#source = source;
    this.#range = range;
    if (sizes.keyWidth + sizes.valueWidth > maxAhead || !rows.areHalves) return;
    const stored = Array.from({ length: 4 }, () => k.variable("u32", 0));
    const ahead = { keys: wordVariables(k, 2, pieces.keys), values: wordVariables(k, 4, pieces.values), stored };
    this.#ahead = ahead;
  }

  /** Looks the first tile up, and starts to bring the first ones to the L2 cache if it `prefetches`. All look-ups are under way together. */
  lookUp(prefetches: boolean): void {
    const { k } = this.#scope;
    const { slots, rows } = this.#source;
    const { first, end } = this.#range;
    k.if(k.compare("lt", first, end), () => {
      const prefetched = prefetches && rows.areHalves ? this.#firstRows() : [];
      if (this.#ahead !== undefined) slots.lookUp(first);
      for (const { position, slot } of prefetched) k.if(k.compare("lt", position, end), () => rows.prefetch(slot));
    });
  }

  /** Rows of the first tiles that the lane brings to the L2 cache: a position of each, and its slot. */
  #firstRows(): readonly { readonly position: U32; readonly slot: U32 }[] {
    const { k } = this.#scope;
    const { slots, lane } = this.#source;
    const { first, step } = this.#range;
    const [tile, row] = [k.shiftRight(lane.lane, 4), k.and(lane.lane, tileRows - 1)];
    return Array.from({ length: (prefetchedTiles * tileRows) / lanes }, (_, i) => {
      const position = k.add(k.mad(k.add(tile, (i * lanes) / tileRows), step, first), row);
      return { position, slot: slots.slotOf(position) };
    });
  }

  /** Starts to read the first tile. */
  start(): void {
    const { k } = this.#scope;
    const { slots } = this.#source;
    const { first, end, step } = this.#range;
    const ahead = this.#ahead;
    if (ahead === undefined) return;
    k.if(k.compare("lt", first, end), () => {
      const slot = slots.get(first);
      ahead.keys.set(this.#keys(slot));
      this.#readValues(slot, ahead);
      slots.lookUp(k.add(first, step));
    });
  }

  /** Adds the tiles to a tile of queries. */
  addTo(tile: QueryTile): void {
    if (this.#ahead === undefined) this.#addEach(tile);
    else this.#addAhead(tile, this.#ahead);
  }

  #addAhead(tile: QueryTile, ahead: Ahead): void {
    const { k } = this.#scope;
    const { slots, pieces } = this.#source;
    const { first, end, step } = this.#range;
    const now = k.variable("u32", first);
    k.while(
      () => k.compare("lt", now.get(), end),
      () => {
        const [position, next] = [now.get(), k.add(now.get(), step)];
        const products = this.#products(tile, (row, piece) => elementAt(elementAt(ahead.keys.get(), row), piece));
        const hasNext = k.compare("lt", next, end);
        k.if(hasNext, () => ahead.keys.set(this.#keys(slots.get(next))));
        const isStored = ahead.stored.map((each) => k.compare("ne", each.get(), 0));
        tile.weigh(products, { first: position, isStored: (column) => elementAt(isStored, column) });
        const loaded = ahead.values.get();
        for (const piece of pieces.values.keys()) {
          const rows = loaded.map((row) => elementAt(row, piece));
          this.#addValues(tile, piece, rows);
        }
        k.if(hasNext, () => {
          this.#readValues(slots.get(next), ahead);
          slots.lookUp(k.add(next, step));
        });
        now.set(next);
      },
    );
  }

  #readValues(slot: TileSlot, ahead: Ahead): void {
    const { k } = this.#scope;
    ahead.values.set(this.#values(slot));
    for (const [column, each] of ahead.stored.entries()) each.set(k.select(slot.isStored(column), k.constant("u32", 1), 0));
  }

  #addEach(tile: QueryTile): void {
    const { k } = this.#scope;
    const { first, end, step } = this.#range;
    const { slots, rows, pieces, lane, isTight } = this.#source;
    k.for(first, end, step, (position) => {
      slots.lookUp(position);
      const slot = slots.get(position);
      const products = this.#products(tile, (row, piece) => {
        if (isTight && row === 1 && piece === 0) k.syncWarp();
        const [words] = rows.keys(elementAt(slot.keys, row), [elementAt(pieces.keys, piece)], lane.part);
        return words as readonly U32[];
      });
      tile.weigh(products, { first: position, isStored: slot.isStored });
      for (const [i, piece] of pieces.values.entries())
        this.#addValues(
          tile,
          i,
          slot.values.flatMap((each) => rows.values(each, [piece], lane.row)),
        );
    });
  }

  #keys({ keys }: TileSlot): Words {
    const { rows, pieces, lane } = this.#source;
    return keys.map((slot) => rows.keys(slot, pieces.keys, lane.part));
  }

  #values({ values }: TileSlot): Words {
    const { rows, pieces, lane } = this.#source;
    return values.map((slot) => rows.values(slot, pieces.values, lane.row));
  }

  #products(tile: QueryTile, words: (row: number, piece: number) => readonly U32[]): readonly SumFragment[] {
    const { k } = this.#scope;
    const zero = k.constant("f32", 0);
    return [0, 1].map((row) => {
      let sum: SumFragment = [zero, zero, zero, zero];
      let step = 0;
      for (const piece of this.#source.pieces.keys.keys())
        for (const part of productWords(words(row, piece))) sum = tile.multiplyKeys(step++, part, sum);
      return sum;
    });
  }

  #addValues(tile: QueryTile, piece: number, rows: readonly (readonly U32[])[]): void {
    const fragments: readonly RightFragment[] = valueFragments(this.#scope.k, rows, elementAt(this.#source.pieces.values, piece).count);
    tile.addValues(0, piece, fragments);
  }
}

/** Variables for the words of some rows. */
interface WordVariables {
  get(): Words;
  set(words: Words): void;
}

function wordVariables(k: Scope["k"], rows: number, pieces: readonly Piece[]): WordVariables {
  const all = Array.from({ length: rows }, () => pieces.map(({ count }) => Array.from({ length: count / 2 }, () => k.variable("u32", 0))));
  return {
    get: () => all.map((row) => row.map((piece) => piece.map((word) => word.get()))),
    set(words) {
      for (const [i, row] of all.entries())
        for (const [j, piece] of row.entries())
          for (const [n, word] of piece.entries()) word.set(elementAt(elementAt(elementAt(words, i), j), n));
    },
  };
}
