import type { DType, ParamsOf } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import { unitWeights } from "@centella/gpu-kernels";
import type { Capabilities, SubgroupMatrixShape } from "../../device/capabilities.ts";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import { defineDispatch, input, output } from "../../wgsl/module.ts";
import { factorText, halvesPerQuad } from "./halfRows.ts";
import type { Binding, Dispatch } from "./kernel.ts";
import type { RowCounts } from "./rowProducts.ts";
import { range } from "./shape.ts";
import type { TileParts } from "./tileProducts.ts";
import { rowElement, weightVectors } from "./weights.ts";

/** WGSL that loads, multiplies and stores the matrices of a subgroup. */
export interface MatrixFunctions {
  /** Element type of the workgroup memory that matrices are loaded from. */
  readonly element: "f16" | "f32";
  /** Bytes of an element. */
  readonly bytes: number;
  readonly declarations: readonly string[];
  /** Expression of a matrix of results, all zeros. */
  readonly zeros: string;
  /** Expression of the matrix from element `at` of `leftTile` or `rightTile` on, whose rows of depth are `stride` elements apart. */
  load(side: "left" | "right", at: string, stride: number): string;
  /** Expression of `sums` plus the product of both matrices. */
  multiply(left: string, right: string, sums: string): string;
  /** Statement that stores a matrix of results row by row from element `at` of `results` on. */
  store(at: string, sums: string): string;
}

/** The functions of WGSL's experimental feature. */
function subgroupMatrixFunctions({ type, resultType, m, n, k }: SubgroupMatrixShape): MatrixFunctions {
  const types = { left: `subgroup_matrix_left<${type}, ${k}, ${m}>`, right: `subgroup_matrix_right<${type}, ${n}, ${k}>` };
  return {
    element: "f16",
    bytes: 2,
    declarations: [],
    zeros: `subgroup_matrix_result<${resultType}, ${n}, ${m}>()`,
    load: (side, at, stride) =>
      `subgroupMatrixLoad<${types[side]}, ${side === "left" ? "row" : "col"}_major>(&${side}Tile, ${at}, ${stride}u)`,
    multiply: (left, right, sums) => `subgroupMatrixMultiplyAccumulate(${left}, ${right}, ${sums})`,
    store: (at, sums) => `subgroupMatrixStore<row_major>(&results, ${at}, ${sums}, ${n}u);`,
  };
}

/** How a workgroup divides its tile. */
export interface MatrixForm {
  readonly rows: number;
  readonly columns: number;
  /** Elements of the depth in workgroup memory. */
  readonly depth: number;
  /** Subgroups that share the rows, and the columns. */
  readonly down: number;
  readonly across: number;
}

/** What multiplies matrices on a device. */
export interface MatrixUnit {
  readonly shape: SubgroupMatrixShape;
  /** Lanes of a subgroup. */
  readonly subgroup: number;
  readonly functions: MatrixFunctions;
}

/** Forms in the order in which they are preferred. The smallest fits every device. */
const forms = {
  manyRows: { rows: 128, columns: 128, depth: 32, down: 2, across: 2 },
  wide: { rows: 128, columns: 128, depth: 64, down: 2, across: 4 },
  half: { rows: 64, columns: 128, depth: 64, down: 2, across: 2 },
  quarter: { rows: 64, columns: 64, depth: 64, down: 2, across: 2 },
  small: { rows: 64, columns: 64, depth: 32, down: 2, across: 2 },
} satisfies Readonly<Record<string, MatrixForm>>;

/** Workgroups that keep a device busy. */
const enoughGroups = 100;

/** From this number of tiles on, lanes with more results each are faster. */
const manyGroups = 512;

/** From this number of rows on, products are computed by matrices. */
export const fewestHalved = 65;

/** Elements between the rows of a tile, beyond the row: subgroups then read different banks. */
const padding = 8;

