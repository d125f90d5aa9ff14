import type { DimValues } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import { type Capabilities, subgroupLanes } from "../../device/capabilities.ts";
import { defineDispatch } from "../../wgsl/module.ts";
import { dotLoops, type RowProduct, type RowReader, storedReader } from "./dotLoops.ts";
import type { Binding, Dispatch, DispatchForms, Field } from "./kernel.ts";
import { lazily } from "./lazily.ts";
import {
  columnsAtOnce,
  formNamed,
  isSoundForm,
  nameOfForm,
  otherForms,
  type RowForm,
  type RowWork,
  rowForm,
  sumBytes,
  type WeightReads,
} from "./rowForm.ts";
import { range } from "./shape.ts";
import { denseRows, type TileRows } from "./tileRows.ts";
import { weightEmitter } from "./weights.ts";

/** A result `[m, n]` that is computed from one element of each product. */
export interface RowResult {
  readonly products: readonly RowProduct[];
  readonly columns: number;
  /** Expression of element `index`, computed from the products' elements. */
  element(index: string, values: readonly string[]): string;
  /** Statement that stores an element. */
  store(index: string, value: string): string;
  /** In place of `store`, in runs of one row: statement that stores the elements of columns `column`, which is even, and `column + 1`. */
  storePair?(column: string, first: string, second: string): string;
}

/** A dispatch of {@link rowProducts}, but for what it computes. */
export interface RowParts {
  readonly bindings: readonly Binding[];
  readonly uniforms: Readonly<Record<string, Field["type"]>>;
  readonly declarations: readonly string[];
  values(dims: DimValues): Record<string, number>;
  /** Rows of a run. */
  rowsIn(dims: DimValues): number;
  /** Extent of the axis that is summed over. */
  readonly depth: number;
  /** Where rows and their matrices are found. Its bindings come after the others. */
  readonly order?: TileRows;
  /** Fills memory of the workgroup, from which products then read a row; the bindings have none. Only for runs of one row. */
  readonly stage?: RowStage;
  /** The same with a stage of so many lanes. */
  stagedBy?(lanes: number): RowParts;
}

/** Statements that prepare the row that products read, in each workgroup. */
export interface RowStage {
  readonly lines: readonly string[];
  /** Lanes of a workgroup, a multiple of those of a product. */
  readonly lanes: number;
  /** Bytes of the workgroup's memory that they take. */
  readonly bytes: number;
  /** Four elements of the row, from `4 * index` on. */
  quadAt(index: string): string;
  /** Quad `quad` of a unit of the row. */
  unitQuadAt(unit: string, quad: number): string;
}

/** Bounds of the number of rows of runs. */
export interface RowCounts {
  readonly least: number;
  readonly most: number;
}

/**
 * Numbers of rows from which on other forms are faster than reading each weight for a few rows at once. That of floats is higher: so few rows would
 * leave tiles mostly empty, and lanes with columns of their own are slow to read floats.
 */
export const fewestOfMany: Readonly<Record<WeightReads, number>> = { codes: 9, blocks: 9, floats: 17 };

/** Rows that each weight is multiplied with in runs of several; twice as many where products multiply packed integers. */
const severalRows = 4;

/**
 * Dispatches for runs of at least `counts.least` and fewer than {@link fewestOfMany} rows: one for a single row, and those that multiply each weight
 * with several. A workgroup computes a few neighbouring columns; its lanes share the depth.
 */
export function rowProducts(
  results: readonly RowResult[],
  parts: RowParts,
  counts: RowCounts,
  capabilities: Capabilities,
): readonly Dispatch[] {
  const dispatch = (rows: number, takes: (m: number) => boolean): Dispatch => {
    const form = formOf(results, parts, rows, subgroupLanes(capabilities));
    return { ...rowDispatch(results, parts, form, takes), forms: lazily(() => formsOf(results, parts, form, takes, capabilities)) };
  };
  const reads = readsOf(productsOf(results));
  const several = severalOf(reads, counts);
  return [
    ...(counts.least <= 1 ? [dispatch(1, (m) => m === 1)] : []),
    ...several.map((rows, i) => {
      const fewest = Math.max(counts.least, (several[i - 1] ?? 1) + 1);
      const most = i === several.length - 1 ? fewestOfMany[reads] - 1 : rows;
      return dispatch(rows, (m) => m >= fewest && m <= most);
    }),
  ];
}

