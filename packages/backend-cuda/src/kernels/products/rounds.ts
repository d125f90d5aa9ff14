import { elementAt } from "@centella/core/backend";
import { type F32, isBelow, type NumberType, product as productOf, type U32 } from "@centella/gpu-kernels";
import type { Shared } from "../../ptx/types.ts";
import type { Var } from "../../ptx/writer.ts";
import { type UnitFormat, unitRows } from "../../weights/unitFormat.ts";
import { oneOf } from "../shared/branches.ts";
import { fixed, type Scope } from "../shared/kernel.ts";
import type { StagedActivations, StagingPlan } from "./activations.ts";
import { EarlyLoads, keptOf } from "./earlyLoads.ts";
import type { ResultPlace } from "./resultWriter.ts";
import type { Ring } from "./ring.ts";
import { RowTile } from "./rowTile.ts";
import { formatsOf, type ItemRange, inResultOf, type UnitResult, type Work } from "./segments.ts";
import { type ColumnTile, Tile, tileColumns } from "./tile.ts";
import type { Lane, LoadedUnit } from "./unitDecoder.ts";

/** Warps of a block. */
export const warps = 8;

/** Bytes of the partial sums of an item's product. */
export function partialBytes(columns: number): number {
  return 4 * warps * unitRows * columns;
}

/** The sizes of a launch. */
interface Sizes {
  readonly work: Work;
  readonly staging: StagingPlan;
}

/** What a block has set up before it multiplies. */
interface Parts {
  readonly lane: Lane;
  readonly warp: U32;
  readonly items: ItemRange;
  readonly firstRow: U32;
  readonly ring: Ring;
  readonly staged: StagedActivations;
  /** Memory for a round's partial sums. */
  readonly partials: Shared<"f32">;
}

/** Sums of a lane, by tile of columns. */
type Sums = readonly (readonly Var<"f32">[])[];

/** A result of a round: its item, counted from the round's first, and its place among the item's 16 rows of each column. */
interface Place {
  readonly slot: U32;
  readonly within: U32;
  readonly column: U32;
}

/** Multiplies a block's items, round by round, and stores the results. */
export class Rounds {
  readonly #scope: Scope;
  readonly #sizes: Sizes;
  readonly #parts: Parts;
  readonly #tiles: readonly ColumnTile[];
  /** The warp's next copy in the segment. */
  readonly #copy: Var<"u32">;
  /** What epilogues read, by result, if each thread has at most one. */
  readonly #early: ReadonlyMap<UnitResult, EarlyLoads>;
  /** What writers prepared, by result, if each thread has at most one. */
  readonly #prepared = new Map<UnitResult, readonly Var<NumberType>[]>();

  constructor(scope: Scope, sizes: Sizes, parts: Parts) {
    const { k } = scope;
    const { work, staging } = sizes;
    this.#scope = scope;
    this.#sizes = sizes;
    this.#parts = parts;
    this.#copy = k.variable("u32", 0);
    const isRow = staging.columns === 1 && formatsOf(work).every(({ scales }) => scales.kind !== "none");
    const tiles = Math.ceil(staging.columns / tileColumns);
    this.#tiles = isRow
      ? [new RowTile(scope, staging, parts)]
      : Array.from({ length: tiles }, (_, n) => new Tile(scope, staging, parts, n));
    const reading = this.#isOneEach ? work.results.filter(({ result }) => Object.keys(result.epilogue.args).length > 0) : [];
    this.#early = new Map(reading.map((each) => [each, new EarlyLoads()]));
  }