/** Products of a subgroup's matrices with halves, and sums of floats; undefined where a device has none. */
export function matrixUnit({ subgroups, subgroupMatrices, f16 }: Capabilities): MatrixUnit | undefined {
  const shape = subgroupMatrices.find(({ type, resultType, m, n, k }) => {
    return type === "f16" && resultType === "f32" && [m, n, k].every((size) => size === 16);
  });
  // Lanes of a workgroup are divided by subgroups, so these must have one size.
  if (shape === undefined || !f16 || subgroups === undefined || subgroups.min !== subgroups.max) return undefined;
  return { shape, subgroup: subgroups.max, functions: subgroupMatrixFunctions(shape) };
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

/** Dispatches for runs of `least` to `most` rows, which `halves` has. */
export function matrixProducts(
  parts: TileParts,
  { least, most }: RowCounts,
  halves: Binding,
  capabilities: Capabilities,
): readonly Dispatch[] {
  const unit = matrixUnit(capabilities);
  if (unit === undefined || most < least) return [];
  const formOf = (m: number): MatrixForm => matrixForm(m, parts, unit, capabilities);
  const counts = range(Math.ceil((most - least) / forms.small.rows) + 1).map((i) => Math.min(most, least + i * forms.small.rows));
  return [...new Set(counts.map(formOf))].map((form) => {
    return matrixTile(parts, halves, form, unit, (m) => m >= least && formOf(m) === form);
  });
}

/** True if {@link matrixTile} can multiply rows of `depth` elements with a weight of the dtype. */
function hasMatrixTile(dtype: DType, depth: number): boolean {
  return (dtype === "f16" || isQuantized(dtype)) && depth % forms.small.depth === 0;
}

/** Bytes of a workgroup's memory. */
function bytesOf({ rows, columns, depth, down, across }: MatrixForm, { shape, functions }: MatrixUnit): number {
  return functions.bytes * (rows + columns) * (depth + padding) + 4 * down * across * shape.m * shape.n;
}

/** The form for a product of `m` rows. */
function matrixForm(
  m: number,
  { depth, columns, dtype }: Pick<TileParts, "depth" | "columns" | "dtype">,
  unit: MatrixUnit,
  { maxLanes, workgroupBytes }: Capabilities,
): MatrixForm {
  const fits = (form: MatrixForm): boolean =>
    depth % form.depth === 0 && bytesOf(form, unit) <= workgroupBytes && form.down * form.across * unit.subgroup <= maxLanes;
  const groups = (form: MatrixForm): number => Math.ceil(m / form.rows) * Math.ceil(columns / form.columns);
  const hasMany = dtype === "f16" && groups(forms.wide) >= manyGroups;
  const order = [...(hasMany ? [forms.manyRows] : []), forms.wide, forms.half];
  return order.find((form) => groups(form) >= enoughGroups && fits(form)) ?? [forms.quarter].find(fits) ?? forms.small;
}

/** A tile of products of halves. `takes` are the numbers of rows of the runs that it computes. */
export function matrixTile(parts: TileParts, halves: Binding, form: MatrixForm, unit: MatrixUnit, takes: (m: number) => boolean): Dispatch {
  const { dtype, depth, store } = parts;
  const { functions, shape, subgroup } = unit;
  const lanes = form.down * form.across * subgroup;
  const stride = form.depth + padding;
  const own = { rows: form.rows / form.down, columns: form.columns / form.across };
  const results = range(own.rows / shape.m).flatMap((i) => range(own.columns / shape.n).map((j) => ({ i, j, name: `c${i}_${j}` })));
  const k = new WgslEmitter({ b: dtype }, lanes, { quads: new Set(rowElement(dtype) === "vec4u" ? ["b"] : []) });
  const moves = [...rowMoves(form, lanes, functions), ...columnMoves(k, dtype, form, lanes, functions)];
  const body = [
    `let down = (p.m + ${form.rows - 1}u) / ${form.rows}u;`,
    // Neighbouring workgroups share columns, so weights are read from memory once.
    `let i0 = group % down * ${form.rows}u; let j0 = group / down * ${form.columns}u;`,
    `let subgroup = lane / ${subgroup}u;`,
    `let ownRow = subgroup % ${form.down}u * ${own.rows}u; let ownColumn = subgroup / ${form.down}u * ${own.columns}u;`,
    ...results.map(({ name }) => `var ${name} = ${functions.zeros};`),
    ...loopStart(moves, form, isAhead(dtype, form)),
    ...range(form.depth / shape.k).flatMap((part) => multiplied(part, own, stride, unit)),
    "}",
    ...results.flatMap(({ i, j, name }) => storedText(name, `ownRow + ${i * shape.m}u`, `ownColumn + ${j * shape.n}u`, unit)),
  ];
  return defineDispatch({
    bindings: [halves, input("b", 1, rowElement(dtype)), output("y"), ...store.bindings],
    uniforms: { ...({ m: "u32", n: "u32", k: "u32" } as Record<string, "u32">), ...store.uniforms },
    lanes,
    declarations: [
      ...k.declarations,
      ...functions.declarations,
      ...store.declarations,
      `var<workgroup> leftTile: array<${functions.element}, ${form.rows * stride}>;`,
      `var<workgroup> rightTile: array<${functions.element}, ${form.columns * stride}>;`,
      `var<workgroup> results: array<f32, ${form.down * form.across * shape.m * shape.n}>;`,
    ],
    body: body.join("\n"),
    sizeIn(dims) {
      const m = parts.rowsIn(dims);
      const groups = Math.ceil(m / form.rows) * Math.ceil(parts.columns / form.columns);
      const values: Record<string, number> = { m, n: parts.columns, k: depth, ...store.values(dims) };
      return { groups: takes(m) ? groups : 0, values };
    },
  });
}

/** Statements that read a part of a tile from memory, and those that write it to the workgroup's after a barrier. */
interface Move {
  /** Constants: places of quads, or all that is read of weights that are decoded. */
  readonly constants: readonly string[];
  /** Assignments that read quads at a step. */
  readonly reads: readonly string[];
  readonly write: readonly string[];
}

/** Whether subgroups have registers left for what is multiplied next: halves are not decoded, and in small steps few are read. */
function isAhead(dtype: DType, { depth }: MatrixForm): boolean {
  return dtype === "f16" && depth <= 32;
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

/** Elements of a quad of halves, from element `at` of a tile on. */
function quadWrites(tile: string, at: string, quad: string, { element }: MatrixFunctions): readonly string[] {
  return ["x", "y", "z", "w"].map((part, i) => {
    const pair = element === "f16" ? `bitcast<vec2h>(${quad}.${part})` : `unpack2x16float(${quad}.${part})`;
    return `{ let pair = ${pair}; ${tile}[${at} + ${2 * i}u] = pair.x; ${tile}[${at} + ${2 * i + 1}u] = pair.y; }`;
  });
}

/** Rows of halves, a quad at a time. */
function quadMoves(
  name: string,
  count: number,
  quadAt: (place: string, quad: string) => string,
  { depth }: MatrixForm,
  lanes: number,
  functions: MatrixFunctions,
): readonly Move[] {
  const perRow = depth / halvesPerQuad;
  return range((count * perRow) / lanes).map((n): Move => {
    const [index, value] = [`${name}Index${n}`, `${name}Quad${n}`];
    const at = `${index} / ${perRow}u * ${depth + padding}u + ${index} % ${perRow}u * ${halvesPerQuad}u`;
    return {
      constants: [`let ${index} = lane + ${n * lanes}u;`],
      reads: [`${value} = ${quadAt(`${index} / ${perRow}u`, `(step * ${perRow}u + ${index} % ${perRow}u)`)};`],
      write: [`{ let at = ${at};`, ...quadWrites(`${name}Tile`, "at", value, functions), "}"],
    };
  });
}

function rowMoves(form: MatrixForm, lanes: number, functions: MatrixFunctions): readonly Move[] {
  const quadAt = (row: string, quad: string): string => `halves[min(i0 + ${row}, p.m - 1u) * (p.k / ${halvesPerQuad}u + 1u) + ${quad}]`;
  return quadMoves("left", form.rows, quadAt, form, lanes, functions);
}

/** Columns of weights: quads of halves, or units that are decoded. */
function columnMoves(k: WgslEmitter, dtype: DType, form: MatrixForm, lanes: number, functions: MatrixFunctions): readonly Move[] {
  if (dtype === "f16") {
    const quadAt = (column: string, quad: string): string => `b[min(j0 + ${column}, p.n - 1u) * (p.k / ${halvesPerQuad}u) + ${quad}]`;
    return quadMoves("right", form.columns, quadAt, form, lanes, functions);
  }
  const perColumn = form.depth / unitWeights;
  const units = form.columns * perColumn;
  const vector = `vec4<${functions.element}>`;
  return range(Math.ceil(units / lanes)).map((n): Move => {
    const before = k.lines.length;
    const index = `unit${n}`;
    const place = `min(j0 + ${index} / ${perColumn}u, p.n - 1u) * (p.k / ${unitWeights}u) + step * ${perColumn}u + ${index} % ${perColumn}u`;
    // Lanes beyond the last unit read it again and write nothing.
    k.lines.push(`let ${index} = min(lane + ${n * lanes}u, ${units - 1}u);`);
    const { vectors, scales, offsets } = weightVectors(k, "b", dtype, place);
    const share = (values: readonly string[], i: number): string | undefined => values[Math.floor((i * values.length) / vectors.length)];
    vectors.forEach((weights, i) => {
      const [scale, offset] = [share(scales, i), share(offsets, i)];
      const scaled = scale === undefined ? weights : `${scale} * ${weights}`;
      k.lines.push(`let weights${n}_${i} = ${vector}(${offset === undefined ? scaled : `${scaled} + ${offset}`});`);
    });
    const constants = k.lines.splice(before);
    const at = `${index} / ${perColumn}u * ${form.depth + padding}u + ${index} % ${perColumn}u * ${unitWeights}u`;
    const writes = vectors.flatMap((_, i) => range(4).map((e) => `rightTile[at + ${4 * i + e}u] = weights${n}_${i}[${e}];`));
    return {
      constants,
      reads: [],
      write: [`${units % lanes === 0 ? "" : `if (lane + ${n * lanes}u < ${units}u) `}{ let at = ${at};`, ...writes, "}"],
    };
  });
}

/** Multiplies the subgroup's matrices at part `part` of the tile's depth. */
function multiplied(
  part: number,
  own: { readonly rows: number; readonly columns: number },
  stride: number,
  { functions, shape }: MatrixUnit,
): readonly string[] {
  const rows = range(own.rows / shape.m);
  const at = (first: string, offset: number): string => `(${first} + ${offset}u) * ${stride}u + ${part * shape.k}u`;
  return [
    "{",
    ...rows.map((i) => `let left${i} = ${functions.load("left", at("ownRow", i * shape.m), stride)};`),
    ...range(own.columns / shape.n).flatMap((j) => [
      "{",
      `let right = ${functions.load("right", at("ownColumn", j * shape.n), stride)};`,
      ...rows.map((i) => `c${i}_${j} = ${functions.multiply(`left${i}`, "right", `c${i}_${j}`)};`),
      "}",
    ]),
    "}",
  ];
}

/** Stores the results of a matrix, which pass through memory of the subgroup's own. */
function storedText(name: string, row: string, column: string, { functions, shape, subgroup }: MatrixUnit): readonly string[] {
  const count = shape.m * shape.n;
  return [
    functions.store(`subgroup * ${count}u`, name),
    "workgroupBarrier();",
    `for (var e = lane % ${subgroup}u; e < ${count}u; e += ${subgroup}u) {`,
    `let i = i0 + ${row} + e / ${shape.n}u; let j = j0 + ${column} + e % ${shape.n}u;`,
    `if (i < p.m && j < p.n) { store(i * p.n + j, results[subgroup * ${count}u + e] * ${factorText("halves", "i")}); }`,
    "}",
    "workgroupBarrier();",
  ];
}
