import type { ParamsOf, TensorSpec } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import type { Capabilities } from "../../device/capabilities.ts";
import { factorText, halvesPerQuad } from "../matrices/halfRows.ts";
import { matrixUnit } from "../matrices/matrixUnit.ts";
import { range } from "./shape.ts";
import { columns } from "./tile.ts";
import { step, type TileArithmetic, unitVectors } from "./tileArithmetic.ts";
import { hasTileProduct } from "./tileProducts.ts";

/** WGSL that computes with vectors of four halves. */
export interface HalfFunctions {
  /** Type of a vector. */
  readonly vector: string;
  readonly declarations: readonly string[];
  /** Expression of the two halves in a word. */
  pair(word: string): string;
  /** Expression of a vec4f, rounded to halves. */
  rounded(floats: string): string;
  /** Expression of `a * b + c`, rounded to halves. */
  fma(a: string, b: string, c: string): string;
  /** Expression of a vector as vec4f. */
  floats(halves: string): string;
}

/** The functions of devices with the feature `shader-f16`. */
export const halfFunctions: HalfFunctions = {
  vector: "vec4<f16>",
  declarations: [],
  pair: (word) => `bitcast<vec2<f16>>(${word})`,
  rounded: (floats) => `vec4<f16>(${floats})`,
  fma: (a, b, c) => `fma(${a}, ${b}, ${c})`,
  floats: (halves) => `vec4f(${halves})`,
};

/**
 * Products that are added up as halves before f32 sums take them.
 *
 * With u = 2^-11, rounding both operands changes a product by up to 2u, and d additions change it by up to d u more: a result is off by at most
 * (2 + d) u times the sum of the products' magnitudes. Rounding errors are independent of each other, though: where those of operands
 * have a variance of v per product each, the sums after 1, 2, … d products add v, 2v, … d v, on average (d + 1) v / 2 per product. The
 * whole error is then √(1 + (d + 1) / 4) times that of rounding the operands: 1.8 times for 8 products, more than twice for 16. Fewer
 * products save no time: conversions and f32 additions take as long as four of the fused additions.
 */
export const halfChain = 8;

/**
 * Exponent of the largest element of a row: it is below 2^12. Weights of a unit are scaled to at most 1, so sums are below
 * {@link halfChain} · 2^12 = 2^15 and cannot overflow, and no product that counts in its sum is too small for a normal half.
 */
export const halfExponent = 11;

/** Whether tiles multiply halves: the mode permits it, and subgroups do not multiply matrices of these. */
export function readsHalfTiles(
  { dtype }: Pick<TensorSpec, "dtype">,
  depth: number,
  { activations }: Pick<ParamsOf<"matmul">, "activations">,
  capabilities: Capabilities,
): boolean {
  if (activations !== "half" || !capabilities.f16 || matrixUnit(capabilities) !== undefined) return false;
  return (dtype === "f16" || isQuantized(dtype)) && hasTileProduct(dtype, depth);
}

/** Vectors of the depth whose products are added up as halves, and of the tile in workgroup memory. */
const [chainVectors, stepVectors] = [halfChain / 4, step / 4];

/**
 * Products of halves, with f32 sums of {@link halfChain} of them each. Rows come from {@link halfRowsDispatch}. Vectors in workgroup memory are
 * along the depth, so that lanes write whole ones; lanes turn those of four columns. Neighbouring lanes read neighbouring columns.
 */
export function halfArithmetic(halves: HalfFunctions = halfFunctions): TileArithmetic {
  const { vector, declarations, pair, rounded, fma, floats } = halves;
  const parts = ["x", "y", "z", "w"] as const;
  return {
    vector,
    rows: "vec4u",
    apart: 16,
    declarations: (stride) => [
      ...declarations,
      `var<workgroup> tiles: array<${vector}, ${stepVectors * stride}>;`,
      `var<workgroup> scales: array<f32, ${columns}>;`,
    ],
    variables: ["var scale = 0.0;"],
    rowStart: (source) => `${source} * (p.k / ${halvesPerQuad}u + 1u)`,
    readRow(sharers) {
      const quads = unitVectors / 2 / sharers;
      return range(quads).flatMap((i) => [
        `let quad${i} = a[rowStart + u * ${unitVectors / 2}u + ${sharers === 1 ? "" : `share * ${quads}u + `}${i}u];`,
        ...["xy", "zw"].map((words, half) => `v${2 * i + half} = ${vector}(${[...words].map((e) => pair(`quad${i}.${e}`)).join(", ")});`),
      ]);
    },
    takeWeights: (i, weights) => `let weights${i} = ${weights};`,
    // The scale is a power of two: weights that halves have exactly stay so.
    endWeights: [
      `let most4 = ${range(unitVectors)
        .map((i) => `abs(weights${i})`)
        .reduce((a, b) => `max(${a}, ${b})`)};`,
      "let exponent = clamp(bitcast<u32>(max(max(most4.x, most4.y), max(most4.z, most4.w))) >> 23u, 1u, 252u);",
      "scale = bitcast<f32>((exponent + 1u) << 23u);",
      "let factor = bitcast<f32>((253u - exponent) << 23u);",
      ...range(unitVectors).map((i) => `v${i} = ${rounded(`weights${i} * factor`)};`),
    ],
    write: (vectors, at, stride) => vectors.map((v, i) => `tiles[${i * stride}u + ${at}] = v${v};`).join(" "),
    writeColumn: "scales[lane] = scale;",
    compute(perLane, stride) {
      const four = range(4);
      const results = range(perLane).flatMap((i) => [0, 1].map((j) => ({ i, j })));
      const across = (j: number, at: (column: string) => string): readonly string[] => four.map((c) => at(`${64 * j + 16 * c}u + tx`));
      return [
        "{",
        ...[0, 1].map((j) => `let s${j} = vec4f(${across(j, (column) => `scales[${column}]`).join(", ")});`),
        `for (var chain = 0u; chain < ${stepVectors}u; chain += ${chainVectors}u) {`,
        ...results.map(({ i, j }) => `var h${i}_${j} = ${vector}();`),
        `for (var q = chain; q < chain + ${chainVectors}u; q++) {`,
        ...[0, 1].flatMap((j) =>
          across(j, (column) => `tiles[q * ${stride}u + ${column}]`).map((value, c) => `let w${j}_${c} = ${value};`),
        ),
        ...range(perLane).map((i) => `let r${i} = tiles[q * ${stride}u + ${columns + 64 * (i >> 2) + (i & 3)}u + ty * 4u];`),
        ...parts.flatMap((part) => [
          "{",
          ...[0, 1].map((j) => `let b${j} = ${vector}(${four.map((c) => `w${j}_${c}.${part}`).join(", ")});`),
          ...results.map(({ i, j }) => `h${i}_${j} = ${fma(`${vector}(r${i}.${part})`, `b${j}`, `h${i}_${j}`)};`),
          "}",
        ]),
        "}",
        ...results.map(({ i, j }) => `c${i}_${j} = fma(${floats(`h${i}_${j}`)}, s${j}, c${i}_${j});`),
        "}",
        "}",
      ];
    },
    factor: (row) => factorText("a", row),
  };
}
