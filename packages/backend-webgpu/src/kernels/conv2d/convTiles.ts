import type { ParamsOf, TensorSpec } from "@centella/core";
import { tupleOf } from "@centella/core/backend";
import { defineDispatch, input, output } from "../../wgsl/module.ts";
import type { Dispatch } from "../shared/kernel.ts";
import { extent, range } from "../shared/shape.ts";

/** How a workgroup computes a rectangle of pixels of some output channels. */
export interface ConvTile {
  /** Lanes along a row of the rectangle. */
  readonly across: number;
  /** Neighbouring pixels of a lane, a multiple of 4. */
  readonly pixels: number;
  /** Rows of the rectangle. */
  readonly down: number;
  /** Lanes that share a pixel: each has other output channels. */
  readonly blocks: number;
  /** Vectors of four output channels of a lane. */
  readonly quads: number;
  /** Input channels whose elements are in workgroup memory at once, a divisor of those of a group. */
  readonly chunk: number;
}

/** A call of conv2d. All extents but the number of images are fixed. */
export interface ConvCall {
  readonly x: TensorSpec;
  readonly w: TensorSpec;
  readonly y: TensorSpec;
  readonly params: ParamsOf<"conv2d">;
}

/** Extents of a call. `filters` and `channels` are those of a group. */
interface Sizes {
  readonly height: number;
  readonly width: number;
  readonly rows: number;
  readonly columns: number;
  readonly filters: number;
  readonly channels: number;
  readonly kernelRows: number;
  readonly kernelColumns: number;
}

export function sizesOf({ x, w, y, params }: ConvCall): Sizes {
  const [height, width] = [extent(x.shape, 2, {}), extent(x.shape, 3, {})];
  const [filters, channels, kernelRows, kernelColumns] = tupleOf(
    w.shape.map((_, axis) => extent(w.shape, axis, {})),
    4,
  );
  const [rows, columns] = [extent(y.shape, 2, {}), extent(y.shape, 3, {})];
  return { height, width, rows, columns, filters: filters / params.groups, channels, kernelRows, kernelColumns };
}

/** Lanes of a workgroup. */
export function lanesOf({ across, down, blocks }: ConvTile): number {
  return across * down * blocks;
}

/** Rows of the image that a tile reads, and vectors of each. */
function imageRows(
  { across, pixels, down }: ConvTile,
  { params: { stride, dilation } }: ConvCall,
  sizes: Sizes,
): Record<"rows" | "vectors", number> {
  const last = (pixels - 1) * stride[1] + (sizes.kernelColumns - 1) * dilation[1];
  return {
    rows: (down - 1) * stride[0] + (sizes.kernelRows - 1) * dilation[0] + 1,
    vectors: (across - 1) * (pixels / 4) * stride[1] + Math.floor(last / 4) + 1,
  };
}

/** Vectors of a row of the tile's weights: an odd number, so that lanes that write neighbouring rows use different banks. */
function weightVectors({ blocks, quads }: ConvTile): number {
  return (blocks * quads) | 1;
}

/** Bytes of a workgroup's memory. */
export function convTileBytes(tile: ConvTile, call: ConvCall): number {
  const sizes = sizesOf(call);
  const { rows, vectors } = imageRows(tile, call, sizes);
  return 16 * tile.chunk * (rows * vectors + sizes.kernelRows * sizes.kernelColumns * weightVectors(tile));
}

/** A tile of a call, and what its texts derive from both. */
interface Parts {
  readonly tile: ConvTile;
  readonly call: ConvCall;
  readonly sizes: Sizes;
  readonly image: ReturnType<typeof imageRows>;
  readonly lanes: number;
  /** Elements of a channel of the kernel. */
  readonly taps: number;
}

/**
 * Images and weights pass through workgroup memory, some input channels at a time. A lane reads the vectors of a row that its pixels need once for
 * all columns of the kernel.
 */
