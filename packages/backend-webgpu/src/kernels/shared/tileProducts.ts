import type { DimValues, DType } from "@centella/core";
import { unitWeights } from "@centella/gpu-kernels";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import type { EpilogueText } from "../../wgsl/epilogue.ts";
import { defineDispatch, input, output } from "../../wgsl/module.ts";
import type { Binding, Dispatch, Field } from "./kernel.ts";
import { packedTileText } from "./packedTiles.ts";
import { range } from "./shape.ts";
import { columns, lanes, resultNames, storeText, type TileText, tileLoop, tilePlace } from "./tile.ts";
import { floatArithmetic, type TileArithmetic, unitVectors } from "./tileArithmetic.ts";
import { denseRows, type TileRows } from "./tileRows.ts";
import { hasRowProduct, rowElement, weightsAtOnce, weightVectors } from "./weights.ts";

/** From this many tiles of 128 rows on, tiles have 128 rows; below it 64, so that more workgroups share the work. */
const enoughTiles = 256;

/** True if {@link tileProducts} can multiply rows of `depth` elements with a weight of the dtype. */
export function hasTileProduct(dtype: DType, depth: number): boolean {
  return depth % unitWeights === 0 && hasRowProduct(dtype, depth);
}

/** Extents of a product `[m, k] × [n, k]`. */
export interface TileParts {
  readonly left: Binding;
  /** Whether the rows are units, whose codes are multiplied with those of weights. */
  readonly isPacked: boolean;
  readonly dtype: DType;
  readonly depth: number;
  readonly columns: number;
  readonly store: EpilogueText;
  /** Where rows and their matrices are found. */
  readonly order?: TileRows;
  /** How tiles multiply rows that are no units, in the form that this reads. Default: floats. */
  readonly arithmetic?: TileArithmetic;
  rowsIn(dims: DimValues): number;
}

/** From this number of rows on, tiles of floats are faster than lanes with columns of their own. */
export const fewestInTiles = 65;

/** Whether tiles are the fastest form for `m` rows. Lanes with columns of their own are as fast for packed integers as tiles of 64 rows. */
export function hasTiles({ isPacked, columns: n }: Pick<TileParts, "isPacked" | "columns">, m: number): boolean {
  return isPacked ? isLarge(n, m) : m >= fewestInTiles;
}

function isLarge(n: number, m: number): boolean {
  return m >= 128 && Math.ceil(m / 128) * Math.ceil(n / columns) >= enoughTiles;
}

/** Dispatches for runs of up to `most` rows for which {@link hasTiles} is true. */
export function tileProducts(parts: TileParts, most: number): readonly Dispatch[] {
  const { columns: n } = parts;
  const isSmall = (m: number): boolean => hasTiles(parts, m) && !isLarge(n, m);
  return [
    ...(!parts.isPacked && most >= fewestInTiles ? [tileDispatch(parts, 4, isSmall)] : []),
    ...(isLarge(n, most) ? [tileDispatch(parts, 8, (m) => isLarge(n, m))] : []),
  ];
}

/** The bindings and uniforms of a dispatch of tiles. */
export function tileArguments({ left, isPacked, dtype, store, order = denseRows, arithmetic = floatArithmetic }: TileParts): {
  readonly bindings: readonly Binding[];
  readonly uniforms: Readonly<Record<string, Field["type"]>>;
} {
  return {
    bindings: [
      { ...left, element: isPacked ? "vec4u" : arithmetic.rows },
      input("b", 1, rowElement(dtype)),
      output("y"),
      ...order.bindings,
      ...store.bindings,
    ],
    uniforms: { ...({ m: "u32", n: "u32", k: "u32" } as Record<string, "u32">), ...order.uniforms, ...store.uniforms },
  };
}

