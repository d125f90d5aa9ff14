import type { DimValues, DType } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import { deviceBlock, loadUnit, unitWeights } from "@centella/gpu-kernels";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import { defineDispatch } from "../../wgsl/module.ts";
import type { Binding, Dispatch, ElementType, Field } from "./kernel.ts";

/** A product of rows `[m, k]` with the rows of a weight `[n, k]`. */
export interface RowProduct {
  /** Name of the binding of the rows, an array of vec4f. */
  readonly a: string;
  /** Name of the binding of the weight, an array of {@link rowElement}. */
  readonly b: string;
  readonly dtype: DType;
}

/** A result `[m, n]` that is computed from one element of each product. */
export interface RowResult {
  readonly products: readonly RowProduct[];
  readonly columns: number;
  /** Statement that stores element `index` from the products' elements. */
  store(index: string, values: readonly string[]): string;
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
  /** Fills memory of the workgroup, from which products then read a row; the bindings have none. Only for runs of one row. */
  readonly stage?: RowStage;
}

/** Statements that prepare the row that products read, in each workgroup. */
export interface RowStage {
  readonly lines: readonly string[];
  /** Lanes of a workgroup, a multiple of those of a product. */
  readonly lanes: number;
  /** Four elements of the row, from `4 * index` on. */
  quadAt(index: string): string;
}

/** Bounds of the number of rows of runs. */
export interface RowCounts {
  readonly least: number;
  readonly most: number;
}

/** Up to this many rows, products read each weight for a few rows at once; a tile would be mostly empty. */
export const fewestTiled = 9;

const productLanes = 64;

/** Rows that each weight is multiplied with in runs of several. */
const rowsAtOnce = 4;

/** Columns that a lane computes at once: they share the loads of the rows. */
const columnsPerLane = 2;

/** From this depth on all lanes of a workgroup share a column; below it, half of them do. */
const deepRow = 8192;

/** Weights of a dtype that a lane reads at once; undefined for dtypes that are not read so. */
export function weightsAtOnce(dtype: DType): number | undefined {
  if (isQuantized(dtype)) return unitWeights;
  return { f32: 4, f16: 8, bf16: 8 }[dtype as string];
}

/** True if {@link rowProducts} can multiply rows of `depth` elements with a weight of the dtype. */
export function hasRowProduct(dtype: DType, depth: number): boolean {
  const weights = weightsAtOnce(dtype);
  return weights !== undefined && depth > 0 && depth % weights === 0;
}

/** Element type of a weight's binding in {@link rowProducts}. */
export function rowElement(dtype: DType): ElementType {
  if (isQuantized(dtype)) return deviceBlock(dtype).blockBytes % 16 === 0 ? "vec4u" : "u32";
  return dtype === "f32" ? "vec4f" : "vec4u";
}

/**
 * Dispatches for runs of fewer than {@link fewestTiled} rows: one for a single row, one that multiplies each weight with four rows. A
 * workgroup computes a few neighbouring columns; its lanes share the depth.
 */
export function rowProducts(results: readonly RowResult[], parts: RowParts, counts: RowCounts): readonly Dispatch[] {
  return [
    ...(counts.least <= 1 ? [rowDispatch(results, parts, 1, (m) => m === 1)] : []),
    ...(hasSeveral(counts) ? [rowDispatch(results, parts, rowsAtOnce, (m) => m > 1 && m < fewestTiled)] : []),
  ];
}

/** Bytes of a workgroup's memory that {@link rowProducts} takes without a stage for results of up to `products` products. */
export function rowBytes(products: number, counts: RowCounts): number {
  return sumBytes(products, hasSeveral(counts) ? rowsAtOnce : 1, productLanes);
}

/** Bytes for what the lanes of a workgroup add up, each a sum for each of its columns, rows and products. */
export function sumBytes(products: number, rows: number, lanes: number): number {
  return 4 * products * columnsPerLane * rows * lanes;
}

/** Whether runs may have more than one row and fewer than {@link fewestTiled}. */
function hasSeveral({ least, most }: RowCounts): boolean {
  return most > 1 && least < fewestTiled;
}

