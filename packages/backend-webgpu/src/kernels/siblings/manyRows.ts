import type { DimValues, TensorSpec } from "@centella/core";
import type { SiblingResult, Siblings } from "@centella/gpu-kernels";
import type { Capabilities } from "../../device/capabilities.ts";
import { storeText } from "../../wgsl/epilogue.ts";
import { input, output, rebind } from "../../wgsl/module.ts";
import { matrixProducts, multipliesTogether } from "../matrices/matrixTiles.ts";
import type { MatrixResult } from "../matrices/matrixUnit.ts";
import type { Binding, Dispatch } from "../shared/kernel.ts";
import { rowCounts, type ScratchSlots } from "../shared/preparedRows.ts";
import { type HalfRows, type Left, type ProductOptions, products as productDispatches } from "../shared/products.ts";
import { count, maximum } from "../shared/shape.ts";
import { rowElement } from "../shared/weights.ts";
import type { LeftOf } from "./rowForms.ts";

/** A dispatch for each product; results whose products matrices of subgroups compute together are one dispatch for many rows. */
export function manyRows(siblings: Siblings, leftOf: LeftOf, scratch: ScratchSlots, options: ProductOptions): readonly Dispatch[] {
  const { a, results } = siblings;
  const halvesOf = new Map(
    results.flatMap((result) => {
      const halves = halvesOfAll(result, leftOf);
      return halves === undefined ? [] : [[result, halves] as const];
    }),
  );
  const apart = results.flatMap((result) => {
    const halves = halvesOf.get(result);
    return separately(a, result, leftOf, scratch, halves === undefined ? options : { ...options, mostRows: halves.from - 1 });
  });
  const together = [...new Set(halvesOf.values())].flatMap((halves) => {
    return matricesOf(
      a,
      results.filter((result) => halvesOf.get(result) === halves),
      halves,
      options.capabilities,
    );
  });
  return [...apart, ...together];
}

/** The rows as halves that all products of a result read, if a dispatch of matrices can compute the result. */
function halvesOfAll({ products: multiplied, shape }: SiblingResult, leftOf: LeftOf): HalfRows | undefined {
  const [halves, ...others] = multiplied.map((product) => leftOf(product).halves);
  if (others.some((other) => other !== halves) || typeof shape.at(-1) !== "number") return undefined;
  return multipliesTogether(multiplied.map(({ weight }) => weight)) ? halves : undefined;
}

/** Dispatches of matrices that compute results for many rows, which `halves` has. */
function matricesOf(a: TensorSpec, results: readonly SiblingResult[], halves: HalfRows, capabilities: Capabilities): readonly Dispatch[] {
  const matrixResults = results.map(({ products: multiplied, epilogue, y, shape }, r): MatrixResult => {
    const suffix = `${r}`;
    return {
      suffix,
      weights: multiplied.map(({ input: index, weight: { dtype } }, j) => ({
        binding: input(`b${r}_${j}`, index, rowElement(dtype)),
        dtype,
      })),
      columns: maximum(shape.at(-1) ?? 0),
      y: { ...output(`y${suffix}`), resource: y },
      store: storeText(epilogue, { values: multiplied.length, suffix }),
    };
  });
  const { least, most } = rowCounts(a);
  const rowsIn = (dims: DimValues): number => count(a.shape.slice(0, -1), dims);
  const parts = { results: matrixResults, halves: halves.binding, depth: maximum(a.shape.at(-1) ?? 0), rowsIn };
  return matrixProducts(parts, { least: Math.max(least, halves.from), most }, capabilities);
}

/** A dispatch for each product of a result. All but the last product wait in scratch memory for the epilogue of the last one. */
function separately(
  a: TensorSpec,
  { products: multiplied, epilogue, y, shape }: SiblingResult,
  leftOf: LeftOf,
  scratch: ScratchSlots,
  options: ProductOptions,
): readonly Dispatch[] {
  const { mostRows = Infinity } = options;
  const waiting = multiplied.slice(0, -1).map((_, j): Binding => {
    const bytes = 4 * Math.min(rowCounts(a).most, mostRows) * maximum(shape.at(-1) ?? 0);
    return { name: `w${j}`, resource: scratch.take(bytes), access: "read", element: "f32" };
  });
  const last = storeText(epilogue, { results: [...waiting.map(({ name }) => `${name}[i]`), "result"] });
  const store = { ...last, bindings: [...waiting, ...last.bindings] };
  return multiplied.flatMap((product, j) => {
    const { input: index, weight, params } = product;
    const found = leftOf(product);
    const left: Left = { ...found, binding: { ...found.binding, name: "a" } };
    const target = waiting[j];
    const text = target === undefined ? store : storeText(undefined);
    const call = { inputs: [a, weight], output: product.output };
    const resources = { y: target?.resource ?? y, b: { kind: "input", index } } as const;
    return productDispatches(call, params, left, text, options).map((dispatch) => rebind(dispatch, resources));
  });
}
