import { range } from "./shape.ts";

/** How a workgroup computes a square tile of a product of two f32 matrices. */
export interface FloatTile {
  /** Lanes along each side of the tile. */
  readonly side: 8 | 16;
  /** Rows and columns of each lane. */
  readonly perLane: 4 | 8;
  /** Elements of the depth that workgroup memory holds at once. */
  readonly depth: 8 | 16 | 32;
}

/** Tiles, the largest first, each with the number of them from which on it is chosen. */
const choices: readonly (Omit<FloatTile, "depth"> & { readonly mostDepth: FloatTile["depth"]; readonly fewest: number })[] = [
  { side: 16, perLane: 8, mostDepth: 8, fewest: 128 },
  { side: 16, perLane: 4, mostDepth: 32, fewest: 128 },
  { side: 8, perLane: 4, mostDepth: 32, fewest: 0 },
];

/** Divides the depths of products by tiles. */
export const depthUnit = 16;

/** The tiles of products of depth `k`. */
export function floatTiles(k: number): readonly FloatTile[] {
  return choices.map(({ side, perLane, mostDepth }) => ({ side, perLane, depth: k % mostDepth === 0 ? mostDepth : depthUnit }));
}

/** The place of the largest tile of which there are enough to keep a device busy: `count` tells how many of an extent there are. */
export function floatTileFor(count: (extent: number) => number): number {
  return choices.findIndex((choice) => count(extentOf(choice)) >= choice.fewest);
}

/** Rows and columns of a tile. */
export function extentOf({ side, perLane }: Pick<FloatTile, "side" | "perLane">): number {
  return side * perLane;
}

/** Lanes of the subgroups whose accesses to workgroup memory must not meet in a bank. */
const together = 32;

/**
 * Text of the tile of `y` from row `i0` and column `j0` on, of `a` [m, k] and `b` [k, n] or, if `transposeB`, [n, k]: the bindings are arrays of
 * vec4f from `aAt` and `bAt` on, and `store` writes an element from `yAt` on. `p.k` is a multiple of the tile's depth, and `p.n` one of 4 unless
 * `transposeB`.
 *
 * Workgroup memory has a row of vectors per element of the depth. Indices of these rows are constants and those of vectors are the same for all
 * rows, so that neither computing nor checking them takes a lane's time. The next elements are read while the present ones are multiplied.
 */
export function floatTileText(tile: FloatTile, transposeB: boolean): { readonly declarations: readonly string[]; readonly body: string } {
  const { side, perLane, depth } = tile;
  const extent = extentOf(tile);
  const parts = range(perLane / 4);
  const operands = [operandText(tile, "a", true), operandText(tile, "b", transposeB)];
  const results = range(perLane).flatMap((i) => parts.map((j) => ({ i, j, name: `c${i}_${j}` })));
  const steps = range(depth).flatMap((k) => [
    ...operands.flatMap(({ read }) => parts.map((part) => read(k, part))),
    ...results.map(({ i, j, name }) => `${name} = fma(vec4f(a${k}_${Math.floor(i / 4)}[${i % 4}]), b${k}_${j}, ${name});`),
  ]);
  return {
    declarations: ["a", "b"].map((name) => `var<workgroup> ${name}Tile: array<array<vec4f, ${extent / 4}>, ${depth}>;`),
    body: [
      `let ty = lane / ${side}u; let tx = lane % ${side}u;`,
      ...results.map(({ name }) => `var ${name} = vec4f();`),
      ...operands.flatMap(({ places }) => places),
      ...operands.flatMap(({ fetch }) => fetch("var ", "0u")),
      `for (var k0 = 0u; k0 < p.k; k0 += ${depth}u) {`,
      "workgroupBarrier();",
      ...operands.flatMap(({ write }) => write),
      "workgroupBarrier();",
      // After the last ones, these are read once more.
      `let next = min(k0 + ${depth}u, p.k - ${depth}u);`,
      ...operands.flatMap(({ fetch }) => fetch("", "next")),
      ...steps,
      "}",
      ...results.map(({ i, j, name }) => {
        const row = `i0 + ty * 4u + ${Math.floor(i / 4) * side * 4 + (i % 4)}u`;
        const column = `j0 + tx * 4u + ${j * side * 4}u`;
        return `if (${row} < p.m) { ${range(4)
          .map((e) => `if (${column} + ${e}u < p.n) { store(yAt + (${row}) * p.n + ${column} + ${e}u, ${name}.${"xyzw"[e]}); }`)
          .join(" ")} }`;
      }),
    ].join("\n"),
  };
}

