import { elementAt } from "@centella/core/backend";
import type { SiblingProduct, SiblingResult, U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import type { Global, Reg } from "../../ptx/types.ts";
import type { Var } from "../../ptx/writer.ts";
import { isPlain, type UnitFormat, type UnitMatrix, unitRows } from "../../weights/unitFormat.ts";
import { oneOf, rangeOf } from "../shared/branches.ts";
import type { KernelCall } from "../shared/kernel.ts";
import type { ResultWriter } from "./resultWriter.ts";
import { halfType } from "./tile.ts";

/** A product with a weight in units. */
interface UnitProduct {
  readonly product: SiblingProduct;
  readonly units: UnitMatrix;
}

/** A result of a launch. Its products have the same number of rows. */
export interface UnitResult {
  readonly result: SiblingResult;
  readonly products: readonly UnitProduct[];
  /** Stores the result in place of its tensor. */
  readonly writer?: ResultWriter | undefined;
}

/**
 * Results by kind: those of a kind have weights of one half type and width, and the same number of products. Undefined if a product is of no
 * kind: its weight is not a matrix in units, or its operands must not be rounded to halves.
 */
export function kindsOf(
  call: KernelCall,
  results: readonly SiblingResult[],
  writers?: ReadonlyMap<SiblingResult, ResultWriter>,
): readonly (readonly UnitResult[])[] | undefined {
  const kinds = new Map<string, UnitResult[]>();
  for (const result of results) {
    const found = unitResult(call, result);
    if (found === undefined) return undefined;
    const { format } = elementAt(found.products, 0).units;
    const key = `${halfType(format)} ${format.width} ${found.products.length}`;
    kinds.set(key, [...(kinds.get(key) ?? []), { ...found, writer: writers?.get(result) }]);
  }
  return [...kinds.values()];
}

function unitResult(call: KernelCall, result: SiblingResult): UnitResult | undefined {
  const products = result.products.flatMap((product) => {
    const units = call.unitsOf(product.input);
    const isHalf = product.params.activations === "half" && product.weight.shape.length === 2;
    return units === undefined || !isHalf ? [] : [{ product, units }];
  });
  const [first] = products;
  if (first === undefined || products.length < result.products.length) return undefined;
  const isUniform = products.every(
    ({ units: { format, units, rows } }) =>
      halfType(format) === halfType(first.units.format) && units === first.units.units && rows === first.units.rows,
  );
  return isUniform ? { result, products } : undefined;
}

/**
 * The work of a launch. An item is a row tile of a result; items of all results are numbered consecutively, and each block has a range of them,
 * which it takes in rounds. A segment is the units of one of an item's products. In a round, the segments of the first products of all items
 * follow each other, then those of the second products; warp w of n takes copies w, w + n, and so on of each of these rows of segments.
 */
export interface Work {
  readonly results: readonly UnitResult[];
  /** Units that one copy brings and a warp multiplies together, and their number in a segment. */
  readonly together: number;
  readonly copies: number;
  readonly products: number;
  readonly items: number;
  readonly blocks: number;
  /** Most items of a round. */
  readonly roundItems: number;
}

interface WorkLimits {
  /** Most bytes of partial sums of a round, if an item has no more. */
  readonly roundBytes: number;
  /** Bytes of the partial sums of an item's product. */
  readonly sumBytes: number;
  /** Most units that one copy brings. */
  readonly together: number;
}

/** The work of some results. */
export function workOf(results: readonly UnitResult[], multiprocessors: number, limits: WorkLimits): Work {
  const { roundBytes, sumBytes } = limits;
  const items = results.reduce((sum, result) => sum + tilesOf(result), 0);
  const { products } = elementAt(results, 0);
  const blocks = Math.min(items, multiprocessors);
  const { units } = elementAt(products, 0).units;
  const counts = formatsOf({ results }).map((format) => togethersOf(format));
  const isFit = (count: number): boolean => count <= limits.together && units % count === 0 && counts.every((each) => each.includes(count));
  const together = counts[0]?.find(isFit) ?? 1;
  return {
    results,
    together,
    copies: units / together,
    products: products.length,
    items,
    blocks,
    roundItems: Math.max(1, Math.min(Math.ceil(items / blocks), Math.floor(roundBytes / (sumBytes * products.length)))),
  };
}

/** Numbers of units that a warp may multiply together, from the most: as many as its registers hold well. */
function togethersOf(format: UnitFormat): readonly number[] {
  const { planes } = format;
  if (isPlain(format)) return [4, 2];
  return planes[0]?.bits === 4 && planes[1]?.bits !== 2 ? [2] : [];
}

/** Items of a block. */
export interface ItemRange {
  readonly first: U32;
  readonly end: U32;
}

/** The items of block `block`: the first blocks have one more where they do not share them evenly. */
export function itemsOf(k: PtxEmitter, { items, blocks }: Work, block: U32): ItemRange {
  const [each, more] = [Math.floor(items / blocks), items % blocks];
  const first = more === 0 ? k.mul(block, each) : k.mad(block, each, k.min(block, more));
  if (more === 0) return { first, end: k.add(first, each) };
  return { first, end: k.add(first, k.select(k.compare("lt", block, more), k.constant("u32", each + 1), each)) };
}

function tilesOf({ products }: UnitResult): number {
  return Math.ceil(elementAt(products, 0).units.rows / unitRows);
}

/** The formats of all weights, or those of the results' products of number `product`. */
export function formatsOf({ results }: Pick<Work, "results">, product?: number): readonly UnitFormat[] {
  const all = results.flatMap(({ products }) => (product === undefined ? products : [elementAt(products, product)]));
  return [...new Set(all.map(({ units }) => units.format))];
}

/** Name of the parameter of a product's weight. */
export function weightName(result: number, product: number): string {
  return `b${result}_${product}`;
}

/** Runs `body` for the result that an item belongs to, with the item's row tile and the number of the first item after the result. */
export function inResultOf(
  k: PtxEmitter,
  { results }: Work,
  item: U32,
  body: (result: UnitResult, index: number, place: { readonly tile: U32; readonly end: number }) => void,
): void {
  let total = 0;
  const ends = results.map((result) => {
    total += tilesOf(result);
    return total;
  });
  rangeOf(k, item, ends, (index) => {
    const first = ends[index - 1];
    body(elementAt(results, index), index, { tile: first === undefined ? item : k.sub(item, first), end: elementAt(ends, index) });
  });
}

/** Enumerates the copies of a warp in all rounds of its block: runs of units that are equally far apart. */
export class UnitCursor {
  readonly #k: PtxEmitter;
  readonly #work: Work;
  readonly #warp: U32;
  readonly #warps: number;
  readonly #end: U32;
  readonly #firstCopy: U32 | undefined;
  /** First item of the round. */
  readonly #round: Var<"u32">;
  readonly #product: Var<"u32">;
  /** First item of the next run. */
  readonly #item: Var<"u32">;
  readonly #address: Var<"u64">;
  /** Copies of the run that are left. */
  readonly #left: Var<"u32">;
  /** Bytes of a copy of the run, if not those of all runs. */
  readonly #bytes: Var<"u32"> | number;

  /** `warps` is a power of two. Weights start with copy `firstCopy`, by default the first one. */
  constructor(
    k: PtxEmitter,
    work: Work,
    { items, warp, warps, firstCopy }: { readonly items: ItemRange; readonly warp: U32; readonly warps: number; readonly firstCopy?: U32 },
  ) {
    this.#k = k;
    this.#work = work;
    this.#warp = warp;
    this.#warps = warps;
    this.#end = items.end;
    this.#firstCopy = firstCopy;
    this.#round = k.variable("u32", items.first);
    this.#product = k.variable("u32", 0);
    this.#item = k.variable("u32", items.first);
    this.#address = k.variable("u64", 0);
    this.#left = k.variable("u32", 0);
    const sizes = new Set(formatsOf(work).map(({ bytes }) => bytes * work.together));
    this.#bytes = sizes.size === 1 ? elementAt([...sizes], 0) : k.variable("u32", 0);
    this.#enter();
  }

  /** Runs `use` with the next units that are copied together, if there are any, and goes on. */
  next(use: (unit: Global<"u32">, bytes: U32 | number) => void): void {
    const k = this.#k;
    k.if(k.compare("ne", this.#left.get(), 0), () => {
      const bytes = typeof this.#bytes === "number" ? this.#bytes : this.#bytes.get();
      const unit = globalAt(this.#address.get());
      use(unit, bytes);
      this.#address.set(
        addressOf(typeof bytes === "number" ? k.at("u32", unit, (bytes * this.#warps) / 4) : k.atBytes(unit, bytes, this.#warps)),
      );
      this.#left.set(k.sub(this.#left.get(), 1));
      k.if(k.compare("eq", this.#left.get(), 0), () => this.#enter());
    });
  }

  /** Goes to the next run that has copies of the warp. */
  #enter(): void {
    const k = this.#k;
    const { copies, products, roundItems } = this.#work;
    k.while(
      () => k.and(k.compare("eq", this.#left.get(), 0), k.compare("lt", this.#round.get(), this.#end)),
      () => {
        const [round, item] = [this.#round.get(), this.#item.get()];
        const roundEnd = k.min(k.add(round, roundItems), this.#end);
        inResultOf(k, this.#work, item, (result, index, { tile, end }) => {
          const itemsEnd = k.min(roundEnd, end);
          const first = k.and(k.sub(this.#warp, k.mul(k.sub(item, round), copies)), this.#warps - 1);
          const count = k.mul(k.sub(itemsEnd, item), copies);
          // Every `warps`-th of the `count` copies is the warp's, from `first` on.
          this.#left.set(k.shiftRight(k.sub(k.add(k.max(count, first), this.#warps - 1), first), Math.log2(this.#warps)));
          this.#locate(result, index, k.mad(tile, copies, first));
          this.#item.set(itemsEnd);
        });
        k.if(k.compare("eq", this.#item.get(), roundEnd), () => {
          this.#item.set(round);
          this.#product.set(k.add(this.#product.get(), 1));
          k.if(k.compare("eq", this.#product.get(), products), () => {
            this.#product.set(0);
            this.#round.set(roundEnd);
            this.#item.set(roundEnd);
          });
        });
      },
    );
  }

  /** Starts a run at a copy of a result's weight. */
  #locate({ products }: UnitResult, index: number, within: U32): void {
    const k = this.#k;
    const copy = this.#firstCopy === undefined ? within : k.add(within, this.#firstCopy);
    const product = this.#product.get();
    const start = ({ units }: UnitProduct, number: number): void => {
      const bytes = units.format.bytes * this.#work.together;
      this.#address.set(addressOf(k.atBytes(k.pointer(weightName(index, number), "u32"), copy, bytes)));
      if (typeof this.#bytes !== "number") this.#bytes.set(bytes);
    };
    oneOf(k, product, products, start);
  }
}

function globalAt(address: Reg<"u64">): Global<"u32"> {
  return address as string as Global<"u32">;
}

function addressOf(global: Global<"u32">): Reg<"u64"> {
  return global as string as Reg<"u64">;
}