/** The dispatch for runs of the numbers of rows that `takes`. A workgroup multiplies one row, with the matrix that `parts.order` finds for it. */
export function rowsOneByOne(result: RowResult, parts: RowParts, takes: (m: number) => boolean, capabilities: Capabilities): Dispatch {
  return rowDispatch([result], parts, formOf([result], parts, 1, subgroupLanes(capabilities)), takes);
}

/** Numbers of rows that each weight is multiplied with in runs of several rows. */
function severalOf(reads: WeightReads, { least, most }: RowCounts): readonly number[] {
  if (most <= 1 || least >= fewestOfMany[reads]) return [];
  return reads === "codes" && most > severalRows ? [severalRows, 2 * severalRows] : [severalRows];
}

/** Bytes of a workgroup's memory that {@link rowProducts} takes for results of up to `products` products, beyond what a stage does. */
export function rowBytes(
  { products, ...work }: Pick<RowWork, "depth" | "reads" | "stageLanes" | "subgroup"> & { readonly products: number },
  counts: RowCounts,
): number {
  const forms = [1, ...severalOf(work.reads, counts)].map((rows) => rowForm({ ...work, products, rows, columns: 1 }));
  return Math.max(...forms.map((form) => sumBytes(products, form)));
}

/** What lanes read of the weights of products that one dispatch computes. */
export function readsOf(products: readonly Pick<RowProduct, "isPacked" | "dtype">[]): WeightReads {
  if (products.every(({ isPacked }) => isPacked)) return "codes";
  return products.some(({ dtype }) => isQuantized(dtype)) ? "blocks" : "floats";
}

function productsOf(results: readonly RowResult[]): readonly RowProduct[] {
  return results.flatMap(({ products }) => products);
}

function mostProducts(results: readonly RowResult[]): number {
  return Math.max(...results.map(({ products }) => products.length));
}

function formOf(
  results: readonly RowResult[],
  { depth, stage }: Pick<RowParts, "depth" | "stage">,
  rows: number,
  subgroup: number,
): RowForm {
  const columns = results.reduce((sum, result) => sum + result.columns, 0);
  const products = mostProducts(results);
  return rowForm({ columns, depth, rows, products, reads: readsOf(productsOf(results)), stageLanes: stage?.lanes, subgroup });
}

/** Other forms that the workgroup's memory has room for. */
function formsOf(
  results: readonly RowResult[],
  parts: RowParts,
  form: RowForm,
  takes: (m: number) => boolean,
  { maxLanes, workgroupBytes }: Capabilities,
): DispatchForms {
  /** The parts of a form that the device can run. */
  const partsIn = (other: RowForm): RowParts | undefined => {
    if (!isSoundForm(other, form, maxLanes)) return undefined;
    const own = other.lanes === form.lanes || parts.stage === undefined ? parts : parts.stagedBy?.(other.lanes);
    const bytes = (own?.stage?.bytes ?? 0) + sumBytes(mostProducts(results), other) + waitingBytes(results, other);
    const isHalved = results.some(({ storePair }) => storePair) && columnsAtOnce(other) % 2 === 1;
    return bytes > workgroupBytes || isHalved ? undefined : own;
  };
  const own = nameOfForm(form);
  const reads = readsOf(productsOf(results));
  const others = otherForms(form, reads, parts.stage !== undefined).filter((other) => partsIn(other) !== undefined);
  const weights = results.map(({ products, columns }) => `${products.map(({ dtype }) => dtype).join(" and ")} of ${columns}`);
  const rows = form.rows === 1 ? "1 row" : `${form.rows} rows`;
  const kind = `${reads === "codes" ? "codes" : "floats"}${parts.stage === undefined ? "" : ", prepared"}`;
  return {
    work: `${rows} of ${parts.depth} by ${weights.join(", ")}: ${kind}`,
    own,
    others: [...new Set(others.map(nameOfForm))].filter((name) => name !== own),
    form: (name) => {
      const other = formNamed(name, form);
      const found = other && partsIn(other);
      return other && found && rowDispatch(results, found, other, takes);
    },
  };
}

/** Bytes of a workgroup's memory in which elements wait to be stored in pairs. */
function waitingBytes(results: readonly RowResult[], form: RowForm): number {
  return results.some(({ storePair }) => storePair) ? 4 * columnsAtOnce(form) : 0;
}