interface OperandText {
  /** Where the lane's vectors are. */
  readonly places: readonly string[];
  /** Reads the lane's vectors of the depth from `k` on. */
  fetch(keyword: string, k: string): readonly string[];
  /** Writes them to workgroup memory. */
  readonly write: readonly string[];
  /** Reads a lane's part of the vectors for element `k` of the depth. */
  read(k: number, part: number): string;
}

function operandText(tile: FloatTile, name: "a" | "b", isAlongDepth: boolean): OperandText {
  const { side, depth } = tile;
  const extent = extentOf(tile);
  const lanes = side * side;
  const vectors = range((extent * depth) / 4 / lanes);
  const [lane, first, last] = name === "a" ? ["ty", "i0", "p.m"] : ["tx", "j0", "p.n"];
  const read = (k: number, part: number, at: string): string =>
    `let ${name}${k}_${part} = ${name}Tile[${k}][${at}${part > 0 ? ` + ${part * side}u` : ""}];`;
  if (!isAlongDepth) {
    const quads = extent / 4;
    return {
      places: vectors.flatMap((v) => [
        `let ${name}Quad${v} = (lane + ${v * lanes}u) % ${quads}u; let ${name}Row${v} = (lane + ${v * lanes}u) / ${quads}u;`,
        `let ${name}From${v} = (${name}At + min(${first} + ${name}Quad${v} * 4u, ${last} - 4u)) / 4u;`,
      ]),
      fetch: (keyword, k) =>
        vectors.map((v) => `${keyword}${name}${v} = ${name}[${name}From${v} + (${k} + ${name}Row${v}) * (${last} / 4u)];`),
      write: vectors.map((v) => `${name}Tile[${name}Row${v}][${name}Quad${v}] = ${name}${v};`),
      read: (k, part) => read(k, part, lane),
    };
  }
  const quads = depth / 4;
  // Lanes of a subgroup write rows that follow one another, at several places of the depth: a shift by these keeps them in banks of their own.
  const shift = together / 4 / quads;
  return {
    places: [
      ...vectors.flatMap((v) => [
        `let ${name}Quad${v} = (lane + ${v * lanes}u) % ${quads}u; let ${name}Row${v} = (lane + ${v * lanes}u) / ${quads}u;`,
        `let ${name}From${v} = (${name}At + min(${first} + ${name}Row${v}, ${last} - 1u) * p.k) / 4u + ${name}Quad${v};`,
        `let ${name}Place${v} = (${name}Row${v} / 4u) ^ (${name}Quad${v} * ${shift}u);`,
      ]),
      ...range(quads).map((q) => `let ${name}Lane${q} = ${lane} ^ ${q * shift}u;`),
    ],
    fetch: (keyword, k) => vectors.map((v) => `${keyword}${name}${v} = ${name}[${name}From${v} + (${k}) / 4u];`),
    write: vectors.flatMap((v) =>
      range(4).map((e) => `${name}Tile[${name}Quad${v} * 4u + ${e}u][${name}Place${v}][${name}Row${v} % 4u] = ${name}${v}.${"xyzw"[e]};`),
    ),
    read: (k, part) => read(k, part, `${name}Lane${Math.floor(k / 4)}`),
  };
}
