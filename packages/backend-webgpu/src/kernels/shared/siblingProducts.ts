import type { DimValues, Shape, TensorSpec } from "@centella/core";
import { elementAt, elementCount } from "@centella/core/backend";
import { type AnchoredCall, type SiblingResult, type Siblings, stagedNormArgs } from "@centella/gpu-kernels";
import { type EpilogueText, epilogueText, storeText } from "../../wgsl/epilogue.ts";
import { input, rebind } from "../../wgsl/module.ts";
import { products, roundingDispatch } from "../matmul.ts";
import type { Binding, Dispatch, Resource } from "./kernel.ts";
import { fewestTiled, hasRowProduct, type RowCounts, type RowResult, rowBytes, rowElement, rowProducts } from "./rowProducts.ts";
import { normedBytes, normedRow, type RowSource, storedRows } from "./rowSource.ts";
import { count, maximum } from "./shape.ts";

/** Returns the number of storage buffers of the dispatch for few rows, which binds the most. */
export function siblingBindings({ lefts, results }: Siblings, norm?: AnchoredCall): number {
  const own = results.map(({ products: multiplied, epilogue }) => multiplied.length + 1 + Object.keys(epilogue.args).length);
  const rows = norm === undefined ? lefts.length : Object.keys(stagedNormArgs(norm)).length;
  return own.reduce((a, b) => a + b, rows);
}

/** The norm of a group, and the dispatches that store its result. */
export interface NormDispatches {
  readonly call: AnchoredCall;
  dispatches(to: Resource): readonly Dispatch[];
}

/**
 * Products of the first input, or of rows that `norm` computes. Each product goes into one result. For few rows all are one dispatch,
 * for one row with the norm; for more rows each is the dispatch of a product.
 */
export function siblingDispatches(siblings: Siblings, norm?: NormDispatches): readonly Dispatch[] {
  const { a } = siblings;
  const scratch = new ScratchSlots();
  const lead = a.shape.slice(0, -1);
  const rows = rowCounts(a);
  const { most } = rows;
  const depth = a.shape.at(-1);
  const normed =
    norm === undefined || typeof depth !== "number" ? [] : fewRows(siblings, normedRow(siblings, norm.call), depth, { least: 0, most: 1 });
  if (norm !== undefined && most === 1) return normed;
  const source: Resource = norm === undefined ? { kind: "input", index: 0 } : scratch.take(a);
  const lefts = siblings.lefts.map((type, i): Binding => {
    const resource: Resource = type === undefined ? source : scratch.take(a);
    return { name: `a${i}`, resource, access: "read", element: "f32" };
  });
  const roundings = siblings.lefts.flatMap((type, i) => {
    const left = lefts[i];
    return type === undefined || left === undefined ? [] : [rebind(roundingDispatch(a, type, false), { a: source, y: left.resource })];
  });
  const together = isTogether(siblings);
  const before = [...(norm?.dispatches(source) ?? []), ...roundings];
  const least = norm === undefined ? rows.least : Math.max(2, rows.least);
  return [
    ...normed,
    ...(norm === undefined ? before : before.map((dispatch) => forSeveralRows(dispatch, lead))),
    ...(together && typeof depth === "number" ? fewRows(siblings, storedRows(lefts), depth, { least, most }) : []),
    ...(!together || most >= fewestTiled ? siblings.results.flatMap((result) => separately(a, result, lefts, scratch, !together)) : []),
  ];
}

function rowCounts({ shape }: TensorSpec): RowCounts {
  const lead = shape.slice(0, -1);
  const most = elementCount(lead.map(maximum));
  return { least: lead.every((dim) => typeof dim === "number") ? most : 0, most };
}

/** Whether products of few rows are one dispatch. */
function isTogether({ a, results }: Siblings): boolean {
  const depth = a.shape.at(-1);
  const weights = results.flatMap(({ products: multiplied }) => multiplied.map(({ weight }) => weight.dtype));
  return typeof depth === "number" && weights.every((dtype) => hasRowProduct(dtype, depth));
}

/** A dispatch that is skipped in runs with one row. */
function forSeveralRows(dispatch: Dispatch, lead: Shape): Dispatch {
  return { ...dispatch, sizeIn: (dims) => ({ ...dispatch.sizeIn(dims), ...(count(lead, dims) <= 1 && { groups: 0 }) }) };
}

/** The reason why no dispatch norms the row that it multiplies, in workgroup memory of `workgroupBytes`; undefined if one does. */
export function normUnsupported(siblings: Siblings, workgroupBytes: number): string | undefined {
  const { a, lefts } = siblings;
  if (a.shape.slice(0, -1).some((dim) => typeof dim === "number" && dim !== 1)) return "a norm of several rows";
  if (lefts.length > 1) return "a norm that is rounded in several ways";
  if (!isTogether(siblings)) return "products that are computed one by one";
  return memoryUnsupported(normedBytes(siblings), workgroupBytes) ?? siblingsUnsupported(siblings, workgroupBytes);
}

/** The reason why no dispatch computes products of few rows together, in workgroup memory of `workgroupBytes`; undefined if one does. */
export function siblingsUnsupported(siblings: Siblings, workgroupBytes: number): string | undefined {
  const most = Math.max(...siblings.results.map(({ products: multiplied }) => multiplied.length));
  const bytes = isTogether(siblings) ? rowBytes(most, rowCounts(siblings.a)) : 0;
  return memoryUnsupported(bytes, workgroupBytes);
}

function memoryUnsupported(bytes: number, workgroupBytes: number): string | undefined {
  return bytes > workgroupBytes ? `${bytes} bytes of a workgroup's memory, which has ${workgroupBytes}` : undefined;
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
function fewRows({ a, results }: Siblings, source: RowSource, depth: number, rows: RowCounts): readonly Dispatch[] {
  const named = results.map(({ products: multiplied, epilogue, y, shape }, r) => {
    const text = epilogueText(epilogue, { name: `epilogue${r}`, parameters: multiplied.map((_, j) => `t${j}`) });
    const weights = multiplied.map(({ input: index, weight }, j) => input(`b${r}_${j}`, index, rowElement(weight.dtype)));
    const target: Binding = { name: `y${r}`, resource: y, access: "read_write", element: "f32" };
    return { multiplied, weights, target, text, columns: maximum(shape.at(-1) ?? 0) };
  });
  const rowResults = named.map(
    ({ multiplied, weights, target, columns }, r): RowResult => ({
      columns,
      products: multiplied.map((product, j) => ({
        a: source.nameOf(product),
        b: elementAt(weights, j).name,
        dtype: product.weight.dtype,
      })),
      store: (index, values) => `${target.name}[${index}] = epilogue${r}(${[index, ...values].join(", ")});`,
    }),
  );
  const texts = named.map(({ text }) => text);
  const parts = {
    bindings: [
      ...source.bindings,
      ...named.flatMap(({ weights, target }) => [...weights, target]),
      ...texts.flatMap(({ bindings }) => bindings),
    ],
    uniforms: Object.assign({}, source.uniforms, ...texts.map(({ uniforms }) => uniforms)) as EpilogueText["uniforms"],
    declarations: [...source.declarations, ...texts.flatMap(({ declarations }) => declarations)],
    values: (dims: DimValues): Record<string, number> => Object.assign(source.values(dims), ...texts.map(({ values }) => values(dims))),
    rowsIn: (dims: DimValues) => count(a.shape.slice(0, -1), dims),
    depth,
    ...(source.stage && { stage: source.stage }),
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