function rowDispatch(results: readonly RowResult[], parts: RowParts, form: RowForm, takes: (m: number) => boolean): Dispatch {
  const { lanes, rows } = form;
  const { order = denseRows } = parts;
  const perGroup = columnsAtOnce(form) * form.turns;
  const names = ["m", "k", ...results.map((_, r) => `n${r}`)];
  const reader = parts.stage === undefined ? storedReader(parts.depth) : stagedReader(parts.stage);
  const texts = results.map((result, r) => resultText(result, r, form, reader, order));
  const bytes = sumBytes(mostProducts(results), form);
  const waiting = waitingBytes(results, form);
  return defineDispatch({
    bindings: [...parts.bindings, ...order.bindings],
    uniforms: { ...Object.fromEntries(names.map((name) => [name, "u32" as const])), ...order.uniforms, ...parts.uniforms },
    lanes,
    declarations: [
      ...parts.declarations,
      ...texts.flatMap(({ declarations }) => declarations),
      ...(bytes === 0 ? [] : [`var<workgroup> sums: array<f32, ${bytes / 4}>;`]),
      ...(waiting === 0 ? [] : [`var<workgroup> waiting: array<f32, ${waiting / 4}>;`]),
    ],
    body: [
      `let sub = lane % ${form.lanesPerColumn}u;`,
      `let chunks = ${order.tiles(rows)};`,
      ...results.map((_, r) => `let end${r} = ${r === 0 ? "" : `end${r - 1} + `}(p.n${r} + ${perGroup - 1}u) / ${perGroup}u * chunks;`),
      ...(parts.stage?.lines ?? []),
      texts.map(({ body }, r) => `${r === texts.length - 1 ? "" : `if (group < end${r}) `}{\n${body.join("\n")}\n}`).join(" else "),
    ].join("\n"),
    sizeIn(dims) {
      const m = parts.rowsIn(dims);
      const columns = results.map((result, r) => [`n${r}`, result.columns] as const);
      const groups = columns.reduce((sum, [, n]) => sum + Math.ceil(n / perGroup), 0) * order.tilesIn(m, rows);
      return {
        groups: takes(m) ? groups : 0,
        values: { m, k: parts.depth, ...Object.fromEntries(columns), ...order.valuesIn(m, rows), ...parts.values(dims) },
      };
    },
  });
}

function stagedReader({ quadAt, unitQuadAt }: RowStage): RowReader {
  return { quadAt: (_name, index) => quadAt(index), unitQuadAt: (_type, _name, _row, unit, quad) => unitQuadAt(unit, quad) };
}

interface ResultText {
  readonly declarations: readonly string[];
  readonly body: readonly string[];
}

function resultText(result: RowResult, r: number, form: RowForm, reader: RowReader, order: TileRows): ResultText {
  const { products } = result;
  const { lanes, turns, rows, columnsPerLane } = form;
  const k = weightEmitter(Object.fromEntries(products.map(({ b, dtype }) => [b, dtype])), lanes);
  const isRepeated = turns > 1;
  const atOnce = columnsAtOnce(form);
  k.lines.push(
    `let place = group${r === 0 ? "" : ` - end${r - 1}`};`,
    ...(isRepeated ? [`for (var turn = 0u; turn < ${turns}u; turn++) {`] : []),
    `let first = ${isRepeated ? `(place / chunks * ${turns}u + turn)` : "place / chunks"} * ${atOnce}u;`,
    `let column = first + lane / ${form.lanesPerColumn}u * ${columnsPerLane}u;`,
    `let row = place % chunks * ${rows}u;`,
    ...order.start({ tile: "place % chunks", row: "row", column: "first", rows, columns: atOnce, lanes }, `p.n${r}`),
    // Columns and rows beyond the last one are computed again and not stored.
    ...range(columnsPerLane).map((c) => `let column${c} = ${order.column(`min(column + ${c}u, p.n${r} - 1u)`, `p.n${r}`)};`),
    ...range(rows).map((t) => `let row${t} = ${order.source(`row + ${t}u`)};`),
    ...products.flatMap((_, j) => range(columnsPerLane * rows).map((i) => `var sum${j}_${i} = 0.0;`)),
  );
  dotLoops(k, products, form, reader);
  const isInLanes = form.lanesPerColumn <= form.subgroup;
  k.lines.push(...(isInLanes ? storeFromLanes : storeFromMemory)(products.length, form, r, storeOf(result)), ...pairText(result, form, r));
  if (isRepeated) k.lines.push(...(isInLanes && result.storePair === undefined ? [] : ["workgroupBarrier();"]), "}");
  return { declarations: k.declarations, body: k.lines };
}

/** Statement that stores an element, given those of the products. */
type Store = (index: string, values: readonly string[]) => string;

