import type { DimValues } from "@centella/core";
import { elementAt, isQuantized } from "@centella/core/backend";
import { type AnchoredCall, type SiblingResult, type Siblings, stagedNormArgs } from "@centella/gpu-kernels";
import { type Capabilities, subgroupLanes } from "../../device/capabilities.ts";
import { type EpilogueText, epilogueText } from "../../wgsl/epilogue.ts";
import { input } from "../../wgsl/module.ts";
import type { Binding, Dispatch, Resource } from "../shared/kernel.ts";
import { floatBytes, forRows, rowCounts, ScratchSlots } from "../shared/preparedRows.ts";
import { isUnitRounding } from "../shared/roundedUnits.ts";
import { roundingLanes, type WeightReads } from "../shared/rowForm.ts";
import { fewestOfMany, type RowCounts, type RowParts, type RowResult, readsOf, rowBytes, rowProducts } from "../shared/rowProducts.ts";
import { copiedRow, type NormedInputs, normedRow, type RowSource, storedRows, unitRow, unitRowBytes } from "../shared/rowSource.ts";
import { count, maximum } from "../shared/shape.ts";
import { hasRowProduct, rowElement } from "../shared/weights.ts";
import type { PairWriter } from "./cacheWriters.ts";
import { manyRows } from "./manyRows.ts";
import { formOf, formsOf, leftsOf } from "./rowForms.ts";

/** Returns the number of storage buffers of the dispatch for few rows, which binds the most. */
export function siblingBindings({ lefts, results }: Siblings, norm?: AnchoredCall): number {
  const own = results.map(({ products: multiplied, epilogue }) => multiplied.length + 1 + Object.keys(epilogue.args).length);
  const rows = norm === undefined ? lefts.length : Object.keys(stagedNormArgs(norm)).length;
  return own.reduce((a, b) => a + b, rows);
}

/** The norm of a group, and the dispatches that store its result. */
export interface NormDispatches extends NormedInputs {
  dispatches(to: Resource): readonly Dispatch[];
}

/**
 * Products of the first input, or of rows that `norm` computes. Each product goes into one result. For few rows all are one dispatch, for
 * one row with the norm and with what rounds it; for more rows each is the dispatch of a product.
 */
export function siblingDispatches(siblings: Siblings, capabilities: Capabilities, norm?: NormDispatches): readonly Dispatch[] {
  const { a } = siblings;
  const scratch = new ScratchSlots();
  const rows = rowCounts(a);
  const { most } = rows;
  const depth = a.shape.at(-1);
  const source: Resource = norm === undefined ? { kind: "input", index: 0 } : scratch.take(floatBytes(a));
  const together = isTogether(siblings);
  const alone = together && rows.least <= 1 ? oneRow(siblings, capabilities, source, norm) : undefined;
  const one = alone === undefined || typeof depth !== "number" ? [] : fewRows(siblings, alone, depth, { least: 0, most: 1 }, capabilities);
  if (alone !== undefined && most === 1) return one;
  const { lefts, leftOf, roundings } = leftsOf(siblings, capabilities, source, scratch);
  const before = [...(norm?.dispatches(source) ?? []), ...roundings];
  const least = alone === undefined ? rows.least : Math.max(2, rows.least);
  const leastOfMany = together ? fewestOfMany[readsOfAll(siblings, capabilities)] : 0;
  return [
    ...one,
    ...(alone === undefined ? before : forRows(before, a.shape.slice(0, -1), { least: 2 })),
    ...(together && typeof depth === "number" ? fewRows(siblings, storedRows(lefts, leftOf), depth, { least, most }, capabilities) : []),
    ...(most < leastOfMany ? [] : manyRows(siblings, leftOf, scratch, { leastRows: leastOfMany, capabilities })),
  ];
}

/** Bytes of a workgroup's memory in which elements of a product wait to be stored in pairs, at most. */
const pairBytes = 256;

/**
 * Products of one row, with the norm and with what rounds it, whose results `writers` store; none where they are several dispatches, or bind
 * more than the device can.
 */
export function writtenProducts(
  siblings: Siblings,
  capabilities: Capabilities,
  norm: NormedInputs | undefined,
  writers: ReadonlyMap<SiblingResult, PairWriter>,
): readonly Dispatch[] {
  const { a } = siblings;
  const depth = a.shape.at(-1);
  const row = isTogether(siblings) ? oneRow(siblings, capabilities, { kind: "input", index: 0 }, norm) : undefined;
  if (row?.stage === undefined || typeof depth !== "number" || rowCounts(a).least > 1) return [];
  const bytes = row.bytes + sumsOf(siblings, capabilities, row.stage.lanes) + pairBytes;
  if (memoryUnsupported(bytes, capabilities) !== undefined) return [];
  const dispatches = fewRows(siblings, row, depth, { least: 0, most: 1 }, capabilities, writers);
  return dispatches.filter(({ bindings }) => bindings.length <= capabilities.maxBindings);
}

