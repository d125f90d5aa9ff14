import type { DimValues, DType } from "@centella/core";
import { unitWeights } from "@centella/gpu-kernels";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import type { EpilogueText } from "../../wgsl/epilogue.ts";
import { defineDispatch, input, output } from "../../wgsl/module.ts";
import type { Binding, Dispatch, Field } from "./kernel.ts";
import { packedTileText } from "./packedTiles.ts";
import { range } from "./shape.ts";
import { columns, lanes, resultNames, storeText, type TileText, tilePlace } from "./tile.ts";
import { denseRows, type TileRows } from "./tileRows.ts";
import { hasRowProduct, rowElement, weightsAtOnce, weightVectors } from "./weights.ts";

/** Elements of the depth whose weights and rows workgroup memory holds at once. */
const step = 16;

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
export function tileArguments({ left, isPacked, dtype, store, order = denseRows }: TileParts): {
  readonly bindings: readonly Binding[];
  readonly uniforms: Readonly<Record<string, Field["type"]>>;
} {
  return {
    bindings: [
      { ...left, element: isPacked ? "vec4u" : "vec4f" },
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
  const { isPacked, dtype, depth, store, order = denseRows } = parts;
  const rows = 16 * perLane;
  const text = isPacked ? packedTileText(dtype) : tileText(dtype, perLane, order);
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
function tileText(dtype: DType, perLane: 4 | 8, order: TileRows): TileText {
  const rows = 16 * perLane;
  const stride = columns + rows;
  // Lanes that share the 32 elements of a row.
  const sharers = columns / rows;
  const perSharer = unitWeights / 4 / sharers;
  const k = new WgslEmitter({ b: dtype }, lanes, { quads: new Set(rowElement(dtype) === "vec4u" ? ["b"] : []) });
  const results = resultNames(perLane);
  const read = readText(k, dtype, sharers, perSharer);
  const write = (half: number): readonly string[] => [
    `if (lane < ${columns}u) { ${writeText(
      range(4).map((i) => 4 * half + i),
      "lane",
      stride,
    )} }`,
    sharers === 1
      ? `else { ${writeText(
          range(4).map((i) => 4 * half + i),
          "lane",
          stride,
        )} }`
      : `else if (share == ${half}u) { ${writeText(range(4), `${columns}u + row`, stride)} }`,
  ];
  const compute = computeText(perLane, stride);
  k.lines.unshift(
    ...tilePlace(rows, order),
    `let row = lane % ${rows}u; let share = (lane - ${columns}u) / ${rows}u;`,
    `let column = ${order.column("min(j0 + lane, p.n - 1u)", "p.n")};`,
    `let rowStart = ${order.source("i0 + row")} * (p.k / 4u);`,
    ...range(unitWeights / 4).map((i) => `var v${i} = vec4f();`),
    ...results.map((name) => `var ${name} = vec4f();`),
    `for (var u = 0u; u < p.k / ${unitWeights}u; u++) {`,
  );
  k.lines.push(
    ...read,
    ...[0, 1].flatMap((half) => ["workgroupBarrier();", ...write(half), "workgroupBarrier();", ...compute]),
    "}",
    ...storeText(results, undefined, order),
  );
  const tiles = `var<workgroup> tiles: array<f32, ${step * (columns + rows)}>;`;
  return { declarations: [...k.declarations, tiles], body: k.lines.join("\n") };
}

function readText(k: WgslEmitter, dtype: DType, sharers: number, perSharer: number): readonly string[] {
  const before = k.lines.length;
  const weights = weightsAtOnce(dtype) ?? unitWeights;
  const perRead = weights / 4;
  for (const part of range(unitWeights / weights)) {
    const loaded = weightVectors(k, "b", dtype, `(column * (p.k / ${unitWeights}u) + u) * ${unitWeights / weights}u + ${part}u`);
    loaded.vectors.forEach((vector, i) => {
      const share = (values: readonly string[]): string | undefined => values[Math.floor((i * values.length) / loaded.vectors.length)];
      const [scale, offset] = [share(loaded.scales), share(loaded.offsets)];
      const scaled = scale === undefined ? vector : `${scale} * ${vector}`;
      k.lines.push(`v${part * perRead + i} = ${offset === undefined ? scaled : `${scaled} + ${offset}`};`);
    });
  }
  const decode = k.lines.splice(before);
  const rows = range(perSharer).map(
    (i) => `v${i} = a[rowStart + u * ${unitWeights / 4}u + ${sharers === 1 ? "" : `share * ${perSharer}u + `}${i}u];`,
  );
  return [`if (lane < ${columns}u) {`, ...decode, "} else {", ...rows, "}"];
}

/** Writes four of the vectors to column `at` of the tiles. */
function writeText(vectors: readonly number[], at: string, stride: number): string {
  return vectors
    .flatMap((v, i) => ["x", "y", "z", "w"].map((part, e) => `tiles[${(4 * i + e) * stride}u + ${at}] = v${v}.${part};`))
    .join(" ");
}

function computeText(perLane: number, stride: number): readonly string[] {
  const four = (at: string): string =>
    `vec4f(${range(4)
      .map((e) => `tiles[k * ${stride}u + ${at} + ${e}u]`)
      .join(", ")})`;
  return [
    `for (var k = 0u; k < ${step}u; k++) {`,
    ...[0, 1].map((j) => `let b${j} = ${four(`${64 * j}u + tx * 4u`)};`),
    ...range(perLane / 4).map((i) => `let a${i} = ${four(`${columns + 64 * i}u + ty * 4u`)};`),
    ...range(perLane).flatMap((i) => [0, 1].map((j) => `c${i}_${j} = fma(vec4f(a${Math.floor(i / 4)}[${i % 4}]), b${j}, c${i}_${j});`)),
    "}",
  ];
}