  get #isOneRound(): boolean {
    const { items, blocks, roundItems } = this.#sizes.work;
    return Math.ceil(items / blocks) <= roundItems;
  }

  /** Whether each thread has at most one result. */
  get #isOneEach(): boolean {
    const { work, staging } = this.#sizes;
    return this.#isOneRound && work.roundItems * unitRows * staging.columns <= this.#scope.k.blockThreads;
  }

  /** Starts to load what epilogues and writers read, where it need not wait for products. */
  loadEarly(): void {
    const hasWriters = this.#isOneEach && this.#sizes.work.results.some(({ writer }) => writer !== undefined);
    if (this.#early.size === 0 && !hasWriters) return;
    const { first, end } = this.#parts.items;
    this.#forEachResult(first, this.#scope.k.sub(end, first), (result, _number, { index, ...place }) => {
      const prepared = result.writer?.prepare(this.#scope, { index, ...place });
      if (prepared !== undefined) this.#prepared.set(result, keptOf(this.#scope.k, prepared));
      const loads = this.#early.get(result);
      const { epilogue, products } = result.result;
      const { k } = this.#scope;
      if (loads !== undefined)
        epilogue.apply(
          loads.recorded(this.#scope),
          index,
          products.map(() => k.constant("f32", 0)),
        );
    });
  }

  /** All threads must take part. */
  run(): void {
    const { k } = this.#scope;
    const { items } = this.#parts;
    const { roundItems } = this.#sizes.work;
    const round = (first: U32, count: U32): void => {
      this.#multiply(first, count);
      k.sync();
      this.#finish(first, count);
    };
    if (this.#isOneRound) round(items.first, k.sub(items.end, items.first));
    else
      k.forUniform(items.first, items.end, roundItems, (first) => {
        round(first, k.min(k.sub(items.end, first), roundItems));
        k.sync();
      });
  }

  /** Multiplies the units of a round's items, and leaves each warp's sums in shared memory. */
  #multiply(first: U32, count: U32): void {
    const { k } = this.#scope;
    const { work } = this.#sizes;
    for (let product = 0; product < work.products; product++) {
      this.#copy.set(this.#parts.warp);
      k.for(0, count, 1, (slot) => this.#inFormatOf(k.add(first, slot), product, (format) => this.#segment(format, slot, product)));
    }
  }

  /** Runs `body` for the format of an item's product. */
  #inFormatOf(item: U32, product: number, body: (format: UnitFormat) => void): void {
    const { k } = this.#scope;
    const { work } = this.#sizes;
    const formats = formatsOf(work, product);
    if (formats.length === 1) {
      body(elementAt(formats, 0));
      return;
    }
    const number = k.variable("u32", 0);
    inResultOf(k, work, item, ({ products }) => number.set(formats.indexOf(elementAt(products, product).units.format)));
    oneOf(k, number, formats, body);
  }

  /** Multiplies the warp's units of a segment. */
  #segment(format: UnitFormat, slot: U32, product: number): void {
    const { k } = this.#scope;
    const { copies, together } = this.#sizes.work;
    const { ring, warp } = this.#parts;
    const sums: Sums = this.#tiles.map(({ sumCount }) => Array.from({ length: sumCount }, () => k.variable("f32", 0)));
    const units = Array.from({ length: together }, (_, i) => i);
    k.while(
      () => k.compare("lt", this.#copy.get(), copies),
      () => {
        const copy = this.#copy.get();
        const load = (from: Shared<"u32">): LoadedUnit => elementAt(this.#tiles, 0).load(format, from);
        const loaded = ring.take((from) => units.map((i) => load(k.sharedAtBytes(from, i * format.bytes))));
        for (const i of units)
          for (const [n, tile] of this.#tiles.entries())
            tile.multiply(format, elementAt(loaded, i), k.mad(copy, together, i), elementAt(sums, n));
        this.#copy.set(k.add(copy, warps));
      },
    );
    this.#copy.set(k.sub(this.#copy.get(), copies));
    const to = this.#partial(slot, product, warp);
    for (const [n, tile] of this.#tiles.entries()) tile.store(to, elementAt(sums, n));
  }

  /** Where a warp's sums of a product of the round's item `slot` are: 16 rows, column after column. */
  #partial(slot: U32, product: number, warp: U32 | number): Shared<"f32"> {
    const { k } = this.#scope;
    const { work, staging } = this.#sizes;
    const number = k.add(k.mul(k.add(k.mul(slot, work.products), product), warps), warp as U32);
    return k.sharedAt("f32", this.#parts.partials, k.mul(number, unitRows * staging.columns));
  }

  /** Adds the warps' sums, and stores the results of a round's items through their epilogues. */
  #finish(first: U32, count: U32): void {
    const { k } = this.#scope;
    this.#forEachResult(first, count, (result, number, at, place) => {
      const {
        writer,
        result: { epilogue },
      } = result;
      const { index } = at;
      const scope = this.#early.get(result)?.replayed(this.#scope) ?? this.#scope;
      const own = epilogue.apply(scope, index, this.#sums(place));
      if (writer === undefined) {
        k.store(`y${number}`, index, own);
        return;
      }
      const prepared = this.#prepared.get(result)?.map((variable) => variable.get()) ?? writer.prepare(scope, at);
      const neighbour = (): F32 => epilogue.apply(scope, k.xor(index, 1), this.#sums({ ...place, within: k.xor(place.within, 1) }));
      writer.store(scope, at, prepared, own, neighbour);
    });
  }

  /** A round's sums of all warps at a place, by product. */
  #sums({ slot, within, column }: Place): readonly F32[] {
    const { k } = this.#scope;
    const { work, staging } = this.#sizes;
    const { factors } = this.#parts.staged;
    const factor = factors === undefined ? undefined : k.ld("f32", k.sharedAt("f32", factors, column));
    return Array.from({ length: work.products }, (_, product) => {
      const from = k.sharedAt("f32", this.#partial(slot, product, 0), within);
      const partials = Array.from({ length: warps }, (_, warp) => k.ld("f32", from, warp * unitRows * staging.columns));
      const sum = partials.reduce((a, b) => k.add(a, b));
      return factor === undefined ? sum : k.mul(sum, factor);
    });
  }

  /** Runs `body` for the results of a round's items, shared out among the threads, with the place of each in its tensor and in the round. */
  #forEachResult(first: U32, count: U32, body: (result: UnitResult, number: number, at: ResultPlace, place: Place) => void): void {
    const { scope, work, columns } = { scope: this.#scope, work: this.#sizes.work, columns: this.#sizes.staging.columns };
    const { k } = scope;
    const perItem = unitRows * columns;
    const at = (index: U32): void => {
      const within = k.remainder(index, perItem);
      const place = { slot: k.quotient(index, perItem), within, column: k.shiftRight(within, 4) };
      inResultOf(k, work, k.add(first, place.slot), (each, number, { tile }) => {
        const { shape } = each.result;
        const row = k.mad(tile, unitRows, k.and(within, unitRows - 1));
        const n = fixed(shape.at(-1));
        const outputRow = k.add(this.#parts.firstRow, place.column);
        const isResult = k.and(isBelow(k, row, n), isBelow(k, outputRow, productOf(k, scope.extents(shape.slice(0, -1)))));
        k.if(isResult, () => body(each, number, { row: outputRow, column: row, index: k.mad(outputRow, n, row) }, place));
      });
    };
    const all = k.mul(count, perItem);
    if (this.#isOneEach) k.if(k.compare("lt", k.thread(), all), () => at(k.thread()));
    else k.for(k.thread(), all, k.blockThreads, at);
  }
}
