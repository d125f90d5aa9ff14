import { elementAt } from "@centella/core/backend";
import { isBelow, type SiblingProduct, type SiblingResult, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import type { Global, Reg } from "../../ptx/types.ts";
import type { Var } from "../../ptx/writer.ts";
import { type UnitMatrix, unitRows } from "../../weights/unitFormat.ts";

/** A product with a weight in units. */
export interface UnitProduct {
  readonly product: SiblingProduct;
  readonly units: UnitMatrix;
}

/** A result of a launch. Its products have the same number of rows. */
export interface UnitResult {
  readonly result: SiblingResult;
  readonly products: readonly UnitProduct[];
}

/**
 * The work of a launch. An item is a row tile of a result; items of all results are numbered consecutively, and block b of n takes items b,
 * b + n, and so on. A segment is the units of one of an item's products; the warps of a block take the units of consecutive segments in turn.
 */
export interface Work {
  readonly results: readonly UnitResult[];
  /** Units of a segment. */
  readonly units: number;
  readonly products: number;
  readonly items: number;
  readonly blocks: number;
}

export function workOf(results: readonly UnitResult[], multiprocessors: number): Work {
  const items = results.reduce((sum, result) => sum + tilesOf(result), 0);
  const { products } = elementAt(results, 0);
  return {
    results,
    units: elementAt(products, 0).units.units,
    products: products.length,
    items,
    blocks: Math.min(items, multiprocessors),
  };
}

function tilesOf({ products }: UnitResult): number {
  return Math.ceil(elementAt(products, 0).units.rows / unitRows);
}

/** Name of the parameter of a product's weight. */
export function weightName(result: number, product: number): string {
  return `b${result}_${product}`;
}

/** Runs `body` for the result that an item belongs to, with the item's row tile. */
export function inResultOf(
  k: PtxEmitter,
  { results }: Work,
  item: U32,
  body: (result: UnitResult, index: number, tile: U32) => void,
): void {
  const from = (index: number, first: number): void => {
    const result = elementAt(results, index);
    const run = (): void => body(result, index, first === 0 ? item : k.sub(item, first));
    const end = first + tilesOf(result);
    if (index === results.length - 1) run();
    else k.if(isBelow(k, item, end), run, () => from(index + 1, end));
  };
  from(0, 0);
}

/** Enumerates the units of a warp through all its segments. */
export class UnitCursor {
  readonly #k: PtxEmitter;
  readonly #work: Work;
  readonly #warps: number;
  readonly #item: Var<"u32">;
  readonly #product: Var<"u32">;
  readonly #unit: Var<"u32">;
  readonly #address: Var<"u64">;
  readonly #bytes: Var<"u32"> | number;

  constructor(k: PtxEmitter, work: Work, { block, warp, warps }: { readonly block: U32; readonly warp: U32; readonly warps: number }) {
    this.#k = k;
    this.#work = work;
    this.#warps = warps;
    this.#item = k.variable("u32", block);
    this.#product = k.variable("u32", 0);
    this.#unit = k.variable("u32", warp);
    this.#address = k.variable("u64", 0);
    const sizes = new Set(work.results.flatMap(({ products }) => products.map(({ units }) => units.format.bytes)));
    this.#bytes = sizes.size === 1 ? elementAt([...sizes], 0) : k.variable("u32", 0);
    this.#enter();
  }

  /** Runs `use` with the next unit, if there is one, and goes on. */
  next(use: (unit: Global<"u32">, bytes: U32 | number) => void): void {
    const k = this.#k;
    k.if(isBelow(k, this.#item.get(), this.#work.items), () => {
      const bytes = typeof this.#bytes === "number" ? this.#bytes : this.#bytes.get();
      use(globalAt(this.#address.get()), bytes);
      this.#unit.set(k.add(this.#unit.get(), this.#warps));
      const unit = this.#address.get();
      this.#address.set(
        typeof bytes === "number" ? k.add(unit, bytes * this.#warps) : addressOf(k.atBytes(globalAt(unit), bytes, this.#warps)),
      );
      k.if(k.compare("ge", this.#unit.get(), this.#work.units), () => this.#enter());
    });
  }

  /** Goes to the first unit that is in a segment, and finds its address. */
  #enter(): void {
    const k = this.#k;
    const { units, products, items, blocks } = this.#work;
    k.while(
      () => k.and(k.compare("ge", this.#unit.get(), units), isBelow(k, this.#item.get(), items)),
      () => {
        this.#unit.set(k.sub(this.#unit.get(), units));
        const next = (): void => this.#item.set(k.add(this.#item.get(), blocks));
        if (products === 1) return next();
        this.#product.set(k.add(this.#product.get(), 1));
        k.if(k.compare("eq", this.#product.get(), products), () => {
          this.#product.set(0);
          next();
        });
      },
    );
    k.if(isBelow(k, this.#item.get(), items), () => this.#locate());
  }

  #locate(): void {
    const k = this.#k;
    inResultOf(k, this.#work, this.#item.get(), ({ products }, index, tile) => {
      const number = k.mad(tile, this.#work.units, this.#unit.get());
      const at = (product: number): void => {
        const { bytes } = elementAt(products, product).units.format;
        this.#address.set(addressOf(k.atBytes(k.pointer(weightName(index, product), "u32"), number, bytes)));
        if (typeof this.#bytes !== "number") this.#bytes.set(bytes);
      };
      const from = (product: number): void => {
        if (product === products.length - 1) at(product);
        else
          k.if(
            k.compare("eq", this.#product.get(), product),
            () => at(product),
            () => from(product + 1),
          );
      };
      from(0);
    });
  }
}

function globalAt(address: Reg<"u64">): Global<"u32"> {
  return address as string as Global<"u32">;
}

function addressOf(global: Global<"u32">): Reg<"u64"> {
  return global as string as Reg<"u64">;
}
