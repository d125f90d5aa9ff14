import type { DType } from "@centella/core";
import { elementAt, isQuantized } from "@centella/core/backend";
import { loadUnit, unitWeights } from "@centella/gpu-kernels";
import { activationType } from "@centella/quant";
import type { WgslEmitter } from "../../wgsl/emitter.ts";
import { quadIndex, quadsPerUnit } from "./roundedUnits.ts";
import { range } from "./shape.ts";
import { columns, lanes, resultNames, storeText, type TileText, tileLoop, tilePlace } from "./tile.ts";
import { blocksOf, weightEmitter } from "./weights.ts";

/** Rows of a lane. */
const perLane = 8;

/**
 * A tile that multiplies codes with codes. Half of the lanes read a unit of a column each, the others a unit of a row. All pass through
 * workgroup memory as three quads: 32 codes, then the scales and offsets of the column, or the step and sums of the row.
 */
export function packedTileText(dtype: DType): TileText {
  const rows = 16 * perLane;
  const stride = columns + rows;
  const results = resultNames(perLane);
  if (!isQuantized(dtype)) throw new TypeError(`expected blocks of codes, got ${dtype}; this is a bug`);
  const type = activationType[dtype];
  const k = weightEmitter({ b: dtype }, lanes);
  const { text: decode, halves, hasOffsets } = columnText(k, dtype);
  const tiles = `var<workgroup> tiles: array<vec4u, ${quadsPerUnit * stride}>;`;
  const write = range(quadsPerUnit).map((q) => `tiles[${q * stride}u + lane] = v${q};`);
  const body = [
    ...tilePlace(rows),
    ...tileLoop({
      places: [
        "let column = min(j0 + lane, p.n - 1u);",
        `let units = p.k / ${unitWeights}u;`,
        `let row = min(i0 + (lane - ${columns}u) % ${rows}u, p.m - 1u);`,
      ],
      vector: "vec4u",
      vectors: quadsPerUnit,
      results,
      units: "units",
      readColumn: decode,
      readRow: range(quadsPerUnit).map((q) => `v${q} = a[${quadIndex(type, "row", "units", "u", q)}];`),
      passes: [
        {
          write: [`if (lane < ${stride}u) { ${write.join(" ")} }`],
          multiply: [0, 1].flatMap((j) => computeText(stride, j, halves, hasOffsets)),
        },
      ],
    }),
    ...storeText(results, { apart: 16 }),
  ];
  return { declarations: [...k.declarations, tiles], body: body.join("\n") };
}

/** Reads unit `u` of the lane's column: its codes to `v0` and `v1`, scales and offsets to `v2`. */
function columnText(
  k: WgslEmitter,
  dtype: DType,
): { readonly text: readonly string[]; readonly halves: number; readonly hasOffsets: boolean } {
  if (!isQuantized(dtype)) throw new TypeError(`expected blocks of codes, got ${dtype}; this is a bug`);
  const unit = k.define("u32", "column * units + u");
  const { words, scales, offsets = [] } = loadUnit(k, dtype, blocksOf(k, "b"), unit);
  const vector = (from: number): string => words.slice(from, from + 4).join(", ");
  // Scales of both halves, then their offsets; equal ones for a single scale.
  const four = [
    ...[0, 1].map((half) => elementAt(scales, half % scales.length)),
    ...[0, 1].map((half) => offsets[half % offsets.length] ?? "0.0"),
  ];
  const text = [...k.lines, `v0 = vec4u(${vector(0)});`, `v1 = vec4u(${vector(4)});`, `v2 = bitcast<vec4u>(vec4f(${four.join(", ")}));`];
  return { text, halves: scales.length, hasOffsets: offsets.length > 0 };
}

/** Adds the products of four of the lane's columns, in half `j` of the tile, with all of its rows. */
function computeText(stride: number, j: number, halves: number, hasOffsets: boolean): readonly string[] {
  const four = range(4);
  const columnAt = (q: number, c: number): string => `tiles[${q * stride + 64 * j + 16 * c}u + tx]`;
  const across = (part: string): string => `vec4f(${four.map((c) => `s${c}.${part}`).join(", ")})`;
  /** Sums of products of codes, as floats: of half `h` of the unit, or of all of it. */
  const dots = (h: number): string =>
    `vec4f(${four
      .map((c) => {
        const quads = halves === 1 ? [0, 1] : [h];
        return `f32(${quads.flatMap((q) => ["x", "y", "z", "w"].map((e) => `dot4I8Packed(b${c}_${q}.${e}, a${q}.${e})`)).join(" + ")})`;
      })
      .join(", ")})`;
  return [
    "{",
    ...four.flatMap((c) => [
      `let b${c}_0 = ${columnAt(0, c)}; let b${c}_1 = ${columnAt(1, c)};`,
      `let s${c} = bitcast<vec4f>(${columnAt(2, c)});`,
    ]),
    ...["x", "y", "z", "w"].slice(0, hasOffsets ? 4 : 2).map((part) => `let ${part}s = ${across(part)};`),
    ...range(perLane).flatMap((i) => {
      const at = (q: number): string => `tiles[${q * stride + columns + 64 * (i >> 2) + (i & 3)}u + ty * 4u]`;
      const result = `c${i}_${j}`;
      const scaled = halves === 1 ? `xs * ${dots(0)}` : `(xs * ${dots(0)} + ys * ${dots(1)})`;
      const shifted = halves === 1 ? "zs * x.w" : "zs * x.y + ws * x.z";
      return [
        "{",
        `let a0 = ${at(0)}; let a1 = ${at(1)}; let x = bitcast<vec4f>(${at(2)});`,
        `${result} += x.x * ${scaled}${hasOffsets ? ` + ${shifted}` : ""};`,
        "}",
      ];
    }),
    "}",
  ];
}