/** A workgroup of 16 × 16 lanes per tile; a lane computes `perLane` rows of eight columns. */
export function tileDispatch(parts: TileParts, perLane: 4 | 8, takes: (m: number) => boolean): Dispatch {
  const { isPacked, dtype, depth, store, order = denseRows, arithmetic = floatArithmetic } = parts;
  const rows = 16 * perLane;
  const text = isPacked ? packedTileText(dtype) : tileText(dtype, perLane, order, arithmetic);
  return defineDispatch({
    ...tileArguments(parts),
    lanes,
    declarations: [...text.declarations, ...store.declarations],
    body: text.body,
    sizeIn(dims) {
      const m = parts.rowsIn(dims);
      const groups = order.tilesIn(m, rows) * Math.ceil(parts.columns / columns);
      const values: Record<string, number> = { m, n: parts.columns, k: depth, ...order.valuesIn(m, rows), ...store.values(dims) };
      return { groups: takes(m) ? groups : 0, values };
    },
  });
}

/**
 * Half of the lanes read 32 weights of a column each, the others 32 elements of a row (16, of 64 rows). Both wait in `v0` to `v7` and pass
 * through workgroup memory in two steps.
 */
function tileText(dtype: DType, perLane: 4 | 8, order: TileRows, arithmetic: TileArithmetic): TileText {
  const { vector, apart, write, writeColumn, factor } = arithmetic;
  const rows = 16 * perLane;
  const stride = columns + rows;
  // Lanes that share the 32 elements of a row.
  const sharers = columns / rows;
  const k = new WgslEmitter({ b: dtype }, lanes, { quads: new Set(rowElement(dtype) === "vec4u" ? ["b"] : []) });
  const results = resultNames(perLane);
  const written = (half: number): readonly string[] => {
    const own = range(4).map((i) => 4 * half + i);
    return [
      `if (lane < ${columns}u) { ${[write(own, "lane", stride), writeColumn].filter((each) => each !== "").join(" ")} }`,
      sharers === 1
        ? `else { ${write(own, "lane", stride)} }`
        : `else if (share == ${half}u) { ${write(range(4), `${columns}u + row`, stride)} }`,
    ];
  };
  const multiply = arithmetic.compute(perLane, stride);
  const body = [
    ...tilePlace(rows, order),
    ...tileLoop({
      places: [
        `let row = lane % ${rows}u; let share = (lane - ${columns}u) / ${rows}u;`,
        `let column = ${order.column("min(j0 + lane, p.n - 1u)", "p.n")};`,
        `let rowStart = ${arithmetic.rowStart(order.source("i0 + row"))};`,
      ],
      vector,
      vectors: unitVectors,
      variables: arithmetic.variables,
      results,
      units: `p.k / ${unitWeights}u`,
      readColumn: weightText(k, dtype, arithmetic),
      readRow: arithmetic.readRow(sharers),
      passes: [0, 1].map((half) => ({ write: written(half), multiply })),
    }),
    ...storeText(results, { side: 16, perRow: 2, start: "", apart, ...(factor && { factor }) }, order),
  ];
  return { declarations: [...k.declarations, ...arithmetic.declarations(stride)], body: body.join("\n") };
}

/** Reads unit `u` of the lane's column. */
function weightText(k: WgslEmitter, dtype: DType, { takeWeights, endWeights }: TileArithmetic): readonly string[] {
  const weights = weightsAtOnce(dtype) ?? unitWeights;
  const perRead = weights / 4;
  for (const part of range(unitWeights / weights)) {
    const loaded = weightVectors(k, "b", dtype, `(column * (p.k / ${unitWeights}u) + u) * ${unitWeights / weights}u + ${part}u`);
    loaded.vectors.forEach((vector, i) => {
      const share = (values: readonly string[]): string | undefined => values[Math.floor((i * values.length) / loaded.vectors.length)];
      const [scale, offset] = [share(loaded.scales), share(loaded.offsets)];
      const scaled = scale === undefined ? vector : `${scale} * ${vector}`;
      k.lines.push(takeWeights(part * perRead + i, offset === undefined ? scaled : `${scaled} + ${offset}`));
    });
  }
  return [...k.lines, ...endWeights];
}
