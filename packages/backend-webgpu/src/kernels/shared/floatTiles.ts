import type { DType } from "@centella/core";
import { range } from "./shape.ts";
import { storeText } from "./tile.ts";
import { quadElement, quadText } from "./weights.ts";

/** How a workgroup computes a square tile of a product of two matrices of floats. */
export interface FloatTile {
  /** Lanes along each side of the tile. */
  readonly side: 8 | 16;
  /** Rows and columns of each lane. */
  readonly perLane: 4 | 8;
  /** Elements of the depth that workgroup memory holds at once. */
  readonly depth: 8 | 16 | 32;
  /** Whether the last step has fewer elements of the depth. Zeros follow them. */
  readonly isPartial: boolean;
}

/** How an operand of a {@link FloatTile} is stored. */
export interface FloatOperand {
  readonly dtype: DType;
  /** Whether neighbouring elements are those of the depth. */
  readonly isAlongDepth: boolean;
  /**
   * Whether elements are read one by one: vectors of four do not begin at multiples of 4, or the dtype has blocks. The dtype's function of
   * {@link loader} reads those of b.
   */
  readonly isScalar: boolean;
}

interface Choice extends Omit<FloatTile, "depth" | "isPartial"> {
  readonly mostDepth: FloatTile["depth"];
  readonly fewest: number;
}

/** Tiles, the largest first, each with the number of them from which on it is chosen. */
const choices: readonly Choice[] = [
  { side: 16, perLane: 8, mostDepth: 8, fewest: 128 },
  { side: 16, perLane: 4, mostDepth: 32, fewest: 128 },
  { side: 8, perLane: 4, mostDepth: 32, fewest: 0 },
];

/** Elements of the depth of a step where `mostDepth` does not divide the depth. */
const smallDepth = 16;

/** The tiles of products of depth `k`; undefined if runs differ. */
export function floatTiles(k: number | undefined): readonly FloatTile[] {
  return choices.map(({ side, perLane, mostDepth }) => {
    if (k === undefined) return { side, perLane, depth: mostDepth, isPartial: true };
    const depth = k % mostDepth !== 0 && k % smallDepth === 0 ? smallDepth : mostDepth;
    return { side, perLane, depth, isPartial: k % depth !== 0 };
  });
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
 * Text of the tile of `y` from row `i0` and column `j0` on. `a` is [m, k], or [k, m] if it is not along the depth, and `b` is [n, k] or [k, n].
 * The bindings are arrays of {@link quadElement} from `aAt` and `bAt` on, and `store` writes an element from `yAt` on. `p.k` is above 0, and a
 * multiple of the tile's depth unless the tile is partial. The extent along which an operand is stored is a multiple of 4, unless its elements
 * are read one by one. Results with an epilogue are stored in a loop.
 *
 * Workgroup memory has a row of vectors per element of the depth. Indices of these rows are constants and those of vectors are the same for all
 * rows, so that neither computing nor checking them takes a lane's time. The next elements are read while the present ones are multiplied.
 */
export function floatTileText(
  tile: FloatTile,
  a: FloatOperand,
  b: FloatOperand,
  hasEpilogue: boolean,
): { readonly declarations: readonly string[]; readonly body: string } {
  const { side, perLane, depth, isPartial } = tile;
  const extent = extentOf(tile);
  const parts = range(perLane / 4);
  const operands = [operandText(tile, "a", a), operandText(tile, "b", b)];
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
      // After the last elements, these are read once more. The loads of partial tiles check their places themselves.
      isPartial ? `let next = k0 + ${depth}u;` : `let next = min(k0 + ${depth}u, p.k - ${depth}u);`,
      ...operands.flatMap(({ fetch }) => fetch("", "next")),
      ...steps,
      "}",
      ...(hasEpilogue
        ? storeText(
            results.map(({ name }) => name),
            { side, perRow: parts.length, start: "yAt + " },
          )
        : results.map((result) => storeOnce(result, side))),
    ].join("\n"),
  };
}