/** Elements that are stored in pairs wait in the workgroup's memory. */
function storeOf({ element, store, storePair }: RowResult): Store {
  if (storePair === undefined) return (index, values) => store(index, element(index, values));
  return (index, values) => `waiting[${index} - first] = ${element(index, values)};`;
}

/** A lane stores each pair of columns that wait. */
function pairText({ storePair }: RowResult, form: RowForm, r: number): readonly string[] {
  if (storePair === undefined) return [];
  return [
    "workgroupBarrier();",
    `if (lane < ${columnsAtOnce(form) / 2}u && first + 2u * lane < p.n${r}) {`,
    storePair("(first + 2u * lane)", "waiting[2u * lane]", "waiting[2u * lane + 1u]"),
    "}",
  ];
}

/**
 * Adds the sums of a product over `count` lanes, the neighbours from a multiple of it on. Lanes then have the sums whose number ends in the
 * bits of their own: of `sum<product>_0` and so on, the first `cells / shared` ones. Returns `shared`, the number of lanes that have others.
 */
function addedLanes(k: string[], product: number, cells: number, count: number): number {
  const name = (i: number): string => `sum${product}_${i}`;
  let [left, mask] = [cells, 1];
  for (; left > 1 && mask < count; left /= 2, mask *= 2) {
    k.push("{", `let isOdd = (lane & ${mask}u) != 0u;`);
    for (const i of range(left / 2)) {
      const [even, odd] = [name(2 * i), name(2 * i + 1)];
      k.push(`${name(i)} = select(${even}, ${odd}, isOdd) + subgroupShuffleXor(select(${odd}, ${even}, isOdd), ${mask}u);`);
    }
    k.push("}");
  }
  const shared = mask;
  for (; mask < count; mask *= 2) for (const i of range(left)) k.push(`${name(i)} += subgroupShuffleXor(${name(i)}, ${mask}u);`);
  return shared;
}

/** One lane for each sum stores it. */
function storeFromLanes(products: number, form: RowForm, r: number, store: Store): readonly string[] {
  const { columnsPerLane, rows, lanesPerColumn } = form;
  const cells = columnsPerLane * rows;
  const lines: string[] = [];
  for (const j of range(products)) addedLanes(lines, j, cells, lanesPerColumn);
  return [
    ...lines,
    `if (sub < ${cells}u && column + sub / ${rows}u < p.n${r} && row + sub % ${rows}u < p.m) {`,
    store(
      `((row + sub % ${rows}u) * p.n${r} + column + sub / ${rows}u)`,
      range(products).map((j) => `sum${j}_0`),
    ),
    "}",
  ];
}

/** Sums of subgroups pass through memory, and a lane for each element adds them. */
function storeFromMemory(products: number, form: RowForm, r: number, store: Store): readonly string[] {
  const { lanes, lanesPerColumn, columnsPerLane, rows, subgroup } = form;
  const cells = columnsPerLane * rows;
  const perCell = lanes / subgroup;
  const lines: string[] = [];
  const shared = Math.max(...range(products).map((j) => addedLanes(lines, j, cells, subgroup)));
  const own = shared === 1 ? "" : ` + lane % ${shared}u * ${perCell}u`;
  const writes = range(products).flatMap((j) =>
    range(cells / shared).map((i) => `sums[${(j * cells + i * shared) * perCell}u${own} + lane / ${subgroup}u] = sum${j}_${i};`),
  );
  return [
    ...lines,
    ...(subgroup === shared ? writes : [`if (lane % ${subgroup}u < ${shared}u) {`, ...writes, "}"]),
    "workgroupBarrier();",
    // Columns of the workgroup by rows.
    `for (var cell = lane; cell < ${columnsAtOnce(form) * rows}u; cell += ${lanes}u) {`,
    `let c = cell / ${rows}u;`,
    `let t = cell % ${rows}u;`,
    `if (first + c < p.n${r} && row + t < p.m) {`,
    `let at = (c % ${columnsPerLane}u * ${rows}u + t) * ${perCell}u + c / ${columnsPerLane}u * ${lanesPerColumn / subgroup}u;`,
    ...range(products).flatMap((j) => [
      `var value${j} = 0.0;`,
      `for (var i = 0u; i < ${lanesPerColumn / subgroup}u; i++) { value${j} += sums[${j * cells * perCell}u + at + i]; }`,
    ]),
    store(
      `((row + t) * p.n${r} + first + c)`,
      range(products).map((j) => `value${j}`),
    ),
    "}",
    "}",
  ];
}
