import type { KernelLimits } from "../../device/capabilities.ts";
import { defineDispatch } from "../../wgsl/module.ts";
import { dotLoops, storedReader } from "./dotLoops.ts";
import type { Dispatch, DispatchForms } from "./kernel.ts";
import { lazily } from "./lazily.ts";
import type { RowCounts } from "./rowProducts.ts";
import { range } from "./shape.ts";
import { type TileParts, tileArguments } from "./tileProducts.ts";
import { denseRows, type TileRows } from "./tileRows.ts";
import { weightEmitter } from "./weights.ts";

/** How workgroups divide a product whose lanes have columns of their own. */
interface ColumnForm {
  /** Lanes of a workgroup: slices of the depth, each of `across` lanes. */
  readonly lanes: number;
  readonly across: number;
  /** Columns of a lane, `across` apart: they share the loads of the rows. */
  readonly columnsPerLane: number;
  /** Rows that a lane multiplies each weight with. */
  readonly rows: number;
}

/** Floats of a workgroup's memory in which slices add up: every device has them. */
const sumCount = 4096;

/** Workgroups that keep a device busy. */
const enoughGroups = 128;

/** Lanes of a workgroup on devices with large workgroups. */
const largeGroup = 512;

/** Largest number of rows for which lanes have few columns each: there would be too few workgroups otherwise. */
const fewRows = 32;

/** Rows that a lane multiplies each weight with. */
export const rowsAtOnce = 16;

function fewForm(columns: number, { maxLanes }: KernelLimits): ColumnForm {
  const perGroup = columns / enoughGroups;
  const form = { lanes: Math.min(largeGroup, maxLanes), rows: rowsAtOnce };
  if (perGroup < 32) return { ...form, across: 16, columnsPerLane: 1 };
  return { ...form, across: 32, columnsPerLane: perGroup < 64 ? 1 : 2 };
}

const manyForm: ColumnForm = { lanes: 256, across: 32, columnsPerLane: 4, rows: rowsAtOnce };

/**
 * Dispatches for runs of `least` to `most` rows, of the numbers that `takes`. A lane decodes the weights of a column once and multiplies
 * them with several rows, which all lanes of its slice read at the same place. Slices of a workgroup share the depth, step by step, and
 * add up in a fixed order.
 */
export function columnProducts(
  parts: TileParts,
  { least, most }: RowCounts,
  limits: KernelLimits,
  takes: (m: number) => boolean,
): readonly Dispatch[] {
  const few = fewForm(parts.columns, limits);
  // Floats take the registers of several columns. The text of these is long: compilers of small devices, and of software, take seconds for it.
  const dispatch = (form: ColumnForm, isIn: (m: number) => boolean): Dispatch => {
    const own = (m: number): boolean => m >= least && isIn(m) && takes(m);
    return { ...columnDispatch(parts, form, own), forms: lazily(() => formsOf(parts, form, own, limits)) };
  };
  if (!parts.isPacked || limits.maxLanes < largeGroup) return [dispatch(few, () => true)];
  return [
    ...(least <= fewRows ? [dispatch(few, (m) => m <= fewRows)] : []),
    ...(most > fewRows ? [dispatch(manyForm, (m) => m > fewRows)] : []),
  ];
}

/**
 * The dispatch for runs of the numbers of rows that `takes`. Each tile of {@link rowsAtOnce} rows is multiplied with one of `matrices` matrices;
 * most of these have rows.
 */
export function columnsByTile(parts: TileParts, matrices: number, limits: KernelLimits, takes: (m: number) => boolean): Dispatch {
  const columns = matrices * parts.columns;
  const isMany = parts.isPacked && limits.maxLanes >= largeGroup && columns >= enoughGroups * manyForm.across * manyForm.columnsPerLane;
  return columnDispatch(parts, isMany ? manyForm : fewForm(columns, limits), takes);
}

/** Most sums of a lane. */
const mostSums = 64;