/** Stores those elements of a vector of results that are inside the matrix. */
function storeOnce({ i, j, name }: { readonly i: number; readonly j: number; readonly name: string }, side: number): string {
  const row = `i0 + ty * 4u + ${Math.floor(i / 4) * side * 4 + (i % 4)}u`;
  const column = `j0 + tx * 4u + ${j * side * 4}u`;
  return `if (${row} < p.m) { ${range(4)
    .map((e) => `if (${column} + ${e}u < p.n) { store(yAt + (${row}) * p.n + ${column} + ${e}u, ${name}.${"xyzw"[e]}); }`)
    .join(" ")} }`;
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

function operandText(tile: FloatTile, name: "a" | "b", operand: FloatOperand): OperandText {
  const { side, depth } = tile;
  const extent = extentOf(tile);
  const lanes = side * side;
  const vectors = range((extent * depth) / 4 / lanes);
  const quads = (operand.isAlongDepth ? depth : extent) / 4;
  const quadPlaces = vectors.map(
    (v) => `let ${name}Quad${v} = (lane + ${v * lanes}u) % ${quads}u; let ${name}Row${v} = (lane + ${v * lanes}u) / ${quads}u;`,
  );
  const { starts, load } = operand.isScalar ? elementLoads(tile, name, operand) : vectorLoads(tile, name, operand);
  const fetch = (keyword: string, k: string): readonly string[] => vectors.map((v) => `${keyword}${name}${v} = ${load(v, k)};`);
  // Single elements are floats once they are read.
  const dtype = operand.isScalar ? "f32" : operand.dtype;
  const lane = name === "a" ? "ty" : "tx";
  const read = (k: number, part: number, at: string): string =>
    `let ${name}${k}_${part} = ${name}Tile[${k}][${at}${part > 0 ? ` + ${part * side}u` : ""}];`;
  if (!operand.isAlongDepth) {
    return {
      places: vectors.flatMap((v) => [quadPlaces[v] ?? "", starts(v)]),
      fetch,
      write: vectors.map((v) => `${name}Tile[${name}Row${v}][${name}Quad${v}] = ${quadText(dtype, `${name}${v}`)};`),
      read: (k, part) => read(k, part, lane),
    };
  }
  // Lanes of a subgroup write rows that follow one another, at several places of the depth: a shift by these keeps them in banks of their own.
  const shift = together / 4 / quads;
  return {
    places: [
      ...vectors.flatMap((v) => [
        quadPlaces[v] ?? "",
        starts(v),
        `let ${name}Place${v} = (${name}Row${v} / 4u) ^ (${name}Quad${v} * ${shift}u);`,
      ]),
      ...range(quads).map((q) => `let ${name}Lane${q} = ${lane} ^ ${q * shift}u;`),
    ],
    fetch,
    write: vectors.flatMap((v) => [
      ...(dtype === "f32" ? [] : [`let ${name}Floats${v} = ${quadText(dtype, `${name}${v}`)};`]),
      ...range(4).map((e) => {
        const value = `${name}${dtype === "f32" ? "" : "Floats"}${v}.${"xyzw"[e]}`;
        return `${name}Tile[${name}Quad${v} * 4u + ${e}u][${name}Place${v}][${name}Row${v} % 4u] = ${value};`;
      }),
    ]),
    read: (k, part) => read(k, part, `${name}Lane${Math.floor(k / 4)}`),
  };
}

/** How a lane reads its vectors of an operand. */
interface OperandLoads {
  /** Defines where vector `v` starts. */
  starts(v: number): string;
  /** Expression of vector `v` in the step that starts at `k` of the depth. */
  load(v: number, k: string): string;
}

/** First row or column of a tile, and number of those of the operand. */
function boundsOf(name: "a" | "b"): readonly [first: string, last: string] {
  return name === "a" ? ["i0", "p.m"] : ["j0", "p.n"];
}

/** Loads of whole vectors. */
function vectorLoads({ isPartial }: FloatTile, name: "a" | "b", { dtype, isAlongDepth }: FloatOperand): OperandLoads {
  const [first, last] = boundsOf(name);
  /** A vector at place `at` of the depth, which has `end` places. */
  const load = (at: string, end: string, index: (at: string) => string): string => {
    if (!isPartial) return `${name}[${index(at)}]`;
    return `select(${quadElement(dtype)}(), ${name}[${index(`min(${at}, ${end} - 1u)`)}], ${at} < ${end})`;
  };
  if (!isAlongDepth) {
    return {
      starts: (v) => `let ${name}From${v} = (${name}At + min(${first} + ${name}Quad${v} * 4u, ${last} - 4u)) / 4u;`,
      load: (v, k) => load(`(${k} + ${name}Row${v})`, "p.k", (at) => `${name}From${v} + ${at} * (${last} / 4u)`),
    };
  }
  return {
    starts: (v) => {
      const start = `(${name}At + min(${first} + ${name}Row${v}, ${last} - 1u) * p.k) / 4u`;
      return `let ${name}From${v} = ${start}${isPartial ? "" : ` + ${name}Quad${v}`};`;
    },
    load: (v, k) => {
      const place = isPartial ? `((${k}) / 4u + ${name}Quad${v})` : `(${k}) / 4u`;
      return load(place, "(p.k / 4u)", (at) => `${name}From${v} + ${at}`);
    },
  };
}

/** Loads of single elements, which vectors are put together from. */
function elementLoads({ isPartial }: FloatTile, name: "a" | "b", { isAlongDepth }: FloatOperand): OperandLoads {
  const [first, last] = boundsOf(name);
  const element = (index: string): string => (name === "a" ? `a[${index}]` : `load_b(${index})`);
  /** The element at place `at` of the depth. */
  const load = (at: string, index: (at: string) => string): string =>
    isPartial ? `select(0.0, ${element(index(`min(${at}, p.k - 1u)`))}, ${at} < p.k)` : element(index(at));
  const four = (value: (e: number) => string): string => `vec4f(${range(4).map(value).join(", ")})`;
  if (!isAlongDepth) {
    return {
      starts: (v) => `let ${name}From${v} = ${first} + ${name}Quad${v} * 4u;`,
      load: (v, k) =>
        four((e) => load(`(${k} + ${name}Row${v})`, (at) => `${name}At + ${at} * ${last} + min(${name}From${v} + ${e}u, ${last} - 1u)`)),
    };
  }
  return {
    starts: (v) => `let ${name}From${v} = ${name}At + min(${first} + ${name}Row${v}, ${last} - 1u) * p.k;`,
    load: (v, k) => four((e) => load(`(${k} + ${name}Quad${v} * 4u + ${e}u)`, (at) => `${name}From${v} + ${at}`)),
  };
}