function rowDispatch(results: readonly RowResult[], parts: RowParts, rows: number, takes: (m: number) => boolean): Dispatch {
  const form = formOf(results, parts, rows);
  const { lanes, turns } = form;
  const names = ["m", "k", ...results.map((_, r) => `n${r}`)];
  const most = Math.max(...results.map(({ products }) => products.length));
  const texts = results.map((result, r) => resultText(result, r, form));
  return defineDispatch({
    bindings: parts.bindings,
    uniforms: { ...Object.fromEntries(names.map((name) => [name, "u32" as const])), ...parts.uniforms },
    lanes,
    declarations: [
      ...parts.declarations,
      ...texts.flatMap(({ declarations }) => declarations),
      `var<workgroup> sums: array<f32, ${sumBytes(most, rows, lanes) / 4}>;`,
    ],
    body: [
      ...(parts.stage?.lines ?? []),
      `let sub = lane % ${form.lanesPerColumn}u;`,
      `let chunks = (p.m + ${rows - 1}u) / ${rows}u;`,
      ...results.map(
        (_, r) =>
          `let end${r} = ${r === 0 ? "" : `end${r - 1} + `}(p.n${r} + ${form.columns * turns - 1}u) / ${form.columns * turns}u * chunks;`,
      ),
      texts.map(({ body }, r) => `${r === texts.length - 1 ? "" : `if (group < end${r}) `}{\n${body}\n}`).join(" else "),
    ].join("\n"),
    sizeIn(dims) {
      const m = parts.rowsIn(dims);
      const columns = results.map((result, r) => [`n${r}`, result.columns] as const);
      const groups = columns.reduce((sum, [, n]) => sum + Math.ceil(n / (form.columns * turns)), 0) * Math.ceil(m / rows);
      return {
        groups: takes(m) ? groups : 0,
        values: { m, k: parts.depth, ...Object.fromEntries(columns), ...parts.values(dims) },
      };
    },
  });
}

/** How a workgroup divides its work. */
interface Form {
  readonly lanes: number;
  readonly lanesPerColumn: number;
  /** Columns that a workgroup computes at once. */
  readonly columns: number;
  /** How often it does. */
  readonly turns: number;
  /** Rows that each weight is multiplied with. */
  readonly rows: number;
  /** Four elements of a row, by the name of the memory and the index there. */
  quadAt(name: string, index: string): string;
}

/** Workgroups that keep a device busy. With more columns, each computes several, and fewer stage the row. */
const enoughGroups = 512;
const maxTurns = 8;

function formOf(results: readonly RowResult[], { depth, stage }: RowParts, rows: number): Form {
  const lanes = stage?.lanes ?? productLanes;
  const lanesPerColumn = depth < deepRow ? productLanes / 2 : productLanes;
  const columns = (lanes / lanesPerColumn) * columnsPerLane;
  const groups = results.reduce((sum, result) => sum + result.columns, 0) / columns;
  return {
    lanes,
    lanesPerColumn,
    columns,
    turns: stage === undefined ? 1 : Math.max(1, Math.min(maxTurns, Math.floor(groups / enoughGroups))),
    rows,
    quadAt: (name, index) => stage?.quadAt(index) ?? `${name}[${index}]`,
  };
}

/** The numbers from 0 to before `count`. */
export const range = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

function resultText(result: RowResult, r: number, form: Form): { readonly declarations: readonly string[]; readonly body: string } {
  const { products, store } = result;
  const { lanes, turns } = form;
  const quads = new Set(products.filter(({ dtype }) => rowElement(dtype) === "vec4u").map(({ b }) => b));
  const k = new WgslEmitter(Object.fromEntries(products.map(({ b, dtype }) => [b, dtype])), lanes, quads);
  const perLane = columnsPerLane * form.rows;
  const isRepeated = turns > 1;
  k.lines.push(
    `let place = group${r === 0 ? "" : ` - end${r - 1}`};`,
    ...(isRepeated ? [`for (var turn = 0u; turn < ${turns}u; turn++) {`] : []),
    `let first = ${isRepeated ? `(place / chunks * ${turns}u + turn)` : "place / chunks"} * ${form.columns}u;`,
    `let column = first + lane / ${form.lanesPerColumn}u * ${columnsPerLane}u;`,
    `let row = place % chunks * ${form.rows}u;`,
    // Columns and rows beyond the last one are computed again and not stored.
    ...range(columnsPerLane).map((c) => `let column${c} = min(column + ${c}u, p.n${r} - 1u);`),
    ...range(form.rows).map((t) => `let row${t} = min(row + ${t}u, p.m - 1u) * (p.k / 4u);`),
    ...products.flatMap((_, j) => range(perLane).map((i) => `var sum${j}_${i} = 0.0;`)),
  );
  for (const loop of loopsOf(products)) dotLoop(k, loop, form);
  k.lines.push(
    ...products.flatMap((_, j) => range(perLane).map((i) => `sums[${(j * perLane + i) * lanes}u + lane] = sum${j}_${i};`)),
    `for (var stride = ${form.lanesPerColumn / 2}u; stride > 0u; stride >>= 1u) {`,
    "workgroupBarrier();",
    "if (sub < stride) {",
    `for (var at = lane; at < ${products.length * perLane * lanes}u; at += ${lanes}u) { sums[at] += sums[at + stride]; }`,
    "}",
    "}",
    "workgroupBarrier();",
    // A lane for each element: columns of the workgroup by rows.
    `let c = lane / ${form.rows}u;`,
    `let t = lane % ${form.rows}u;`,
    `if (c < ${form.columns}u && first + c < p.n${r} && row + t < p.m) {`,
    `let cell = (c % ${columnsPerLane}u * ${form.rows}u + t) * ${lanes}u + c / ${columnsPerLane}u * ${form.lanesPerColumn}u;`,
    store(
      `((row + t) * p.n${r} + first + c)`,
      products.map((_, j) => `sums[${j * perLane * lanes}u + cell]`),
    ),
    "}",
    ...(isRepeated ? ["workgroupBarrier();", "}"] : []),
  );
  return { declarations: k.declarations, body: k.lines.join("\n") };
}