/** Where products of one row read it if each workgroup prepares it; undefined if it is read from memory. */
function oneRow(siblings: Siblings, capabilities: Capabilities, source: Resource, norm: NormedInputs | undefined): RowSource | undefined {
  const { a } = siblings;
  const subgroup = subgroupLanes(capabilities);
  const [form, ...others] = formsOf(siblings, capabilities);
  if (others.length > 0) return undefined;
  const row: Binding = { name: "a0", resource: source, access: "read", element: "f32" };
  if (form?.isPacked !== true || !isUnitRounding(form.rounding)) {
    return norm === undefined ? copiedUnits(siblings, capabilities, row) : normedRow(siblings, norm.call, subgroup);
  }
  if (unitRowBytesOf(siblings, capabilities) > capabilities.workgroupBytes) return undefined;
  return unitRow({ a, type: form.rounding, source: norm ?? row, lanes: roundingLanesOf(siblings, capabilities), subgroup });
}

/**
 * Lanes of a workgroup that copies its row. The floats of two units of weights take many registers: more lanes are only faster where each has one
 * product, and where two columns of each lane leave work for all processors.
 */
function copyingLanesOf(siblings: Siblings, capabilities: Capabilities): number {
  const isOne = siblings.results.every(({ products: multiplied }) => multiplied.length === 1);
  const most = isOne ? roundingLanesOf(siblings, capabilities, 2) : 0;
  return Math.min(Math.max(most, mostCopyingLanes), roundingLanesOf(siblings, capabilities));
}

/** Lanes that any device has registers for. */
const mostCopyingLanes = 512;

/** A row of floats in the memory of each workgroup, for products with units of weights; undefined where it is read from memory. */
function copiedUnits(siblings: Siblings, capabilities: Capabilities, row: Binding): RowSource | undefined {
  const weights = siblings.results.flatMap(({ products: multiplied }) => multiplied.map(({ weight }) => weight.dtype));
  if (siblings.lefts.some((rounding) => rounding !== undefined) || !weights.every(isQuantized)) return undefined;
  const lanes = copyingLanesOf(siblings, capabilities);
  const copied = copiedRow(siblings.a, row, lanes);
  return copied.bytes + sumsOf(siblings, capabilities, lanes) > capabilities.workgroupBytes ? undefined : copied;
}

/** Bytes of a workgroup's memory where it rounds the row of packed products. */
function unitRowBytesOf(siblings: Siblings, capabilities: Capabilities): number {
  const lanes = roundingLanesOf(siblings, capabilities);
  return unitRowBytes(siblings.a, lanes) + sumsOf(siblings, capabilities, lanes);
}

/** {@link roundingLanes} where a lane has several columns. */
function roundingLanesOf({ a, results }: Siblings, capabilities: Capabilities, columnsPerLane = 1): number {
  const columns = results.reduce((sum, { shape }) => sum + maximum(shape.at(-1) ?? 0), 0);
  const { maxLanes } = capabilities;
  return roundingLanes(columns / columnsPerLane, { depth: maximum(a.shape.at(-1) ?? 0), maxLanes, subgroup: subgroupLanes(capabilities) });
}

/** Whether products of few rows are one dispatch. */
function isTogether({ a, results }: Siblings): boolean {
  const depth = a.shape.at(-1);
  const weights = results.flatMap(({ products: multiplied }) => multiplied.map(({ weight }) => weight.dtype));
  return typeof depth === "number" && weights.every((dtype) => hasRowProduct(dtype, depth));
}

/** The reason why no dispatch norms the row that it multiplies, in a workgroup's memory; undefined if one does. */
export function normUnsupported(siblings: Siblings, norm: NormedInputs, capabilities: Capabilities): string | undefined {
  const { a } = siblings;
  if (a.shape.slice(0, -1).some((dim) => typeof dim === "number" && dim !== 1)) return "a norm of several rows";
  const forms = formsOf(siblings, capabilities);
  if (forms.length > 1) return "a norm that is rounded in several ways";
  if (!isTogether(siblings)) return "products that are computed one by one";
  const { bytes, stage } = forms.every(({ isPacked }) => isPacked)
    ? { bytes: unitRowBytesOf(siblings, capabilities), stage: undefined }
    : normedRow(siblings, norm.call, subgroupLanes(capabilities));
  const sums = stage === undefined ? 0 : sumsOf(siblings, capabilities, stage.lanes);
  const reason = memoryUnsupported(bytes + sums, capabilities);
  if (reason !== undefined) return reason;
  return siblingsUnsupported(siblings, capabilities);
}

