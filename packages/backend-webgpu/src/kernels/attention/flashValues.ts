import { range } from "../shared/shape.ts";
import { cacheWidth } from "./cacheElements.ts";
import {
  across,
  type FlashForm,
  fetchText,
  lanesOf,
  ownVectors,
  positionsAtOnce,
  rowsPerLane,
  valueElements,
  weightStride,
} from "./flashForm.ts";

/** Adds the values of the tile's positions to the lane's sums, `o<row>_<vector>`. */
export function valuesText(form: FlashForm): readonly string[] {
  const { dK, cache, valueParts, valuesAtOnce } = form;
  const size = valueElements(form);
  const lanes = lanesOf(form);
  const stride = weightStride(form);
  const valueFours = positionsAtOnce * stride;
  const own = ownVectors(form);
  const begin = valueParts > 1 ? `${dK}u + group % ${valueParts}u * ${size}u` : `${dK}u`;
  const reads = (valuesAtOnce * size) / cacheWidth;
  const values = range(Math.ceil(reads / lanes)).map((n) => ({ name: `value${n}`, index: `min(lane + ${n * lanes}u, ${reads - 1}u)` }));
  const fetch = (first: string): readonly string[] =>
    values.map(({ name, index }) =>
      fetchText(name, `${first} + ${index} / ${size / cacheWidth}u`, `${begin} + ${index} % ${size / cacheWidth}u * ${cacheWidth}u`, form),
    );
  return [
    ...values.map(({ name }) => `var ${name} = ${cache.packed}();`),
    ...fetch("0u"),
    ...range(rowsPerLane).map(
      (i) => `{ let kept = factors[ty * ${rowsPerLane}u + ${i}u]; ${own.map((v) => `o${i}_${v} *= kept;`).join(" ")} }`,
    ),
    `for (var first = 0u; first < ${positionsAtOnce}u; first += ${valuesAtOnce}u) {`,
    "workgroupBarrier();",
    ...values.flatMap(({ name, index }) => [
      `{ let at = ${valueFours}u + ${index} * ${cacheWidth / 4}u;`,
      ...cache.vectors(name).map((vector, v) => `tiles[at + ${v}u] = fourOf(${vector});`),
      "}",
    ]),
    "workgroupBarrier();",
    `if (first + ${valuesAtOnce}u < ${positionsAtOnce}u) {`,
    ...fetch(`first + ${valuesAtOnce}u`),
    "}",
    `for (var i = 0u; i < ${valuesAtOnce}u; i++) {`,
    ...range(rowsPerLane / 4).map((a) => `let a${a} = vectorOf(tiles[(first + i) * ${stride}u + ty * ${rowsPerLane / 4}u + ${a}u]);`),
    ...own.map((v) => {
      const at = `tx + ${v * across}u`;
      const inside = (v + 1) * 4 * across <= size ? at : `min(${at}, ${size / 4 - 1}u)`;
      return `let b${v} = vectorOf(tiles[${valueFours}u + i * ${size / 4}u + ${inside}]);`;
    }),
    ...range(rowsPerLane).flatMap((i) => own.map((v) => `o${i}_${v} = fma(vec4f(a${i >> 2}[${i & 3}]), b${v}, o${i}_${v});`)),
    "}",
    "}",
  ];
}