export function convTile(tile: ConvTile, call: ConvCall): Dispatch {
  const sizes = sizesOf(call);
  const { height, width, rows, columns, filters, channels, kernelRows, kernelColumns } = sizes;
  const { across, pixels, down, blocks, quads, chunk } = tile;
  const { stride, groups } = call.params;
  const image = imageRows(tile, call, sizes);
  const parts: Parts = { tile, call, sizes, image, lanes: lanesOf(tile), taps: kernelRows * kernelColumns };
  const moves = [...imageMoves(parts), ...weightMoves(parts)];
  const perBlock = 4 * blocks * quads;
  const grid = [Math.ceil(filters / perBlock), Math.ceil(columns / (across * pixels)), Math.ceil(rows / down)] as const;
  return defineDispatch({
    bindings: [input("x", 0), input("w", 1), output("y", storesVectors(sizes) ? "vec4f" : "f32")],
    uniforms: { height: "u32", width: "u32", rows: "u32", columns: "u32" },
    lanes: parts.lanes,
    declarations: [
      `var<workgroup> imageTile: array<array<vec4f, ${image.rows * image.vectors}>, ${chunk}>;`,
      `var<workgroup> weightTile: array<array<vec4f, ${weightVectors(tile)}>, ${chunk * parts.taps}>;`,
      "fn element(at: u32, isInside: bool) -> f32 { return select(0.0, x[select(0u, at, isInside)], isInside); }",
    ],
    body: [
      `let tilesAcross = (p.columns + ${across * pixels - 1}u) / ${across * pixels}u;`,
      `let tilesDown = (p.rows + ${down - 1}u) / ${down}u;`,
      `let block = group % ${grid[0]}u * ${perBlock}u;`,
      `let rectangle = group / ${grid[0]}u;`,
      `let x0 = rectangle % tilesAcross * ${across * pixels}u;`,
      `let y0 = rectangle / tilesAcross % tilesDown * ${down}u;`,
      // Groups of all images.
      "let images = rectangle / tilesAcross / tilesDown;",
      `let firstFilter = images % ${groups}u * ${filters}u;`,
      "let plane = p.height * p.width;",
      `let firstPlane = images * ${channels}u * plane;`,
      `let tx = lane % ${across}u; let ty = lane / ${across}u % ${down}u;`,
      `let quad = lane / ${across * down}u * ${quads}u;`,
      `let vector = ty * ${stride[0] * image.vectors}u + tx * ${(pixels / 4) * stride[1]}u;`,
      ...range(pixels).flatMap((pixel) => range(quads).map((q) => `var ${sumOf(pixel, q)} = vec4f();`)),
      ...moves.flatMap(({ places }) => places),
      `for (var first = 0u; first < ${channels}u; first += ${chunk}u) {`,
      ...moves.map(({ read }) => read),
      "workgroupBarrier();",
      ...moves.map(({ write }) => write),
      "workgroupBarrier();",
      `for (var c = 0u; c < ${chunk}u; c++) {`,
      ...range(kernelRows).flatMap((i) => kernelRow(parts, i)),
      "}",
      "}",
      ...stores(parts),
    ].join("\n"),
    sizeIn(dims) {
      const count = extent(call.y.shape, 0, dims) * groups;
      return { groups: grid.reduce((a, b) => a * b, count), values: { height, width, rows, columns } };
    },
  });
}

const sumOf = (pixel: number, quad: number): string => `sum${pixel}_${quad}`;

/** A vector that a lane brings to workgroup memory. */
interface Move {
  /** Statements before the loop over the input channels. */
  readonly places: readonly string[];
  /** Reads the vector, of the channels from `first` on. */
  readonly read: string;
  readonly write: string;
}

/** Vectors of the image: zeros outside of it. */
function imageMoves({ tile: { chunk }, call: { params }, image, lanes }: Parts): readonly Move[] {
  const { stride, padding } = params;
  const perChannel = image.rows * image.vectors;
  const count = chunk * perChannel;
  return range(Math.ceil(count / lanes)).map((n): Move => {
    const own = `(lane + ${n * lanes}u)`;
    const isLast = (n + 1) * lanes > count;
    const isOwn = `lane < ${count - n * lanes}u`;
    const [row, column, at, end] = [`imageRow${n}`, `imageColumn${n}`, `imageAt${n}`, `imageEnd${n}`];
    const elements = range(4).map((e) => `element(${at} + first * plane + ${e}u, ${column} + ${e}u < ${end})`);
    return {
      places: [
        // Places before the image wrap to beyond every extent. Rows outside of it end before their first column: one comparison tests both.
        `let ${row} = y0 * ${stride[0]}u + ${own} % ${perChannel}u / ${image.vectors}u - ${padding[0]}u;`,
        `let ${column} = x0 * ${stride[1]}u + ${own} % ${image.vectors}u * 4u - ${padding[1]}u;`,
        `let ${at} = firstPlane + ${own} / ${perChannel}u * plane + ${row} * p.width + ${column};`,
        `let ${end} = select(0u, p.width, ${isLast ? `(${row} < p.height) & (${isOwn})` : `${row} < p.height`});`,
      ],
      read: `let image${n} = vec4f(${elements.join(", ")});`,
      write: `${isLast ? `if (${isOwn}) ` : ""}{ imageTile[${own} / ${perChannel}u][${own} % ${perChannel}u] = image${n}; }`,
    };
  });
}

