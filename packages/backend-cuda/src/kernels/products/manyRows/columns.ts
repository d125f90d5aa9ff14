import { elementAt } from "@centella/core/backend";
import type { U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import { hasTilePower } from "../../../weights/unitFormat.ts";
import { rangeOf } from "../../shared/branches.ts";
import type { Argument } from "../../shared/kernel.ts";
import { type UnitResult, weightName } from "../segments.ts";

/** The columns of all results of a launch side by side, those of each result from a multiple of a tile's columns on. */
export interface Columns {
  readonly results: readonly UnitResult[];
  /** Products of each result. */
  readonly products: number;
  /** Columns of a result that a block computes at a time. */
  readonly perTile: number;
  /** First tile of each result, and the number of tiles. */
  readonly tiles: readonly number[];
  /** Tiles of this launch. */
  readonly first: number;
  readonly end: number;
}

/**
 * The columns of results, in parts whose weights are about `maxColumns` columns at most. A stack of matrices has the columns of each of them, in
 * parts of `inPart` columns or multiples.
 */
export function columnsOf(
  results: readonly UnitResult[],
  perTile: number,
  maxColumns: number,
  inPart: number = perTile,
): readonly Columns[] {
  const tiles = [0];
  for (const { products } of results)
    tiles.push(elementAt(tiles, tiles.length - 1) + Math.ceil(elementAt(products, 0).units.rows / perTile));
  const total = elementAt(tiles, results.length);
  const { products } = elementAt(results, 0);
  const parts = Math.ceil((total * perTile * products.length) / maxColumns);
  const together = inPart / perTile;
  const perPart = together * Math.ceil(total / together / parts);
  return Array.from({ length: Math.ceil(total / perPart) }, (_, part): Columns => {
    const first = part * perPart;
    return { results, products: products.length, perTile, tiles, first, end: Math.min(total, first + perPart) };
  });
}

/** Columns of products of a tile. */
export function tileWidth({ perTile, products }: Columns): number {
  return perTile * products;
}

/** The weights of results as arguments, by name. */
export function weightArgs(results: readonly UnitResult[]): readonly (readonly [string, Argument])[] {
  return results.flatMap(({ products }, i) =>
    products.map(({ product }, j) => [weightName(i, j), { kind: "input", index: product.input, dtype: product.weight.dtype }] as const),
  );
}

/** Whether weights were multiplied by powers of two. */
export function hasPowers({ results }: Columns): boolean {
  return hasTilePower(elementAt(elementAt(results, 0).products, 0).units.format);
}

/** Rows of the weights' panels: the columns of each product. */
export function panelRows({ first, end, perTile }: Columns): number {
  return (end - first) * perTile;
}

/** Runs `body` for the result that tile `tile` belongs to, with the number of the tile among the result's. */
export function inResultOfTile(
  k: PtxEmitter,
  { results, tiles, first, end }: Columns,
  tile: U32,
  body: (result: UnitResult, index: number, own: U32) => void,
): void {
  const present = results.flatMap((result, index) => {
    const [from, to] = [elementAt(tiles, index), elementAt(tiles, index + 1)];
    return to > first && from < end ? [{ result, index, from, to }] : [];
  });
  const ends = present.map(({ to }) => to);
  rangeOf(k, tile, ends, (place) => {
    const { result, index, from } = elementAt(present, place);
    body(result, index, from === 0 ? tile : k.sub(tile, from));
  });
}
