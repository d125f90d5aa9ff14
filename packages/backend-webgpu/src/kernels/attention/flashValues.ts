import { range } from "../shared/shape.ts";
import { cacheWidth } from "./cacheElements.ts";
import {
  across,
  type FlashForm,
  fetchText,
  lanesOf,
  ownVectors,
  positionsAtOnce,
  positionsPerLane,
  rowVectorAt,
  rowVectors,
  valueElements,
} from "./flashForm.ts";

/** What adds a tile's values to the lane's sums. */
export interface ValuesText {
  /** Reads the first values: they are on their way while scores become weights. */
  readonly fetch: readonly string[];
  /** Adds the values of all positions, by their weights, to `o<row>_<vector>`. */
  readonly add: readonly string[];
}

/** What a lane reads at once of values: expressions of the position and of the number of the part of it, and whether there is such a part. */
interface Read {
  readonly name: string;
  readonly of: string;
  readonly part: string;
  readonly guard: string;
}

function readsOf(form: FlashForm): readonly Read[] {
  const [lanes, parts] = [lanesOf(form), valueElements(form) / cacheWidth];
  const count = form.valuesAtOnce * parts;
  return range(Math.ceil(count / lanes)).map((n) => {
    const isWhole = (n + 1) * lanes <= count;
    const index = isWhole ? `(lane + ${n * lanes}u)` : `min(lane + ${n * lanes}u, ${count - 1}u)`;
    const guard = isWhole ? "" : `if (lane + ${n * lanes}u < ${count}u) `;
    return { name: `value${n}`, of: `${index} / ${parts}u`, part: `${index} % ${parts}u`, guard };
  });
}

/** The weights of a slice of the tile's positions pass through the workgroup's memory together with their values. */
export function valuesText(form: FlashForm): ValuesText {
  const { dK, cache, valueParts, valuesAtOnce } = form;
  const begin = valueParts > 1 ? `${dK}u + group % ${valueParts}u * ${valueElements(form)}u` : `${dK}u`;
  const reads = readsOf(form);
  const slices = positionsAtOnce / valuesAtOnce;
  const fetch = (first: string): readonly string[] =>
    reads.map(({ name, of, part }) => fetchText(name, `${first} + ${of}`, `${begin} + ${part} * ${cacheWidth}u`, form));
  const own = ownVectors(form).length;
  const valueAt = (of: string, part: string, v: number): string => {
    const vector = `(${part} * ${cacheWidth / 4}u + ${v}u)`;
    return `tiles[${valuesAtOnce}u + ${of} * ${own}u + ${vector} / ${across}u][${vector} % ${across}u]`;
  };
  return {
    fetch: [...reads.map(({ name }) => `var ${name} = ${cache.packed}();`), ...fetch("0u")],
    add: [
      `for (var slice = 0u; slice < ${slices}u; slice++) {`,
      "workgroupBarrier();",
      ...weightsText(form),
      ...reads.map(({ name, of, part, guard }) => {
        const writes = cache.vectors(name).map((vector, v) => `${valueAt(of, part, v)} = ${vector};`);
        return `${guard}{ ${writes.join(" ")} }`;
      }),
      "workgroupBarrier();",
      `if (slice + 1u < ${slices}u) {`,
      ...fetch(`(slice + 1u) * ${valuesAtOnce}u`),
      "}",
      ...range(valuesAtOnce).flatMap((n) => productsText(form, n)),
      "}",
    ],
  };
}

/** Writes the lane's weights of the slice: those of one position, or of none where a slice has fewer positions than lanes share a row. */
function weightsText(form: FlashForm): readonly string[] {
  const { valuesAtOnce } = form;
  const parts = across / valuesAtOnce;
  const weights = (e: number): readonly string[] =>
    rowVectors(form).map((a) => {
      const four = range(4).map((i) => `s${4 * a + i}_${e >> 2}[${e & 3}]`);
      return `${rowVectorAt(`tx % ${valuesAtOnce}u`, a, form)} = vec4f(${four.join(", ")});`;
    });
  const chosen = [
    `switch (slice / ${parts}u) {`,
    ...range(positionsPerLane).map((e) => `case ${e}u: { ${weights(e).join(" ")} }`),
    "default: {}",
    "}",
  ];
  return parts === 1 ? chosen : [`if (tx / ${valuesAtOnce}u == slice % ${parts}u) {`, ...chosen, "}"];
}

/** Adds the values of position `n` of the slice. */
function productsText(form: FlashForm, n: number): readonly string[] {
  const own = ownVectors(form);
  return [
    "{",
    ...rowVectors(form).map((a) => `let a${a} = ${rowVectorAt(n, a, form)};`),
    ...own.map((v) => `let b${v} = tiles[${form.valuesAtOnce + n * own.length + v}][tx];`),
    ...range(form.rowsPerLane).flatMap((i) => own.map((v) => `o${i}_${v} = fma(vec4f(a${i >> 2}[${i & 3}]), b${v}, o${i}_${v});`)),
    "}",
  ];
}
