import type { DType, ParamsOf } from "@centella/core";
import { elementAt, isQuantized } from "@centella/core/backend";
import type { Capabilities } from "../../device/capabilities.ts";
import type { EpilogueText } from "../../wgsl/epilogue.ts";
import { defineDispatch } from "../../wgsl/module.ts";
import type { Binding, Dispatch } from "../shared/kernel.ts";
import { fewestOfMany, type RowCounts } from "../shared/rowProducts.ts";
import { range } from "../shared/shape.ts";
import type { TileText } from "../shared/tile.ts";
import type { TileParts } from "../shared/tileProducts.ts";
import { denseRows } from "../shared/tileRows.ts";
import { weightEmitter } from "../shared/weights.ts";
import { factorText } from "./halfRows.ts";
import { columnMoves, type Move, rowMoves } from "./matrixMoves.ts";
import {
  columnsOf,
  isPlain,
  type MatrixForm,
  type MatrixResult,
  type MatrixTile,
  type MatrixUnit,
  type MatrixWeight,
  matrixSize,
  matrixUnit,
  strideOf,
} from "./matrixUnit.ts";

/** Results that one dispatch computes, of the same rows. */
export interface MatrixParts extends Pick<TileParts, "depth" | "rowsIn" | "order"> {
  readonly results: readonly MatrixResult[];
  /** The rows. */
  readonly halves: Binding;
  /** Most rows of a tile in a run with `m` rows of results. Default: any. */
  readonly mostRows?: (m: number) => number;
}

/** The smallest form, which fits every device. */
export const smallestForm: MatrixForm = { rows: 64, columns: 64, depth: 32, down: 2, across: 2 };

/** Forms in the order in which they are preferred. */
const forms = {
  manyRows: { rows: 128, columns: 128, depth: 32, down: 2, across: 2 },
  wide: { rows: 128, columns: 128, depth: 64, down: 2, across: 4 },
  half: { rows: 64, columns: 128, depth: 64, down: 2, across: 2 },
  quarter: { rows: 64, columns: 64, depth: 64, down: 2, across: 2 },
  small: smallestForm,
} satisfies Readonly<Record<string, MatrixForm>>;

/** Most rows of a form. */
export const mostMatrixRows: number = Math.max(...Object.values(forms).map(({ rows }) => rows));

/** Workgroups that keep a device busy. */
const enoughGroups = 100;

/** From this number of tiles on, lanes with more results each are faster. */
const manyGroups = 512;

/** The number of rows from which on matrices are faster than the other forms: lanes multiply few rows of blocks faster, as codes or as floats. */
export function fewestHalved(dtype: DType): number {
  return isQuantized(dtype) ? 65 : fewestOfMany.floats;
}

/** Whether products with a weight multiply matrices of halves: modes of activations other than "f32" permit to round both operands. */
export function readsHalves(
  weight: DType,
  depth: number,
  { activations }: Pick<ParamsOf<"matmul">, "activations">,
  capabilities: Capabilities,
): boolean {
  return activations !== "f32" && hasMatrixTile(weight, depth) && matrixUnit(capabilities) !== undefined;
}

/** Dispatches for runs of `least` to `most` rows. */
export function matrixProducts(parts: MatrixParts, { least, most }: RowCounts, capabilities: Capabilities): readonly Dispatch[] {
  const unit = matrixUnit(capabilities);
  if (unit === undefined || most < least) return [];
  const formOf = (m: number): MatrixForm => matrixForm(m, parts, unit, capabilities);
  const counts = range(Math.ceil((most - least) / forms.small.rows) + 1).map((i) => Math.min(most, least + i * forms.small.rows));
  return [...new Set(counts.map(formOf))].map((form) => matrixTile(parts, form, unit, (m) => m >= least && formOf(m) === form));
}

/** Whether one dispatch computes several products: each subgroup has columns of all weights, which are read in the same way. */
export function multipliesTogether(weights: readonly Pick<MatrixWeight, "dtype">[]): boolean {
  const isPossible = Object.values(forms).every(({ columns, across }) => (columns / across) % (weights.length * matrixSize) === 0);
  return isPossible && (isPlain(weights) || weights.every(({ dtype }) => isQuantized(dtype)));
}

/** True if {@link matrixTile} can multiply rows of `depth` elements with a weight of the dtype. */
function hasMatrixTile(dtype: DType, depth: number): boolean {
  return (dtype === "f16" || isQuantized(dtype)) && depth % forms.small.depth === 0;
}

/** Bytes of a workgroup's memory. */
function bytesOf(form: MatrixForm, { shape, functions }: MatrixUnit): number {
  const { rows, columns, down, across } = form;
  return functions.bytes * (rows + columns) * strideOf(form) + 4 * down * across * shape.m * shape.n;
}