/** Other forms, each of which differs in one choice. */
function formsOf(parts: TileParts, form: ColumnForm, takes: (m: number) => boolean, { maxLanes }: KernelLimits): DispatchForms {
  const { lanes, across, columnsPerLane, rows } = form;
  const all: readonly ColumnForm[] = [
    { ...form, across: across / 2 },
    { ...form, across: 2 * across },
    { ...form, columnsPerLane: columnsPerLane / 2 },
    { ...form, columnsPerLane: 2 * columnsPerLane },
    { ...form, lanes: lanes / 2 },
    { ...form, lanes: 2 * lanes },
  ];
  const isSound = (other: ColumnForm): boolean =>
    other.columnsPerLane >= 1 && other.columnsPerLane * rows <= mostSums && other.lanes <= Math.min(largeGroup, maxLanes);
  const forms = new Map([form, ...all.filter(isSound)].map((other) => [nameOfForm(other), other]));
  const { isPacked, dtype, depth, columns } = parts;
  const work = `groups of ${rows} rows of ${depth} by ${dtype} of ${columns}: ${isPacked ? "codes" : "floats"}`;
  const [own, ...others] = forms.keys();
  return {
    work,
    own: own as string,
    others,
    form: (name) => {
      const found = forms.get(name);
      return found && columnDispatch(parts, found, takes);
    },
  };
}

function nameOfForm({ lanes, across, columnsPerLane }: ColumnForm): string {
  return `${lanes} lanes, ${across} across, ${columnsPerLane} columns`;
}

function columnDispatch(parts: TileParts, form: ColumnForm, takes: (m: number) => boolean): Dispatch {
  const { isPacked, dtype, depth, store, order = denseRows } = parts;
  const { lanes, across, columnsPerLane, rows } = form;
  const k = weightEmitter({ b: dtype }, lanes);
  k.lines.push(
    `let down = ${order.tiles(rows)};`,
    // Neighbouring workgroups share columns, so weights are read from memory once.
    `let firstRow = group % down * ${rows}u;`,
    `let firstColumn = group / down * ${across * columnsPerLane}u;`,
    ...order.start({ tile: "group % down", row: "firstRow", column: "firstColumn", rows, columns: across * columnsPerLane, lanes }, "p.n"),
    `let sub = lane / ${across}u;`,
    // Columns and rows beyond the last one are computed again and not stored.
    ...range(columnsPerLane).map((c) => {
      return `let column${c} = ${order.column(`min(firstColumn + ${c * across}u + lane % ${across}u, p.n - 1u)`, "p.n")};`;
    }),
    ...range(rows).map((t) => `let row${t} = ${order.source(`firstRow + ${t}u`)};`),
    ...range(columnsPerLane * rows).map((i) => `var sum0_${i} = 0.0;`),
  );
  const loops = { lanesPerColumn: lanes / across, columnsPerLane, ahead: 1, depth, rows };
  dotLoops(k, [{ a: "a", b: "b", dtype, isPacked }], loops, storedReader(depth));
  k.lines.push(...addedSlices(form, order));
  return defineDispatch({
    ...tileArguments(parts),
    lanes,
    declarations: [...k.declarations, ...store.declarations, `var<workgroup> sums: array<f32, ${sumCount}>;`],
    body: k.lines.join("\n"),
    sizeIn(dims) {
      const m = parts.rowsIn(dims);
      const groups = order.tilesIn(m, rows) * Math.ceil(parts.columns / (across * columnsPerLane));
      const values: Record<string, number> = { m, n: parts.columns, k: depth, ...order.valuesIn(m, rows), ...store.values(dims) };
      return { groups: takes(m) ? groups : 0, values };
    },
  });
}

/** Adds up the slices' sums in memory, as many rows of a column at a time as fit, and stores the results. */
function addedSlices({ lanes, across, columnsPerLane, rows }: ColumnForm, order: TileRows): readonly string[] {
  const atOnce = Math.min(rows, sumCount / lanes);
  const cells = atOnce * across;
  const parts = range(columnsPerLane).flatMap((c) => range(rows / atOnce).map((part) => ({ c, first: part * atOnce })));
  return parts.flatMap(({ c, first }, i) => [
    ...(i === 0 ? [] : ["workgroupBarrier();"]),
    ...range(atOnce).map((t) => `sums[(sub * ${atOnce}u + ${t}u) * ${across}u + lane % ${across}u] = sum0_${c * rows + first + t};`),
    "workgroupBarrier();",
    `for (var cell = lane; cell < ${cells}u; cell += ${lanes}u) {`,
    `let i = ${order.result(`firstRow + ${first}u + cell / ${across}u`)}; let j = firstColumn + ${c * across}u + cell % ${across}u;`,
    "var total = 0.0;",
    `for (var slice = 0u; slice < ${lanes / across}u; slice++) { total += sums[slice * ${cells}u + cell]; }`,
    "if (i < p.m && j < p.n) { store(i * p.n + j, total); }",
    "}",
  ]);
}
