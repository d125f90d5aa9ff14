import { range } from "../shared/shape.ts";
import { cacheWidth } from "./cacheElements.ts";
import {
  across,
  depthAtOnce,
  downOf,
  type FlashForm,
  fetchText,
  lanesOf,
  positionsAtOnce,
  positionsPerLane,
  positionVectors,
  rows,
  tileRowsOf,
} from "./flashForm.ts";

/** Vectors of the depth that are in the workgroup's memory at once. */
const quads = depthAtOnce / 4;

/** Rows of the workgroup's memory that queries take. */
const queryRows = quads * tileRowsOf(rows);

/** What a lane reads at once of queries or of keys: expressions of the row or position, and of the number of the part of it. */
interface Read {
  readonly name: string;
  readonly of: string;
  readonly part: string;
}

/** The reads of `lanes` lanes, each of which has as many of `count` rows or positions with `parts` parts. Neighbouring lanes read neighbouring parts. */
function readsOf(kind: string, count: number, parts: number, lanes: number): readonly Read[] {
  return range((count * parts) / lanes).map((n) => {
    const index = `(lane + ${n * lanes}u)`;
    return { name: `${kind}${n}`, of: `${index} / ${parts}u`, part: `${index} % ${parts}u` };
  });
}

/**
 * Scores of the lane's rows and positions: `s<row>_<vector>`, four positions that are 16 apart. Vectors in the workgroup's memory are along the depth,
 * so that lanes write whole ones; lanes turn those of four positions. The next elements are on their way while these are multiplied.
 */
export function scoresText(form: FlashForm): readonly string[] {
  const { rowsPerLane, dK, cache } = form;
  const lanes = lanesOf(form);
  const queries = readsOf("query", rows, quads, lanes);
  const keys = readsOf("key", positionsAtOnce, depthAtOnce / cacheWidth, lanes);
  const fetch = (depth: string): readonly string[] => fetchesText(form, queries, keys, depth);
  return [
    ...queries.map(({ name }) => `var ${name} = vec4f();`),
    ...keys.map(({ name }) => `var ${name} = ${cache.packed}();`),
    ...fetch("0u"),
    ...range(rowsPerLane).flatMap((i) => positionVectors.map((v) => `var s${i}_${v} = vec4f();`)),
    `for (var depth = 0u; depth < ${dK}u; depth += ${depthAtOnce}u) {`,
    "workgroupBarrier();",
    ...queries.map(({ name, of, part }) => `${tileAt(0, rows, part, of, downOf(form))} = ${name};`),
    ...keys.flatMap(({ name, of, part }) =>
      cache.vectors(name).map((vector, v) => {
        const quad = `(${part} * ${cacheWidth / 4}u + ${v}u)`;
        return `${tileAt(queryRows, positionsAtOnce, quad, of, across)} = ${vector};`;
      }),
    ),
    "workgroupBarrier();",
    `if (depth + ${depthAtOnce}u < ${dK}u) {`,
    ...fetch(`(depth + ${depthAtOnce}u)`),
    "}",
    ...range(quads).flatMap((quad) => productsText(form, quad)),
    "}",
  ];
}

/** Reads queries, scaled, and keys from element `depth` on; zeros beyond the last one. */
function fetchesText(form: FlashForm, queries: readonly Read[], keys: readonly Read[], depth: string): readonly string[] {
  const { dK, heads, cache } = form;
  const within = (at: string, end: number, statement: string, none: string): string =>
    dK % depthAtOnce === 0 ? statement : `if (${at} < ${end}u) { ${statement} } else { ${none} }`;
  return [
    ...queries.map(({ name, of, part }) => {
      const element = `${depth} / 4u + ${part}`;
      const row = `(min(t0 + ${of} / ${heads}u, tEnd - 1u) * p.heads + h0 + (${of}) % ${heads}u)`;
      return within(element, dK / 4, `${name} = q[${row} * ${dK / 4}u + ${element}] * p.scale;`, `${name} = vec4f();`);
    }),
    ...keys.map(({ name, of, part }) => {
      const element = `${depth} + ${part} * ${cacheWidth}u`;
      return within(element, dK, fetchText(name, of, element, form), `${name} = ${cache.packed}();`);
    }),
  ];
}

/** What places of lanes are shifted by for a vector of the depth, among `count` of them: lanes that write neighbouring vectors use different banks. */
function shiftOf(quad: number, count: number): number {
  return (quad * 2) % Math.min(count, 8);
}

/** Where vector `quad` of row or position `of` is, two expressions. `first` is the first row of memory; `count` lanes share those of a vector. */
function tileAt(first: number, all: number, quad: string, of: string, count: number): string {
  const row = `${first}u + ${quad} * ${tileRowsOf(all)}u + ${of} / ${across}u`;
  return `tiles[${row}][(${of} % ${across}u) ^ (${quad} * 2u % ${Math.min(count, 8)}u)]`;
}

/** Adds the products of vector `quad` of the depth. */
function productsText(form: FlashForm, quad: number): readonly string[] {
  const down = downOf(form);
  const own = range(form.rowsPerLane);
  return [
    "{",
    `let xAt = tx ^ ${shiftOf(quad, across)}u; let yAt = ty ^ ${shiftOf(quad, down)}u;`,
    ...range(positionsPerLane).map((e) => `let b${e} = tiles[${queryRows + quad * tileRowsOf(positionsAtOnce) + e}][xAt];`),
    ...own.map((i) => {
      const row = i * down;
      return `let a${i} = tiles[${quad * tileRowsOf(rows) + Math.floor(row / across)}][yAt${row % across === 0 ? "" : ` + ${row % across}u`}];`;
    }),
    ...[..."xyzw"].flatMap((part) =>
      positionVectors.flatMap((v) => [
        "{",
        `let b = vec4f(${range(4)
          .map((e) => `b${4 * v + e}.${part}`)
          .join(", ")});`,
        ...own.map((i) => `s${i}_${v} = fma(vec4f(a${i}.${part}), b, s${i}_${v});`),
        "}",
      ]),
    ),
    "}",
  ];
}