/** The reason why no dispatch computes products of few rows together, in a workgroup's memory; undefined if one does. */
export function siblingsUnsupported(siblings: Siblings, capabilities: Capabilities): string | undefined {
  return memoryUnsupported(isTogether(siblings) ? sumsOf(siblings, capabilities) : 0, capabilities);
}

function memoryUnsupported(bytes: number, { workgroupBytes }: Capabilities): string | undefined {
  return bytes > workgroupBytes ? `${bytes} bytes of a workgroup's memory, which has ${workgroupBytes}` : undefined;
}

/** Bytes in which the lanes of a workgroup add up, for one row where the workgroup prepares it with `stageLanes`. */
function sumsOf(siblings: Siblings, capabilities: Capabilities, stageLanes?: number): number {
  const { a, results } = siblings;
  const work = {
    products: Math.max(...results.map(({ products: multiplied }) => multiplied.length)),
    depth: maximum(a.shape.at(-1) ?? 0),
    reads: readsOfAll(siblings, capabilities),
    stageLanes,
    subgroup: subgroupLanes(capabilities),
  };
  return rowBytes(work, stageLanes === undefined ? rowCounts(a) : { least: 0, most: 1 });
}

/** What lanes read of all weights. */
function readsOfAll(siblings: Siblings, capabilities: Capabilities): WeightReads {
  const all = siblings.results.flatMap(({ products: multiplied }) => multiplied);
  return readsOf(all.map((product) => ({ ...formOf(siblings, product, capabilities), dtype: product.weight.dtype })));
}

/** All results in one dispatch for one row and one for a few. Results of one row may have writers. */
function fewRows(
  { a, results }: Siblings,
  source: RowSource,
  depth: number,
  rows: RowCounts,
  capabilities: Capabilities,
  writers: ReadonlyMap<SiblingResult, PairWriter> = new Map(),
): readonly Dispatch[] {
  const written = [...writers.values()];
  const named = results.map((result, r) => {
    const { products: multiplied, epilogue, y, shape } = result;
    const text = epilogueText(epilogue, { name: `epilogue${r}`, parameters: multiplied.map((_, j) => `t${j}`) });
    const weights = multiplied.map(({ input: index, weight }, j) => input(`b${r}_${j}`, index, rowElement(weight.dtype)));
    const target: Binding = { name: `y${r}`, resource: y, access: "read_write", element: "f32" };
    return { multiplied, weights, target, text, columns: maximum(shape.at(-1) ?? 0), writer: writers.get(result) };
  });
  const rowResults = named.map(
    ({ multiplied, weights, target, columns, writer }, r): RowResult => ({
      columns,
      products: multiplied.map((product, j) => ({
        ...source.leftOf(product),
        b: elementAt(weights, j).name,
        dtype: product.weight.dtype,
      })),
      element: (index, values) => `epilogue${r}(${[index, ...values].join(", ")})`,
      store: (index, value) => `${target.name}[${index}] = ${value};`,
      ...(writer && { storePair: (column, first, second) => writer.store(column, first, second) }),
    }),
  );
  const texts = [...named.map(({ text }) => text), ...written];
  const own = named.flatMap(({ weights, target, writer }) => (writer === undefined ? [...weights, target] : weights));
  const partsOf = ({ bindings, uniforms, declarations, values, stage, stagedBy }: RowSource): RowParts => ({
    // Writers have memory in common.
    bindings: [
      ...new Map([...bindings, ...own, ...texts.flatMap((text) => text.bindings)].map((binding) => [binding.name, binding])).values(),
    ],
    uniforms: Object.assign({}, uniforms, ...texts.map((text) => text.uniforms)) as EpilogueText["uniforms"],
    declarations: [...declarations, ...texts.flatMap((text) => text.declarations)],
    values: (dims: DimValues): Record<string, number> => Object.assign(values(dims), ...texts.map((text) => text.values(dims))),
    rowsIn: (dims: DimValues) => count(a.shape.slice(0, -1), dims),
    depth,
    ...(stage && { stage }),
    ...(stagedBy && { stagedBy: (lanes: number) => partsOf(stagedBy(lanes)) }),
  });
  return rowProducts(rowResults, partsOf(source), rows, capabilities);
}
