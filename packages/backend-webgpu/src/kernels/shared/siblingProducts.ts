import type { DimValues, TensorSpec } from "@centella/core";
import { elementAt, elementCount } from "@centella/core/backend";
import type { SiblingResult, Siblings } from "@centella/gpu-kernels";
import { type EpilogueText, epilogueText, storeText } from "../../wgsl/epilogue.ts";
import { input, rebind } from "../../wgsl/module.ts";
import { products, roundingDispatch } from "../matmul.ts";
import type { Binding, Dispatch, Resource } from "./kernel.ts";
import { fewestTiled, hasRowProduct, type RowResult, rowElement, rowProducts } from "./rowProducts.ts";
import { count, maximum } from "./shape.ts";

/** Returns the number of storage buffers of the dispatch for few rows, which binds the most. */
export function siblingBindings({ lefts, results }: Siblings): number {
  const own = results.map(({ products: multiplied, epilogue }) => multiplied.length + 1 + Object.keys(epilogue.args).length);
  return own.reduce((a, b) => a + b, lefts.length);
}

/**
 * Products of the first input, each of which goes into one result. For few rows all are one dispatch; for more rows each is the dispatch
 * of a product.
 */
export function siblingDispatches(siblings: Siblings): readonly Dispatch[] {
  const { a } = siblings;
  const scratch = new ScratchSlots();
  const lefts = siblings.lefts.map((type, i): Binding => {
    const resource: Resource = type === undefined ? { kind: "input", index: 0 } : scratch.take(a);
    return { name: `a${i}`, resource, access: "read", element: "f32" };
  });
  const roundings = siblings.lefts.flatMap((type, i) => {
    const left = lefts[i];
    return type === undefined || left === undefined ? [] : [rebind(roundingDispatch(a, type, false), { y: left.resource })];
  });
  const lead = a.shape.slice(0, -1);
  const most = elementCount(lead.map(maximum));
  const rows = { least: lead.every((dim) => typeof dim === "number") ? most : 0, most };
  const depth = a.shape.at(-1);
  const weights = siblings.results.flatMap(({ products: multiplied }) => multiplied.map(({ weight }) => weight.dtype));
  const together = typeof depth === "number" && weights.every((dtype) => hasRowProduct(dtype, depth));
  const apart = !together || most >= fewestTiled;
  return [
    ...roundings,
    ...(together ? fewRows(siblings, lefts, depth, rows) : []),
    ...(apart ? siblings.results.flatMap((result) => separately(a, result, lefts, scratch, !together)) : []),
  ];
}

/** Bounds of the number of rows of runs. */
interface RowCounts {
  readonly least: number;
  readonly most: number;
}

/** Scratch memory of an op call, a buffer for each slot. */
class ScratchSlots {
  #slots = 0;

  /** A slot for a tensor of f32. */
  take({ shape }: TensorSpec): Resource {
    return { kind: "scratch", bytes: 4 * elementCount(shape.map(maximum)), slot: this.#slots++ };
  }
}

/** All results in one dispatch for one row and one for a few. */
function fewRows({ a, results }: Siblings, lefts: readonly Binding[], depth: number, rows: RowCounts): readonly Dispatch[] {
  const named = results.map(({ products: multiplied, epilogue, y, shape }, r) => {
    const text = epilogueText(epilogue, { name: `epilogue${r}`, parameters: multiplied.map((_, j) => `t${j}`) });
    const weights = multiplied.map(({ input: index, weight }, j) => input(`b${r}_${j}`, index, rowElement(weight.dtype)));
    const target: Binding = { name: `y${r}`, resource: y, access: "read_write", element: "f32" };
    return { multiplied, weights, target, text, columns: maximum(shape.at(-1) ?? 0) };
  });
  const rowResults = named.map(
    ({ multiplied, weights, target, columns }, r): RowResult => ({
      columns,
      products: multiplied.map(({ left, weight }, j) => ({
        a: elementAt(lefts, left).name,
        b: elementAt(weights, j).name,
        dtype: weight.dtype,
      })),
      store: (index, values) => `${target.name}[${index}] = epilogue${r}(${[index, ...values].join(", ")});`,
    }),
  );
  const texts = named.map(({ text }) => text);
  const parts = {
    bindings: [
      ...lefts.map((left) => ({ ...left, element: "vec4f" as const })),
      ...named.flatMap(({ weights, target }) => [...weights, target]),
      ...texts.flatMap(({ bindings }) => bindings),
    ],
    uniforms: Object.assign({}, ...texts.map(({ uniforms }) => uniforms)) as EpilogueText["uniforms"],
    declarations: texts.flatMap(({ declarations }) => declarations),
    values: (dims: DimValues): Record<string, number> => Object.assign({}, ...texts.map(({ values }) => values(dims))),
    rowsIn: (dims: DimValues) => count(a.shape.slice(0, -1), dims),
    depth,
  };
  return rowProducts(rowResults, parts, rows);
}

/** A dispatch for each product of a result. All but the last product wait in scratch memory for the epilogue of the last one. */
function separately(
  a: TensorSpec,
  { products: multiplied, epilogue, y }: SiblingResult,
  lefts: readonly Binding[],
  scratch: ScratchSlots,
  forFew: boolean,
): readonly Dispatch[] {
  const waiting = multiplied.slice(0, -1).map(({ output }, j): Binding => {
    return { name: `w${j}`, resource: scratch.take(output), access: "read", element: "f32" };
  });
  const last = storeText(epilogue, [...waiting.map(({ name }) => `${name}[i]`), "result"]);
  const store = { ...last, bindings: [...waiting, ...last.bindings] };
  return multiplied.flatMap(({ left, input: index, weight, params, output }, j) => {
    const a0 = lefts[left];
    if (a0 === undefined) return [];
    const target = waiting[j];
    const text = target === undefined ? store : storeText(undefined);
    const call = { inputs: [a, weight], output };
    const resources = { y: target?.resource ?? y, b: { kind: "input", index } } as const;
    return products(call, params, { ...a0, name: "a" }, text, forFew).map((dispatch) => rebind(dispatch, resources));
  });
}
