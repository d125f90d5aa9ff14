import type { DimValues, ParamsOf, TensorSpec } from "@centella/core";
import { elementCount } from "@centella/core/backend";
import { type RoundedType, roundActivationsStep, roundingOf } from "@centella/gpu-kernels";
import { type EpilogueText, storeText } from "../wgsl/epilogue.ts";
import { dispatchOf } from "../wgsl/gpuKernel.ts";
import { input, output } from "../wgsl/module.ts";
import { denseProducts } from "./shared/denseProducts.ts";
import type { Binding, Dispatch, KernelCall, KernelOf, Resource } from "./shared/kernel.ts";
import { fewestTiled, hasRowProduct, type RowCounts, rowElement, rowProducts } from "./shared/rowProducts.ts";
import { extents, maximum } from "./shared/shape.ts";
import { hasTileProduct, type TileParts, tileProducts } from "./shared/tileProducts.ts";

export const matmul: KernelOf<"matmul"> = {
  epilogue: true,
  dispatches(call, params) {
    const { a, b } = operands(call);
    const type = roundingOf(b, params);
    if (type === undefined) return products(call, params, input("a", 0), storeText(call.epilogue));
    const rounding = roundingDispatch(a, type, params.transposeA);
    const rounded: Binding = { name: "a", resource: roundedResource(a), access: "read", element: "f32" };
    return [rounding, ...products(call, { ...params, transposeA: false }, rounded, storeText(call.epilogue))];
  },
};

/** Rounds the rows of `a`, input 0, in scratch memory: the binding `y`. */
export function roundingDispatch(a: TensorSpec, type: RoundedType, transposed: boolean): Dispatch {
  const args = {
    a: { kind: "input", index: 0, dtype: "f32" },
    y: { kind: "scratch", dtype: "f32", elements: a.shape },
  } as const;
  return dispatchOf(roundActivationsStep(a, type, transposed, args));
}

function roundedResource({ shape }: TensorSpec): Resource {
  return { kind: "scratch", bytes: 4 * elementCount(shape.map(maximum)) };
}

function operands({ inputs: [a, b] }: KernelCall): { readonly a: TensorSpec; readonly b: TensorSpec } {
  if (a === undefined || b === undefined) throw new RangeError("expected both operands of a product");
  return { a, b };
}

/**
 * Dispatches of a product. Only the batch axes of a's shape are read: rounding may have transposed the matrices in the binding. `store`
 * writes results. `forFew: false` leaves out the dispatches for fewer than {@link fewestTiled} rows.
 */
export function products(
  call: KernelCall,
  params: ParamsOf<"matmul">,
  left: Binding,
  store: EpilogueText,
  forFew = true,
): readonly Dispatch[] {
  const { a, b } = operands(call);
  const { output: y } = call;
  const { transposeA, transposeB } = params;
  // Without batch axes in b, all rows of a are one matrix.
  const isFolded = b.shape.length === 2 && !transposeA;
  const rows = isFolded ? y.shape.slice(0, -1) : y.shape.slice(-2, -1);
  const most = elementCount(rows.map(maximum));
  const least = rows.every((dim) => typeof dim === "number") ? most : 0;
  const forMany = { least: Math.max(least, fewestTiled), most };
  const bounds = forFew ? { least, most } : forMany;
  const dense = { a, b, y, params, isFolded, left, store };
  const [depth, columns] = [b.shape.at(transposeB ? -1 : -2), y.shape.at(-1)];
  if (isFolded && transposeB && typeof depth === "number" && typeof columns === "number" && hasRowProduct(b.dtype, depth)) {
    const rowsIn = (dims: DimValues): number => elementCount(extents(rows, dims));
    const parts = { left, dtype: b.dtype, depth, columns, store, rowsIn };
    if (!hasTileProduct(b.dtype, depth)) return [...fewRows(parts, bounds), ...denseProducts(dense, forMany)];
    return [...fewRows(parts, bounds), ...(most >= fewestTiled ? tileProducts(parts, most) : [])];
  }
  return denseProducts(dense, bounds);
}

/** Dispatches for few rows of a product with a weight whose rows are read several elements at a time. */
function fewRows(parts: TileParts, counts: RowCounts): readonly Dispatch[] {
  const { left, dtype, store } = parts;
  const result = {
    products: [{ a: "a", b: "b", dtype }],
    columns: parts.columns,
    store: (index: string, [value]: readonly string[]) => `store(${index}, ${value});`,
  };
  const bindings = [{ ...left, element: "vec4f" as const }, input("b", 1, rowElement(dtype)), output("y"), ...store.bindings];
  return rowProducts([result], { ...store, ...parts, bindings }, counts);
}