/** Products that read the same rows in the same steps, which share a loop. */
interface Loop {
  /** Name of the binding of the rows. */
  readonly a: string;
  /** Weights of each product that a lane reads in a step. */
  readonly weights: number;
  readonly products: (RowProduct & { readonly j: number })[];
}

function loopsOf(products: readonly RowProduct[]): readonly Loop[] {
  const loops: Loop[] = [];
  products.forEach((product, j) => {
    const weights = weightsAtOnce(product.dtype) ?? 0;
    const known = loops.find((loop) => loop.a === product.a && loop.weights === weights);
    if (known === undefined) loops.push({ a: product.a, weights, products: [{ ...product, j }] });
    else known.products.push({ ...product, j });
  });
  return loops;
}

/** Weights of a step of the loop: vectors of four, and what their sums of products are scaled by. */
export interface WeightVectors {
  /** Expressions of type vec4f. */
  readonly vectors: readonly string[];
  /** For equal shares of the vectors; empty where the weights are the vectors themselves. */
  readonly scales: readonly string[];
  readonly offsets: readonly string[];
}

/** Adds the lane's part of the products' sums over the depth. */
function dotLoop(k: WgslEmitter, { a, weights, products }: Loop, { lanesPerColumn, rows, quadAt }: Form): void {
  k.lines.push(`for (var u = sub; u < p.k / ${weights}u; u += ${lanesPerColumn}u) {`);
  const loaded = products.flatMap(({ j, b, dtype }) =>
    range(columnsPerLane).map((c) => ({ j, c, ...weightVectors(k, b, dtype, `column${c} * (p.k / ${weights}u) + u`) })),
  );
  const needsTotals = loaded.some(({ offsets }) => offsets.length > 0);
  const parts = Math.max(...loaded.map(({ scales }) => scales.length), 1);
  const perPart = weights / 4 / parts;
  for (const part of range(parts)) {
    k.lines.push("{");
    for (const t of range(rows)) {
      k.lines.push(
        ...range(perPart).map((i) => `let x${t}_${i} = ${quadAt(a, `row${t} + u * ${weights / 4}u + ${part * perPart + i}u`)};`),
      );
      if (needsTotals)
        k.lines.push(
          `let total${t} = dot(${range(perPart)
            .map((i) => `x${t}_${i}`)
            .join(" + ")}, vec4f(1));`,
        );
    }
    for (const { j, c, vectors, scales, offsets } of loaded) {
      const own = vectors.slice(part * perPart, (part + 1) * perPart);
      for (const t of range(rows)) {
        const dots = own.map((vector, i) => `dot(${vector}, x${t}_${i})`).join(" + ");
        const scale = scales[scales.length === 1 ? 0 : part];
        const offset = offsets[offsets.length === 1 ? 0 : part];
        const scaled = scale === undefined ? dots : `${scale} * (${dots})`;
        k.lines.push(`sum${j}_${c * rows + t} += ${scaled}${offset === undefined ? "" : ` + ${offset} * total${t}`};`);
      }
    }
    k.lines.push("}");
  }
  k.lines.push("}");
}

/** Reads the weights of step `index`, an expression, of a binding of {@link rowElement}. */
export function weightVectors(k: WgslEmitter, name: string, dtype: DType, index: string): WeightVectors {
  if (isQuantized(dtype)) {
    const at = k.define("u32", index);
    const { words, scales, offsets } = loadUnit(k, dtype, (block, bytes) => k.blockAt(name, block, bytes), at);
    return { vectors: words.map((word) => `vec4f(unpack4xI8(${word}))`), scales, offsets: offsets ?? [] };
  }
  return { vectors: plainVectors(k, name, dtype, index), scales: [], offsets: [] };
}

/** Vectors of element `index` of an argument with a float dtype, which is an array of vec4u or vec4f. */
function plainVectors(k: WgslEmitter, name: string, dtype: DType, index: string): readonly string[] {
  if (dtype === "f32") return [`${name}[${index}]`];
  const quad = k.quad(name, index);
  const pair = (word: string): string =>
    dtype === "f16"
      ? `unpack2x16float(${quad}.${word})`
      : `bitcast<f32>(${quad}.${word} << 16u), bitcast<f32>(${quad}.${word} & 0xffff0000u)`;
  return [`vec4f(${pair("x")}, ${pair("y")})`, `vec4f(${pair("z")}, ${pair("w")})`];
}