/** Vectors of four filters' weights. Neighbouring lanes read neighbouring weights of a filter. */
function weightMoves({ tile: { blocks, quads, chunk }, sizes: { filters, channels }, lanes, taps }: Parts): readonly Move[] {
  const rows = chunk * taps;
  const count = rows * blocks * quads;
  return range(Math.ceil(count / lanes)).map((n): Move => {
    // Lanes beyond the last vector move it again, as filters beyond the last one are read again.
    const own = (n + 1) * lanes <= count ? `(lane + ${n * lanes}u)` : `min(lane + ${n * lanes}u, ${count - 1}u)`;
    const filterOf = (e: number): string => `min(block + ${own} / ${rows}u * 4u + ${e}u, ${filters - 1}u)`;
    return {
      places: range(4).map((e) => `let weightAt${n}_${e} = (firstFilter + ${filterOf(e)}) * ${channels * taps}u + ${own} % ${rows}u;`),
      read: `let weight${n} = vec4f(${range(4)
        .map((e) => `w[weightAt${n}_${e} + first * ${taps}u]`)
        .join(", ")});`,
      write: `weightTile[${own} % ${rows}u][${own} / ${rows}u] = weight${n};`,
    };
  });
}

/** Adds the products with row `i` of the kernel, of channel `c` of the chunk. */
function kernelRow(
  { tile: { pixels, quads }, call: { params }, sizes: { kernelColumns }, image, taps }: Parts,
  i: number,
): readonly string[] {
  const { stride, dilation } = params;
  const offsetOf = (pixel: number, j: number): number => pixel * stride[1] + j * dilation[1];
  const vectors = new Set(range(pixels).flatMap((pixel) => range(kernelColumns).map((j) => Math.floor(offsetOf(pixel, j) / 4))));
  return [
    "{",
    ...[...vectors].map((v) => `let x${v} = imageTile[c][vector + ${i * dilation[0] * image.vectors + v}u];`),
    ...range(kernelColumns).flatMap((j) => [
      "{",
      ...range(quads).flatMap((q) => [
        `let w${q} = weightTile[c * ${taps}u + ${i * kernelColumns + j}u][quad + ${q}u];`,
        ...range(pixels).map((pixel) => {
          const at = offsetOf(pixel, j);
          const sum = sumOf(pixel, q);
          return `${sum} = fma(vec4f(x${Math.floor(at / 4)}.${"xyzw"[at % 4]}), w${q}, ${sum});`;
        }),
      ]),
      "}",
    ]),
    "}",
  ];
}

/** Whether lanes store vectors of neighbouring pixels. */
function storesVectors({ columns }: Sizes): boolean {
  return columns % 4 === 0;
}

function stores({ tile: { pixels, quads }, sizes }: Parts): readonly string[] {
  const storesOf = (q: number, e: number): readonly string[] => {
    const element = (pixel: number): string => `${sumOf(pixel, q)}.${"xyzw"[e]}`;
    const inside = (pixel: number, store: string): string => `if (column + ${pixel}u < p.columns) { ${store} }`;
    if (!storesVectors(sizes)) return range(pixels).map((pixel) => inside(pixel, `y[at + ${pixel}u] = ${element(pixel)};`));
    return range(pixels / 4).map((v) => {
      const values = range(4).map((pixel) => element(4 * v + pixel));
      return inside(4 * v, `y[at / 4u + ${v}u] = vec4f(${values.join(", ")});`);
    });
  };
  return [
    `let row = y0 + ty; let column = x0 + tx * ${pixels}u;`,
    "if (row < p.rows) {",
    ...range(quads).flatMap((q) =>
      range(4).flatMap((e) => [
        `if (block + (quad + ${q}u) * 4u + ${e}u < ${sizes.filters}u) {`,
        `let at = ((images * ${sizes.filters}u + block + (quad + ${q}u) * 4u + ${e}u) * p.rows + row) * p.columns + column;`,
        ...storesOf(q, e),
        "}",
      ]),
    ),
    "}",
  ];
}
