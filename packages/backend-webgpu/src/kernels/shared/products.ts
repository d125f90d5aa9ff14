import type { DimValues, ParamsOf, TensorSpec } from "@centella/core";
import { elementAt, elementCount, tupleOf } from "@centella/core/backend";
import { type RoundedType, roundActivationsStep } from "@centella/gpu-kernels";
import type { Capabilities } from "../../device/capabilities.ts";
import type { EpilogueText } from "../../wgsl/epilogue.ts";
import { dispatchOf } from "../../wgsl/gpuKernel.ts";
import { input, output } from "../../wgsl/module.ts";
import { matrixProducts } from "../matrices/matrixTiles.ts";
import { columnProducts } from "./columnProducts.ts";
import { type DenseParts, denseProducts, hasFloatTiles } from "./denseProducts.ts";
import type { Binding, Dispatch, KernelCall } from "./kernel.ts";
import { fewestOfMany, type RowCounts, type RowParts, type RowResult, readsOf, rowProducts } from "./rowProducts.ts";
import { extents, maximum } from "./shape.ts";
import { hasTileProduct, hasTiles, type TileParts, tileProducts } from "./tileProducts.ts";
import { hasRowProduct, rowElement } from "./weights.ts";

/** The rows that a product reads. */
export interface Left {
  readonly binding: Binding;
  /** Whether these are units, which packed dot products multiply. */
  readonly isPacked: boolean;
  /** The same rows as halves, where subgroups multiply matrices of these. */
  readonly halves?: HalfRows;
}

/** Rows as halves, in runs of at least `from` rows. */
export interface HalfRows {
  readonly binding: Binding;
  readonly from: number;
}

/** Rounds the rows of `a`, input 0, in scratch memory: the binding `y`. */
export function roundingDispatch(a: TensorSpec, type: RoundedType, transposed: boolean): Dispatch {
  const args = {
    a: { kind: "input", index: 0, dtype: "f32" },
    y: { kind: "scratch", dtype: "f32", elements: a.shape },
  } as const;
  return dispatchOf(roundActivationsStep(a, type, transposed, args), 1);
}

export interface ProductOptions {
  /** Runs of fewer rows are left out. Default: none. */
  readonly leastRows?: number;
  /** Runs of more rows are left out. Default: none. */
  readonly mostRows?: number;
  readonly capabilities: Capabilities;
}

/**
 * Dispatches of a product. Only the batch axes of a's shape are read: rounding may have transposed the matrices in the binding. `store`
 * writes results.
 */
export function products(
  call: KernelCall,
  params: ParamsOf<"matmul">,
  left: Left,
  store: EpilogueText,
  { leastRows = 0, mostRows = Infinity, capabilities }: ProductOptions,
): readonly Dispatch[] {
  const [a, b] = tupleOf(call.inputs as readonly TensorSpec[], 2);
  const { output: y } = call;
  const { transposeA, transposeB } = params;
  // Without batch axes in b, all rows of a are one matrix.
  const isFolded = b.shape.length === 2 && !transposeA;
  const rows = isFolded ? y.shape.slice(0, -1) : y.shape.slice(-2, -1);
  const highest = elementCount(rows.map(maximum));
  const least = Math.max(leastRows, rows.every((dim) => typeof dim === "number") ? highest : 0);
  const bounds = { least, most: Math.min(highest, mostRows) };
  const dense = { a, b, y, params, isFolded, left: left.binding, store };
  const [depth, columns] = [b.shape.at(transposeB ? -1 : -2), y.shape.at(-1)];
  if (isFolded && transposeB && typeof depth === "number" && typeof columns === "number" && hasRowProduct(b.dtype, depth)) {
    const rowsIn = (dims: DimValues): number => elementCount(extents(rows, dims));
    const parts = { left: left.binding, isPacked: left.isPacked, dtype: b.dtype, depth, columns, store, rowsIn };
    const few = fewRows(parts, bounds, capabilities);
    const forMany = { ...bounds, least: Math.max(least, fewestOfMany[readsOf([parts])]) };
    if (forMany.most < forMany.least) return few;
    const many = hasTileProduct(b.dtype, depth)
      ? severalRows(parts, dense, forMany, left.halves, capabilities)
      : denseProducts(dense, { ...forMany, fewest: forMany.least });
    return [...few, ...many];
  }
  return denseProducts(dense, bounds);
}

/** Dispatches for runs of more rows than {@link fewRows} multiplies. */
function severalRows(
  parts: TileParts,
  dense: DenseParts,
  { least, most }: RowCounts,
  halves: HalfRows | undefined,
  capabilities: Capabilities,
): readonly Dispatch[] {
  if (halves === undefined && hasFloatTiles(dense)) return denseProducts(dense, { least, most, fewest: least });
  const isTiled = (m: number): boolean => (halves === undefined ? hasTiles(parts, m) : m >= halves.from);
  const tiles = (): readonly Dispatch[] => {
    if (halves === undefined) return tileProducts(parts, most);
    const weights = [{ binding: input("b", 1, rowElement(parts.dtype)), dtype: parts.dtype }];
    const result = { ...parts, suffix: "", weights, y: output("y") };
    return matrixProducts(
      { ...parts, halves: halves.binding, results: [result] },
      { least: Math.max(least, halves.from), most },
      capabilities,
    );
  };
  return [...(isTiled(least) ? [] : columnProducts(parts, { least, most }, capabilities, (m) => !isTiled(m))), ...tiles()];
}

/** Dispatches for few rows of a product with a weight whose rows are read several elements at a time. */
function fewRows(parts: TileParts, counts: RowCounts, capabilities: Capabilities): readonly Dispatch[] {
  return rowProducts([rowResult(parts)], rowParts(parts), counts, capabilities);
}

/** A product as the result of a dispatch of {@link rowParts}. */
export function rowResult({ isPacked, dtype, columns }: TileParts): RowResult {
  return {
    products: [{ a: "a", b: "b", dtype, isPacked }],
    columns,
    element: (_index, values) => elementAt(values, 0),
    store: (index, value) => `store(${index}, ${value});`,
  };
}

export function rowParts(parts: TileParts): RowParts {
  const { left, isPacked, dtype, store } = parts;
  const rows: Binding = { ...left, element: isPacked ? "vec4u" : "vec4f" };
  return { ...store, ...parts, bindings: [rows, input("b", 1, rowElement(dtype)), output("y"), ...store.bindings] };
}
