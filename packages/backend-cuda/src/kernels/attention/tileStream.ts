import { elementAt } from "@centella/core/backend";
import type { Bool, U32 } from "@centella/gpu-kernels";
import type { RightFragment, SumFragment } from "../../ptx/matrix.ts";
import type { Var } from "../../ptx/writer.ts";
import type { Lane } from "../products/unitDecoder.ts";
import type { Scope } from "../shared/kernel.ts";
import { type CacheRows, type Piece, productWords, valueFragments } from "./pieces.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, tileRows } from "./problem.ts";
import type { QueryTile } from "./queryTile.ts";
import { slotOf, storedSlot } from "./slots.ts";

/** Elements of a key and a value up to which a warp reads its next tile ahead. A lane has no registers for more. */
const maxAhead = 256;

/** The slots of a tile of 16 positions. */
interface TileSlot {
  /** Of the keys that the lane reads. */
  readonly keys: readonly U32[];
  /** Of the values that the lane reads; their positions are those of its scores. */
  readonly values: readonly U32[];
  isStored(column: number): Bool;
}

/** Looks slots up, some time before they are used. Positions past the last one have its slot. */
export class TileSlots {
  readonly #scope: Scope;
  readonly #blockSize: number;
  readonly #tableRow: U32;
  readonly #last: U32;
  readonly #slots: U32 | number;
  readonly #offsets: { readonly keys: readonly U32[]; readonly values: readonly U32[] };
  /** The slot of the tile's first position where the others follow it; otherwise of each position that the lane reads. */
  readonly #found: readonly Var<"u32">[];

