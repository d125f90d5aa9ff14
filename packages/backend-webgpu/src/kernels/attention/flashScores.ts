import { range } from "../shared/shape.ts";
import { cacheWidth } from "./cacheElements.ts";
import { across, depthAtOnce, type FlashForm, fetchText, lanesOf, positionsAtOnce, rowsPerLane } from "./flashForm.ts";

/** Scores of the lane's rows and positions, `s<row>`. The next elements are on their way while these are multiplied. */
export function scoresText(form: FlashForm): readonly string[] {
  const { rows, dK, heads, cache } = form;
  const lanes = lanesOf(form);
  const keyFours = (depthAtOnce * rows) / 4;
  const perRow = depthAtOnce / 4;
  const queries = range((rows * perRow) / lanes).map((n) => ({ name: `query${n}`, index: `(lane + ${n * lanes}u)` }));
  const keys = range((positionsAtOnce * depthAtOnce) / cacheWidth / lanes).map((n) => ({
    name: `key${n}`,
    index: `(lane + ${n * lanes}u)`,
  }));
  // The last step may have fewer elements. Lanes beyond them read others of the same row, which nothing multiplies.
  const isUneven = dK % depthAtOnce !== 0;
  const within = (at: string, last: number): string => (isUneven ? `min(${at}, ${last}u)` : at);
  const fetch = (at: string): readonly string[] => [
    ...queries.map(({ name, index }) => {
      const r = `${index} % ${rows}u`;
      const element = within(`${at} / 4u + ${index} / ${rows}u`, dK / 4 - 1);
      return `${name} = q[(min(t0 + ${r} / ${heads}u, tEnd - 1u) * p.heads + h0 + ${r} % ${heads}u) * ${dK / 4}u + ${element}] * p.scale;`;
    }),
    ...keys.map(({ name, index }) =>
      fetchText(
        name,
        `${index} % ${positionsAtOnce}u`,
        within(`${at} + ${index} / ${positionsAtOnce}u * ${cacheWidth}u`, dK - cacheWidth),
        form,
      ),
    ),
  ];
  const element = (e: number): string => `[${e % 4}]`;
  return [
    ...queries.map(({ name }) => `var ${name} = vec4f();`),
    ...keys.map(({ name }) => `var ${name} = ${cache.packed}();`),
    ...fetch("0u"),
    ...range(rowsPerLane).map((i) => `var s${i} = vec4f();`),
    `for (var depth = 0u; depth < ${dK}u; depth += ${depthAtOnce}u) {`,
    "workgroupBarrier();",
    ...queries.flatMap(({ name, index }) =>
      range(4).map(
        (e) => `tiles[(${index} / ${rows}u * 4u + ${e}u) * ${rows / 4}u + ${index} % ${rows}u / 4u][lane & 3u] = ${name}${element(e)};`,
      ),
    ),
    ...keys.flatMap(({ name, index }) => [
      "{",
      `let at = ${keyFours}u + ${index} / ${positionsAtOnce}u * ${(cacheWidth * positionsAtOnce) / 4}u + lane % ${across}u;`,
      `let part = ${index} % ${positionsAtOnce}u / ${across}u;`,
      ...cache
        .vectors(name)
        .flatMap((vector, v) => [
          `let vector${v} = ${vector};`,
          ...range(4).map((e) => `tiles[at + ${((4 * v + e) * positionsAtOnce) / 4}u][part] = vector${v}${element(e)};`),
        ]),
      "}",
    ]),
    "workgroupBarrier();",
    `if (depth + ${depthAtOnce}u < ${dK}u) {`,
    ...fetch(`(depth + ${depthAtOnce}u)`),
    "}",
    `for (var k = 0u; k < ${isUneven ? `min(${depthAtOnce}u, ${dK}u - depth)` : `${depthAtOnce}u`}; k++) {`,
    ...range(rowsPerLane / 4).map((a) => `let a${a} = vectorOf(tiles[k * ${rows / 4}u + ty * ${rowsPerLane / 4}u + ${a}u]);`),
    `let b = vectorOf(tiles[${keyFours}u + k * ${across}u + tx]);`,
    ...range(rowsPerLane).map((i) => `s${i} = fma(vec4f(a${i >> 2}[${i & 3}]), b, s${i});`),
    "}",
    "}",
  ];
}