/** The form for a product of `m` rows. */
export function matrixForm(m: number, parts: MatrixParts, unit: MatrixUnit, { maxLanes, workgroupBytes }: Capabilities): MatrixForm {
  const { depth, results, mostRows } = parts;
  const rows = mostRows?.(m) ?? Number.POSITIVE_INFINITY;
  const fits = (form: MatrixForm): boolean =>
    form.rows <= rows &&
    depth % form.depth === 0 &&
    bytesOf(form, unit) <= workgroupBytes &&
    form.down * form.across * unit.subgroup <= maxLanes;
  const groups = (form: MatrixForm): number => elementAt(tileEnds(parts, form, m), results.length - 1);
  const hasMany = results.every(({ weights }) => isPlain(weights)) && groups(forms.wide) >= manyGroups;
  const order = [...(hasMany ? [forms.manyRows] : []), forms.wide, forms.half];
  return order.find((form) => groups(form) >= enoughGroups && fits(form)) ?? [forms.quarter].find(fits) ?? forms.small;
}

/** Numbers of tiles up to the end of each result. Workgroups have the tiles of the first result, then those of the second, and so on. */
function tileEnds({ results, order = denseRows }: MatrixParts, form: MatrixForm, m: number): readonly number[] {
  let end = 0;
  return results.map(({ columns, weights }) => (end += order.tilesIn(m, form.rows) * Math.ceil(columns / columnsOf(form, weights))));
}

/** A tile of products of halves. `takes` are the numbers of rows of the runs that it computes. */
export function matrixTile(parts: MatrixParts, form: MatrixForm, unit: MatrixUnit, takes: (m: number) => boolean): Dispatch {
  const { results, halves, depth, order = denseRows } = parts;
  const { functions, shape, subgroup } = unit;
  const lanes = form.down * form.across * subgroup;
  const stride = strideOf(form);
  const texts = results.map((result) => resultText(result, { ...unit, form, lanes, order }));
  const own = results.flatMap(({ weights, y, store }) => [...weights.map(({ binding }) => binding), y, ...store.bindings]);
  const names = ["m", ...results.map(({ suffix }) => `n${suffix}`), "k", ...results.slice(0, -1).map(({ suffix }) => `end${suffix}`)];
  const uniforms = Object.fromEntries(names.map((name) => [name, "u32"]));
  return defineDispatch({
    bindings: [...new Map([halves, ...order.bindings, ...own].map((binding) => [binding.name, binding])).values()],
    uniforms: Object.assign(uniforms, order.uniforms, ...results.map(({ store }) => store.uniforms)) as EpilogueText["uniforms"],
    lanes,
    declarations: [
      ...texts.flatMap(({ declarations }) => declarations),
      ...functions.declarations,
      ...results.flatMap(({ store }) => store.declarations),
      `var<workgroup> leftTile: array<${functions.element}, ${form.rows * stride}>;`,
      `var<workgroup> rightTile: array<${functions.element}, ${form.columns * stride}>;`,
      `var<workgroup> results: array<f32, ${form.down * form.across * shape.m * shape.n}>;`,
    ],
    body: [
      `let down = ${order.tiles(form.rows)};`,
      `let subgroup = lane / ${subgroup}u;`,
      ...results.flatMap(({ suffix }, r) => [
        `${r === 0 ? "" : "else "}${r < results.length - 1 ? `if (group < p.end${suffix}) ` : ""}{`,
        `let tile = group${r === 0 ? "" : ` - p.end${elementAt(results, r - 1).suffix}`};`,
        elementAt(texts, r).body,
        "}",
      ]),
    ].join("\n"),
    sizeIn(dims) {
      const m = parts.rowsIn(dims);
      const ends = tileEnds(parts, form, m);
      const values: Record<string, number> = { m, k: depth, ...order.valuesIn(m, form.rows) };
      results.forEach(({ suffix, columns, store }, r) => {
        Object.assign(values, { [`n${suffix}`]: columns, [`end${suffix}`]: elementAt(ends, r) }, store.values(dims));
      });
      return { groups: takes(m) ? elementAt(ends, results.length - 1) : 0, values };
    },
  });
}

/** Statements that compute the workgroup's tile of a result: `tile`, of which each column of tiles has `down`. */
function resultText(result: MatrixResult, tile: MatrixTile): TileText {
  const { weights } = result;
  const { form, functions, shape, order, lanes } = tile;
  const columns = columnsOf(form, weights);
  const own = { rows: form.rows / form.down, columns: columns / form.across };
  const places = range(own.rows / shape.m).flatMap((i) => range(own.columns / shape.n).map((j) => ({ i, j })));
  const rights = weights.flatMap((_, w) => range(own.columns / shape.n).map((j) => w * columns + j * shape.n));
  const k = weightEmitter(Object.fromEntries(weights.map(({ binding, dtype }) => [binding.name, dtype])), tile.lanes);
  const moves = [...rowMoves(tile), ...columnMoves(k, result, tile)];
  const body = [
    // Neighbouring workgroups share columns, so weights are read from memory once.
    `let i0 = tile % down * ${form.rows}u; let j0 = tile / down * ${columns}u;`,
    ...order.start({ tile: "tile % down", row: "i0", column: "j0", rows: form.rows, columns, lanes }, `p.n${result.suffix}`),
    `let ownRow = subgroup % ${form.down}u * ${own.rows}u; let ownColumn = subgroup / ${form.down}u * ${own.columns}u;`,
    ...range(own.rows / shape.m).flatMap((i) => rights.map((_, j) => `var ${sumsName(i, j)} = ${functions.zeros};`)),
    ...moves.flatMap(({ starts }) => starts),
    ...loopStart(moves, form, isPlain(weights) && isAhead(form)),
    ...range(form.depth / shape.k).flatMap((part) => multiplied(part, own.rows, rights, tile)),
    "}",
    ...places.flatMap(({ i, j }) => {
      const names = weights.map((_, w) => sumsName(i, (w * own.columns) / shape.n + j));
      return storedText(names, `ownRow + ${i * shape.m}u`, `ownColumn + ${j * shape.n}u`, result, tile);
    }),
  ];
  return { declarations: k.declarations, body: body.join("\n") };
}

