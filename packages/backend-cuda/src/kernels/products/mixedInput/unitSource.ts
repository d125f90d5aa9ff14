import { elementAt } from "@centella/core/backend";
import { isBelow, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Global, Reg } from "../../../ptx/types.ts";
import type { Var } from "../../../ptx/writer.ts";
import { type UnitMatrix, unitRows } from "../../../weights/unitFormat.ts";
import { oneOf } from "../../shared/branches.ts";
import { inResultOfTile } from "../manyRows/columns.ts";
import { type UnitResult, weightName } from "../segments.ts";
import { type MixedSizes, warpgroupTiles } from "./sizes.ts";
import type { Range, TileSplit } from "./tileSplit.ts";

/** A warp's row tile of weights in a tile of columns. */
interface WarpTile {
  readonly units: UnitMatrix;
  readonly name: string;
  /** Number of the row tile in the weight. */
  readonly number: U32;
}

/** Place of a warp among those that multiply. */
export interface WarpPlace {
  readonly warpgroup: U32;
  /** Product of a result whose weight the warp has, and its row tile among those of the product in the warpgroup. */
  readonly product: U32;
  readonly part: U32;
}

export function warpPlace(k: PtxEmitter, { columns: { products } }: MixedSizes, warp: U32): WarpPlace {
  const within = k.and(warp, warpgroupTiles - 1);
  const parts = warpgroupTiles / products;
  return { warpgroup: k.shiftRight(warp, 2), product: k.shiftRight(within, Math.log2(parts)), part: k.and(within, parts - 1) };
}

/** Runs `body` for the warp's row tile of tile `own` of a result. Row tiles past the last one repeat it. */
export function inWarpTile(
  k: PtxEmitter,
  { columns, warpgroups }: MixedSizes,
  { warpgroup, product, part }: WarpPlace,
  { products }: UnitResult,
  of: { readonly index: number; readonly own: U32 },
  body: (tile: WarpTile) => void,
): void {
  const parts = warpgroupTiles / columns.products;
  const wanted = k.add(k.mul(k.mad(of.own, warpgroups, warpgroup), parts), part);
  const number = k.min(wanted, elementAt(products, 0).units.tiles - 1);
  oneOf(k, product, products, ({ units }, j) => body({ units, name: weightName(of.index, j), number }));
}

/** Enumerates the copies of units of a warp in its block's range: those of each tile follow each other. */
export class UnitSource {
  readonly #k: PtxEmitter;
  readonly #sizes: MixedSizes;
  readonly #split: TileSplit;
  readonly #place: WarpPlace;
  readonly #end: U32;
  readonly #item: Var<"u32">;
  readonly #address: Var<"u64">;
  /** Copies of the tile that are left. */
  readonly #left: Var<"u32">;
  /** Bytes of a copy of the tile, if formats differ. */
  readonly #bytes: Var<"u32"> | number;

  constructor(k: PtxEmitter, sizes: MixedSizes, split: TileSplit, place: WarpPlace, { first, end }: Range) {
    this.#k = k;
    this.#sizes = sizes;
    this.#split = split;
    this.#place = place;
    this.#end = end;
    this.#item = k.variable("u32", first);
    this.#address = k.variable("u64", 0);
    this.#left = k.variable("u32", 0);
    const bytes = [...new Set(sizes.formats.map((format) => format.bytes * sizes.together))];
    this.#bytes = bytes.length === 1 ? elementAt(bytes, 0) : k.variable("u32", 0);
    this.#enter();
  }

  next(use: (unit: Global<"u32">, bytes: U32 | number) => void): void {
    const k = this.#k;
    k.if(k.compare("ne", this.#left.get(), 0), () => {
      const bytes = typeof this.#bytes === "number" ? this.#bytes : this.#bytes.get();
      const unit = this.#address.get() as string as Global<"u32">;
      use(unit, bytes);
      const next = typeof bytes === "number" ? k.at("u32", unit, bytes / 4) : k.atBytes(unit, bytes, 1);
      this.#address.set(next as string as Reg<"u64">);
      this.#left.set(k.sub(this.#left.get(), 1));
      k.if(k.compare("eq", this.#left.get(), 0), () => this.#enter());
    });
  }

  /** Goes to the range's next tile. */
  #enter(): void {
    const k = this.#k;
    k.if(isBelow(k, this.#item.get(), this.#end), () => {
      const { column, unit, count } = this.#split.at(this.#item.get(), this.#end);
      inResultOfTile(k, this.#sizes.columns, column, (result, index, own) =>
        inWarpTile(k, this.#sizes, this.#place, result, { index, own }, ({ units, name, number }) => {
          const bytes = units.format.bytes * this.#sizes.together;
          const from = k.atBytes(k.pointer(name, "u32"), k.mad(number, this.#sizes.copies, unit), bytes);
          this.#address.set(from as string as Reg<"u64">);
          if (typeof this.#bytes !== "number") this.#bytes.set(bytes);
        }),
      );
      this.#left.set(count);
      this.#item.set(k.add(this.#item.get(), count));
    });
  }
}

/** Columns of a result that a warpgroup has. */
export function warpgroupColumns({ columns: { products } }: MixedSizes): number {
  return (warpgroupTiles / products) * unitRows;
}
