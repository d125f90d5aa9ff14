import { elementAt } from "@centella/core/backend";
import type { U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Global, Reg } from "../../../ptx/types.ts";
import type { Var } from "../../../ptx/writer.ts";
import { isPlain, unitRows } from "../../../weights/unitFormat.ts";
import { weightName } from "../segments.ts";
import { type Columns, inResultOfTile } from "./columns.ts";
import { panelRowBytes } from "./panels.ts";

/** Bytes of a unit that is 16 rows of a panel. */
export const rowUnitBytes: number = unitRows * panelRowBytes;

/** Whether the weights of columns are multiplied straight from their units: each unit of f16 or bf16 is 16 rows of a panel. */
export function readsUnits({ results }: Columns): boolean {
  return isPlain(elementAt(elementAt(results, 0).products, 0).units.format);
}

/** The units of a tile of columns whose weights are multiplied without decoding. */
export class TileUnits {
  readonly #k: PtxEmitter;
  readonly #columns: Columns;
  /** The weight of each product. */
  readonly #weights: readonly Var<"u64">[];
  /** First row tile of the tile's columns, and the last one of the weights. */
  readonly #first: Var<"u32">;
  readonly #last: Var<"u32">;

  constructor(k: PtxEmitter, columns: Columns) {
    this.#k = k;
    this.#columns = columns;
    this.#weights = Array.from({ length: columns.products }, () => k.variable("u64", 0));
    this.#first = k.variable("u32", 0);
    this.#last = k.variable("u32", 0);
  }

  /** Row tiles of each product of a tile. */
  get perProduct(): number {
    return this.#columns.perTile / unitRows;
  }

  /** Goes to tile `tile` of columns. */
  enter(tile: U32): void {
    const k = this.#k;
    inResultOfTile(k, this.#columns, tile, ({ products }, index, own) => {
      for (const [j, weight] of this.#weights.entries()) weight.set(k.pointer(weightName(index, j), "u32") as string as Reg<"u64">);
      this.#first.set(k.mul(own, this.perProduct));
      this.#last.set(elementAt(products, 0).units.tiles - 1);
    });
  }

  /** The unit in a panel of row tile `number` of a product's in the tile. Row tiles past the last one repeat it. */
  at(product: number, number: U32 | number, panel: U32 | number): Global<"u32"> {
    const k = this.#k;
    const { units } = elementAt(elementAt(this.#columns.results, 0).products, 0).units;
    const row = k.min(k.add(this.#first.get(), number), this.#last.get());
    const weight = elementAt(this.#weights, product).get() as string as Global<"u32">;
    return k.atBytes(weight, panel === 0 ? k.mul(row, units) : k.mad(row, units, panel), rowUnitBytes);
  }
}
