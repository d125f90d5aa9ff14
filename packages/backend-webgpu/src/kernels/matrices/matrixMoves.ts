import { unitWeights } from "@centella/gpu-kernels";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import { range } from "../shared/shape.ts";
import { weightVectors } from "../shared/weights.ts";
import { halvesPerQuad } from "./halfRows.ts";
import { columnsOf, isPlain, type MatrixFunctions, type MatrixResult, type MatrixTile, type MatrixWeight, strideOf } from "./matrixUnit.ts";

/** Statements that read a part of a tile from memory, and those that write it to the workgroup's after a barrier. */
export interface Move {
  /** Constants: places of quads, or all that is read of weights that are decoded. */
  readonly constants: readonly string[];
  /** Assignments that read quads at a step. */
  readonly reads: readonly string[];
  readonly write: readonly string[];
}

/** Emits what reads the weights. */
export function weightEmitter(weights: readonly MatrixWeight[], lanes: number): WgslEmitter {
  const dtypes = Object.fromEntries(weights.map(({ binding, dtype }) => [binding.name, dtype]));
  const quads = weights.flatMap(({ binding: { name, element } }) => (element === "vec4u" ? [name] : []));
  return new WgslEmitter(dtypes, lanes, { quads: new Set(quads) });
}

/** Elements of a quad of halves, from element `at` of a tile on. */
function quadWrites(tile: string, at: string, quad: string, { element }: MatrixFunctions): readonly string[] {
  return ["x", "y", "z", "w"].map((part, i) => {
    const pair = element === "f16" ? `bitcast<vec2h>(${quad}.${part})` : `unpack2x16float(${quad}.${part})`;
    return `{ let pair = ${pair}; ${tile}[${at} + ${2 * i}u] = pair.x; ${tile}[${at} + ${2 * i + 1}u] = pair.y; }`;
  });
}

/** Rows of halves, a quad at a time, for rows `first` to before `first + count` of a tile. */
function quadMoves(
  name: string,
  { first, count }: { readonly first: number; readonly count: number },
  quadAt: (place: string, quad: string) => string,
  { form, lanes, functions }: MatrixTile,
): readonly Move[] {
  const perRow = form.depth / halvesPerQuad;
  const before = (first * perRow) / lanes;
  return range((count * perRow) / lanes).map((own): Move => {
    const n = before + own;
    const [index, value] = [`${name}Index${n}`, `${name}Quad${n}`];
    const at = `${index} / ${perRow}u * ${strideOf(form)}u + ${index} % ${perRow}u * ${halvesPerQuad}u`;
    const row = first === 0 ? `${index} / ${perRow}u` : `(${index} / ${perRow}u - ${first}u)`;
    return {
      constants: [`let ${index} = lane + ${n * lanes}u;`],
      reads: [`${value} = ${quadAt(row, `(step * ${perRow}u + ${index} % ${perRow}u)`)};`],
      write: [`{ let at = ${at};`, ...quadWrites(`${name}Tile`, "at", value, functions), "}"],
    };
  });
}

/** Moves of the rows that are multiplied. */
export function rowMoves(tile: MatrixTile): readonly Move[] {
  const quadAt = (row: string, quad: string): string => `halves[min(i0 + ${row}, p.m - 1u) * (p.k / ${halvesPerQuad}u + 1u) + ${quad}]`;
  return quadMoves("left", { first: 0, count: tile.form.rows }, quadAt, tile);
}

/** Columns of weights: quads of halves, or units that are decoded. */
export function columnMoves(k: WgslEmitter, result: MatrixResult, tile: MatrixTile): readonly Move[] {
  const { suffix, weights } = result;
  if (!isPlain(weights)) return unitMoves(k, result, tile);
  const count = columnsOf(tile.form, weights);
  return weights.flatMap(({ binding: { name } }, w) => {
    const row = (column: string): string => `min(j0 + ${column}, p.n${suffix} - 1u)`;
    const quadAt = (column: string, quad: string): string => `${name}[${row(column)} * (p.k / ${halvesPerQuad}u) + ${quad}]`;
    return quadMoves("right", { first: w * count, count }, quadAt, tile);
  });
}

/** Vectors of four weights in a unit. */
const unitVectors = range(unitWeights / 4);

/** Columns of weights, a unit at a time, which is decoded. */
function unitMoves(k: WgslEmitter, { suffix, weights }: MatrixResult, { form, lanes, functions }: MatrixTile): readonly Move[] {
  const perColumn = form.depth / unitWeights;
  const units = form.columns * perColumn;
  const ofWeight = units / weights.length;
  return range(Math.ceil(units / lanes)).map((n): Move => {
    const index = `unit${n}`;
    const [first, end] = [n * lanes, Math.min((n + 1) * lanes, units)];
    const read = weights.flatMap((weight, w): readonly DecodedUnit[] => {
      if (first >= (w + 1) * ofWeight || end <= w * ofWeight) return [];
      const column = w === 0 ? `${index} / ${perColumn}u` : `(${index} / ${perColumn}u - ${w * columnsOf(form, weights)}u)`;
      const place = `min(j0 + ${column}, p.n${suffix} - 1u) * (p.k / ${unitWeights}u) + step * ${perColumn}u + ${index} % ${perColumn}u`;
      return [decodedUnit(k, weight, place, `${index} < ${(w + 1) * ofWeight}u`)];
    });
    const at = `${index} / ${perColumn}u * ${strideOf(form)}u + ${index} % ${perColumn}u * ${unitWeights}u`;
    const writes = unitVectors.flatMap((i) => range(4).map((e) => `rightTile[at + ${4 * i + e}u] = weights${n}_${i}[${e}];`));
    return {
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
  const { vectors, scales, offsets } = weightVectors(k, binding.name, dtype, place);
  const share = (values: readonly string[], i: number): string | undefined => values[Math.floor((i * values.length) / vectors.length)];
  const decoded = vectors.map((weights, i) => {
    const [scale, offset] = [share(scales, i), share(offsets, i)];
    const scaled = scale === undefined ? weights : `${scale} * ${weights}`;
    return offset === undefined ? scaled : `${scaled} + ${offset}`;
  });
  return { condition, lines: k.lines.splice(before), vectors: decoded };
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
