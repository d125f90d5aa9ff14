import { unitWeights } from "@centella/gpu-kernels";
import type { WgslEmitter } from "../../wgsl/emitter.ts";
import { range } from "../shared/shape.ts";
import { decodedVectors, weightVectors } from "../shared/weights.ts";
import { halvesPerQuad } from "./halfRows.ts";
import { columnsOf, isPlain, type MatrixFunctions, type MatrixResult, type MatrixTile, type MatrixWeight, strideOf } from "./matrixUnit.ts";

/** Statements that read a part of a tile from memory, and those that write it to the workgroup's after a barrier. */
export interface Move {
  /** Constants before the first step. */
  readonly starts: readonly string[];
  /** Constants: places of quads, or all that is read of weights that are decoded. */
  readonly constants: readonly string[];
  /** Assignments that read quads at a step. */
  readonly reads: readonly string[];
  readonly write: readonly string[];
}

/** Elements of a quad of halves, from element `at` of a tile on. */
function quadWrites(tile: string, at: string, quad: string, { element }: MatrixFunctions): readonly string[] {
  return ["x", "y", "z", "w"].map((part, i) => {
    const pair = element === "f16" ? `bitcast<vec2h>(${quad}.${part})` : `unpack2x16float(${quad}.${part})`;
    return `{ let pair = ${pair}; ${tile}[${at} + ${2 * i}u] = pair.x; ${tile}[${at} + ${2 * i + 1}u] = pair.y; }`;
  });
}

/** Where rows of halves are that a tile has from its row `first` on. */
interface QuadRows {
  readonly first: number;
  readonly count: number;
  /** Name of their binding. */
  readonly binding: string;
  /** Expression of the first quad of a row of the tile, of which `row` counts those from `first` on. */
  start(row: string): string;
  /** Whether lanes keep the starts of their rows. */
  readonly isKept: boolean;
}

/** Rows of halves, a quad at a time. */
function quadMoves(name: string, { first, count, binding, start, isKept }: QuadRows, tile: MatrixTile): readonly Move[] {
  const { form, lanes, functions } = tile;
  const perRow = form.depth / halvesPerQuad;
  const before = (first * perRow) / lanes;
  return range((count * perRow) / lanes).map((own): Move => {
    const n = before + own;
    const [index, value, kept] = [`${name}Index${n}`, `${name}Quad${n}`, `${name}Start${n}`];
    const at = `${index} / ${perRow}u * ${strideOf(form)}u + ${index} % ${perRow}u * ${halvesPerQuad}u`;
    const row = first === 0 ? `${index} / ${perRow}u` : `(${index} / ${perRow}u - ${first}u)`;
    const place = `let ${index} = lane + ${n * lanes}u;`;
    return {
      starts: isKept ? [place, `let ${kept} = ${start(row)};`] : [],
      constants: isKept ? [] : [place],
      reads: [`${value} = ${binding}[${isKept ? kept : start(row)} + (step * ${perRow}u + ${index} % ${perRow}u)];`],
      write: [`{ let at = ${at};`, ...quadWrites(`${name}Tile`, "at", value, functions), "}"],
    };
  });
}

/** Moves of the rows that are multiplied. */
export function rowMoves(tile: MatrixTile): readonly Move[] {
  const { form, order } = tile;
  const start = (row: string): string => `${order.source(`i0 + ${row}`)} * (p.k / ${halvesPerQuad}u + 1u)`;
  return quadMoves("left", { first: 0, count: form.rows, binding: "halves", start, isKept: order.isLookedUp }, tile);
}

/** Columns of weights: quads of halves, or units that are decoded. */
export function columnMoves(k: WgslEmitter, result: MatrixResult, tile: MatrixTile): readonly Move[] {
  const { suffix, weights } = result;
  if (!isPlain(weights)) return unitMoves(k, result, tile);
  const count = columnsOf(tile.form, weights);
  return weights.flatMap(({ binding: { name } }, w) => {
    const row = (column: string): string => tile.order.column(`min(j0 + ${column}, p.n${suffix} - 1u)`, `p.n${suffix}`);
    const start = (column: string): string => `${row(column)} * (p.k / ${halvesPerQuad}u)`;
    return quadMoves("right", { first: w * count, count, binding: name, start, isKept: false }, tile);
  });
}

/** Vectors of four weights in a unit. */
const unitVectors = range(unitWeights / 4);

/** Columns of weights, a unit at a time, which is decoded. */
function unitMoves(k: WgslEmitter, { suffix, weights }: MatrixResult, { form, lanes, functions, order }: MatrixTile): readonly Move[] {
  const perColumn = form.depth / unitWeights;
  const units = form.columns * perColumn;
  const ofWeight = units / weights.length;
  return range(Math.ceil(units / lanes)).map((n): Move => {
    const index = `unit${n}`;
    const [first, end] = [n * lanes, Math.min((n + 1) * lanes, units)];
    const read = weights.flatMap((weight, w): readonly DecodedUnit[] => {
      if (first >= (w + 1) * ofWeight || end <= w * ofWeight) return [];
      const column = w === 0 ? `${index} / ${perColumn}u` : `(${index} / ${perColumn}u - ${w * columnsOf(form, weights)}u)`;
      const row = order.column(`min(j0 + ${column}, p.n${suffix} - 1u)`, `p.n${suffix}`);
      const place = `${row} * (p.k / ${unitWeights}u) + step * ${perColumn}u + ${index} % ${perColumn}u`;
      return [decodedUnit(k, weight, place, `${index} < ${(w + 1) * ofWeight}u`)];
    });
    const at = `${index} / ${perColumn}u * ${strideOf(form)}u + ${index} % ${perColumn}u * ${unitWeights}u`;
    const writes = unitVectors.flatMap((i) => range(4).map((e) => `rightTile[at + ${4 * i + e}u] = weights${n}_${i}[${e}];`));
    return {
      starts: [],
      // Lanes beyond the last unit read it again and write nothing.
      constants: [`let ${index} = min(lane + ${first}u, ${units - 1}u);`, ...vectorsText(read, `weights${n}`, functions)],
      reads: [],
      write: [`${units % lanes === 0 ? "" : `if (lane + ${first}u < ${units}u) `}{ let at = ${at};`, ...writes, "}"],
    };
  });
}

interface DecodedUnit {
  /** Condition of lanes that read the unit from this weight or from one before. */
  readonly condition: string;
  readonly lines: readonly string[];
  /** Expressions of four weights each. */
  readonly vectors: readonly string[];
}

function decodedUnit(k: WgslEmitter, { binding, dtype }: MatrixWeight, place: string, condition: string): DecodedUnit {
  const before = k.lines.length;
  const vectors = decodedVectors(weightVectors(k, binding.name, dtype, place));
  return { condition, lines: k.lines.splice(before), vectors };
}

/** Defines the vectors of a lane's unit, which lanes read from different weights. */
function vectorsText(read: readonly DecodedUnit[], name: string, { element }: MatrixFunctions): readonly string[] {
  const vector = `vec4<${element}>`;
  const [only, ...others] = read;
  if (only !== undefined && others.length === 0)
    return [...only.lines, ...only.vectors.map((value, i) => `let ${name}_${i} = ${vector}(${value});`)];
  return [
    ...unitVectors.map((i) => `var ${name}_${i} = ${vector}();`),
    ...read.flatMap(({ condition, lines, vectors }, r) => [
      r === 0 ? `if (${condition}) {` : r === read.length - 1 ? "} else {" : `} else if (${condition}) {`,
      ...lines,
      ...vectors.map((value, i) => `${name}_${i} = ${vector}(${value});`),
    ]),
    "}",
  ];
}