  constructor(
    scope: Scope,
    { inputs: [, cache] }: AttentionCall,
    { blockSize }: AttentionParams,
    { tableRow, lane, last }: { readonly tableRow: U32; readonly lane: Lane; readonly last: U32 },
  ) {
    const { k } = scope;
    this.#scope = scope;
    this.#blockSize = blockSize;
    this.#tableRow = tableRow;
    this.#last = last;
    this.#slots = scope.extent(elementAt(cache.shape, 0));
    const column = k.mul(lane.part, 2);
    const half = tileRows / 2;
    this.#offsets = {
      keys: [lane.row, k.add(lane.row, half)],
      values: [column, k.add(column, 1), k.add(column, half), k.add(column, half + 1)],
    };
    const isTiled = blockSize % tileRows === 0 && typeof this.#slots === "number" && this.#slots % blockSize === 0;
    this.#found = Array.from({ length: isTiled ? 1 : 6 }, () => k.variable("u32", 0));
  }

  /** Looks the slots of the tile at `first` up. */
  lookUp(first: U32): void {
    const { k } = this.#scope;
    const { keys, values } = this.#offsets;
    const positions = this.#found.length === 1 ? [first] : [...keys, ...values].map((offset) => k.add(first, offset));
    for (const [i, position] of positions.entries())
      elementAt(this.#found, i).set(slotOf(this.#scope, this.#blockSize, this.#tableRow, k.min(position, this.#last)));
  }

  /** The slots that were looked up, for the tile at `first`. */
  get(first: U32): TileSlot {
    const { k } = this.#scope;
    const found = this.#found.map((slot) => storedSlot(this.#scope, slot.get(), this.#slots));
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
}

/** Per row and piece, words that were read. */
type Words = readonly (readonly (readonly U32[])[])[];

/** The keys and values of a warp's tiles, each read while the one before it is used. */
export class TileStream {
  readonly #scope: Scope;
  readonly #source: Source;
  readonly #isAhead: boolean;

  constructor(scope: Scope, source: Source) {
    this.#scope = scope;
    this.#source = source;
    const { keyWidth, valueWidth } = source.sizes;
    this.#isAhead = keyWidth + valueWidth <= maxAhead && source.rows.areHalves;
  }

  /** Adds every `step`-th position's tile from `first` to before `end` to a tile of queries. */
  addTo(tile: QueryTile, range: { readonly first: U32; readonly end: U32; readonly step: number }): void {
    if (this.#isAhead) this.#addAhead(tile, range);
    else this.#addEach(tile, range);
  }

  #addAhead(tile: QueryTile, { first, end, step }: { readonly first: U32; readonly end: U32; readonly step: number }): void {
    const { k } = this.#scope;
    const { slots, pieces } = this.#source;
    const keys = this.#variables(2, pieces.keys);
    const values = this.#variables(4, pieces.values);
    const stored = Array.from({ length: 4 }, () => k.variable("u32", 0));
    const keepStored = (slot: TileSlot): void => {
      for (const [column, each] of stored.entries()) each.set(k.select(slot.isStored(column), k.constant("u32", 1), 0));
    };
    const now = k.variable("u32", first);
    k.if(k.compare("lt", first, end), () => {
      slots.lookUp(first);
      const slot = slots.get(first);
      keys.set(this.#keys(slot));
      values.set(this.#values(slot));
      keepStored(slot);
      slots.lookUp(k.add(first, step));
    });
    k.while(
      () => k.compare("lt", now.get(), end),
      () => {
        const [position, next] = [now.get(), k.add(now.get(), step)];
        const products = this.#products(tile, (row, piece) => elementAt(elementAt(keys.get(), row), piece));
        const hasNext = k.compare("lt", next, end);
        k.if(hasNext, () => keys.set(this.#keys(slots.get(next))));
        const isStored = stored.map((each) => k.compare("ne", each.get(), 0));
        tile.weigh(products, { first: position, isStored: (column) => elementAt(isStored, column) });
        const loaded = values.get();
        for (const piece of pieces.values.keys())
          this.#addValues(
            tile,
            piece,
            loaded.map((row) => elementAt(row, piece)),
          );
        k.if(hasNext, () => {
          const slot = slots.get(next);
          values.set(this.#values(slot));
          keepStored(slot);
          slots.lookUp(k.add(next, step));
        });
        now.set(next);
      },
    );
  }

  #addEach(tile: QueryTile, { first, end, step }: { readonly first: U32; readonly end: U32; readonly step: number }): void {
    const { k } = this.#scope;
    const { slots, rows, pieces, lane, sizes } = this.#source;
    k.for(first, end, step, (position) => {
      slots.lookUp(position);
      const slot = slots.get(position);
      const products = this.#products(tile, (row, piece) => {
        const [words] = rows.read(elementAt(slot.keys, row), 0, [elementAt(pieces.keys, piece)], lane.part);
        return words as readonly U32[];
      });
      tile.weigh(products, { first: position, isStored: slot.isStored });
      for (const [i, piece] of pieces.values.entries())
        this.#addValues(
          tile,
          i,
          slot.values.flatMap((each) => rows.read(each, sizes.keyWidth, [piece], lane.row)),
        );
    });
  }

  #keys({ keys }: TileSlot): Words {
    const { rows, pieces, lane } = this.#source;
    return keys.map((slot) => rows.read(slot, 0, pieces.keys, lane.part));
  }

  #values({ values }: TileSlot): Words {
    const { rows, pieces, lane, sizes } = this.#source;
    return values.map((slot) => rows.read(slot, sizes.keyWidth, pieces.values, lane.row));
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

  #variables(rows: number, pieces: readonly Piece[]): { get(): Words; set(words: Words): void } {
    const { k } = this.#scope;
    const all = Array.from({ length: rows }, () =>
      pieces.map(({ count }) => Array.from({ length: count / 2 }, () => k.variable("u32", 0))),
    );
    return {
      get: () => all.map((row) => row.map((piece) => piece.map((word) => word.get()))),
      set(words) {
        for (const [i, row] of all.entries())
          for (const [j, piece] of row.entries())
            for (const [n, word] of piece.entries()) word.set(elementAt(elementAt(elementAt(words, i), j), n));
      },
    };
  }
}