/** Whether subgroups have registers left for what is multiplied next if it is not decoded: in small steps little is read. */
function isAhead({ depth }: MatrixForm): boolean {
  return depth <= 32;
}

/**
 * The start of the loop over the depth, up to where its tiles are in workgroup memory. Those of the next step are read then if `ahead`. Nothing but the
 * quads may be variable then: on an H200, products of 4096³ reach 191 TFLOP/s, but 126 if their places are variables, too.
 */
function loopStart(moves: readonly Move[], { depth }: MatrixForm, ahead: boolean): readonly string[] {
  const constants = moves.flatMap((move) => move.constants);
  const reads = moves.flatMap((move) => move.reads);
  const declared = (keyword: "let" | "var"): readonly string[] => [...constants, ...reads.map((read) => `${keyword} ${read}`)];
  const writes = ["workgroupBarrier();", ...moves.flatMap(({ write }) => write), "workgroupBarrier();"];
  if (!ahead) return [`for (var step = 0u; step < p.k / ${depth}u; step++) {`, ...declared("let"), ...writes];
  return [
    "var step = 0u;",
    ...declared("var"),
    `for (; step < p.k / ${depth}u; ) {`,
    ...writes,
    "step++;",
    `if (step < p.k / ${depth}u) {`,
    ...reads,
    "}",
  ];
}

/** Multiplies the subgroup's matrices at part `part` of the tile's depth. */
function multiplied(
  part: number,
  ownRows: number,
  /** Columns of the tile where the subgroup's matrices begin, from its first one on. */
  rights: readonly number[],
  { form, functions, shape }: MatrixTile,
): readonly string[] {
  const rows = range(ownRows / shape.m);
  const stride = strideOf(form);
  const at = (first: string, offset: number): string => `(${first} + ${offset}u) * ${stride}u + ${part * shape.k}u`;
  return [
    "{",
    ...rows.map((i) => `let left${i} = ${functions.load("left", at("ownRow", i * shape.m), stride)};`),
    ...rights.flatMap((column, j) => [
      "{",
      `let right = ${functions.load("right", at("ownColumn", column), stride)};`,
      ...rows.map((i) => `${sumsName(i, j)} = ${functions.multiply(`left${i}`, "right", sumsName(i, j))};`),
      "}",
    ]),
    "}",
  ];
}

function sumsName(i: number, j: number): string {
  return `c${i}_${j}`;
}

/** Stores the results of a matrix of each product. They pass through memory of the subgroup's own; all but the last ones wait in registers. */
function storedText(
  names: readonly string[],
  row: string,
  column: string,
  { suffix }: MatrixResult,
  { functions, shape, subgroup, order }: MatrixTile,
): readonly string[] {
  const count = shape.m * shape.n;
  const own = `results[subgroup * ${count}u + e]`;
  const waiting = names.slice(0, -1).map((name) => `${name}s`);
  /** For each element of the lane. */
  const loop = (statements: readonly string[]): readonly string[] => [
    `for (var e = lane % ${subgroup}u; e < ${count}u; e += ${subgroup}u) {`,
    ...statements,
    "}",
    "workgroupBarrier();",
  ];
  const values = [...waiting.map((name) => `${name}[e / ${subgroup}u]`), own].map(
    (value) => `${value} * ${factorText("halves", order.sourceOfResult("i"))}`,
  );
  return names.flatMap((name, n) => {
    const wait = waiting[n];
    return [
      functions.store(`subgroup * ${count}u`, name),
      "workgroupBarrier();",
      ...(wait === undefined
        ? loop([
            `let i = ${order.result(`i0 + ${row} + e / ${shape.n}u`)}; let j = j0 + ${column} + e % ${shape.n}u;`,
            `if (i < p.m && j < p.n${suffix}) { store${suffix}(i * p.n${suffix} + j, ${values.join(", ")}); }`,
          ])
        : [`var ${wait} = array<f32, ${count / subgroup}>();`, ...loop([`${wait}[e / ${subgroup}u] = ${own};`])]),
    ];
  });
}
