import type { ParamsOf } from "@centella/core";
import { range } from "../shared/shape.ts";
import { adjustScores, type ScoreTerms } from "./attentionScores.ts";
import {
  across,
  downOf,
  type FlashForm,
  fourRows,
  ownVectors,
  positionsAtOnce,
  positionVectors,
  rowVectorAt,
  rowVectors,
} from "./flashForm.ts";

/**
 * Declarations of {@link weightsText}. `unseen` is below `lowest`: the weight of a position that a row does not see is 0 even if the row sees
 * nothing else.
 */
export const weightDeclarations = "const lowest = -1e38;";

/** A lane's scores of its row `i`. */
const scoresOf = (i: number): readonly string[] => positionVectors.map((v) => `s${i}_${v}`);

/** Expression that joins a lane's scores of its row `i`. */
const joined = (i: number, join: (a: string, b: string) => string): string =>
  scoresOf(i)
    .flatMap((s) => [..."xyzw"].map((e) => `${s}.${e}`))
    .reduce(join);

/**
 * Turns scores into weights, `s<row>_<vector>` still, and scales the sums of values by what their weights change by. Of four rows each, a lane keeps
 * the largest scores, `top<vector>`, and the sums of its own weights, `total<vector>`.
 */
export function weightsText(params: ParamsOf<"attention">, form: FlashForm, terms: ScoreTerms): readonly string[] {
  const own = range(form.rowsPerLane);
  const vectors = rowVectors(form);
  return [
    `let j = vec4i(base + i32(tx)) + vec4i(${range(4)
      .map((e) => e * across)
      .join(", ")});`,
    ...own.flatMap((i) => adjustedText(params, form, terms, i)),
    ...maskText(form),
    ...vectors.map((a) => `var most${a} = ${fourRows(a, (i) => joined(i, (x, y) => `max(${x}, ${y})`))};`),
    ...exchangeText(form, "most", (x, y) => `max(${x}, ${y})`),
    ...vectors.flatMap((a) => [
      `let next${a} = max(top${a}, most${a});`,
      `let kept${a} = exp(top${a} - next${a}); top${a} = next${a};`,
      `most${a} = max(next${a}, vec4f(lowest));`,
    ]),
    ...own.flatMap((i) => scoresOf(i).map((s) => `${s} = exp(${s} - most${i >> 2}[${i & 3}]);`)),
    ...vectors.map((a) => `total${a} = total${a} * kept${a} + ${fourRows(a, (i) => joined(i, (x, y) => `${x} + ${y}`))};`),
    ...own.flatMap((i) => ownVectors(form).map((v) => `o${i}_${v} *= kept${i >> 2}[${i & 3}];`)),
  ];
}

/** Gives positions that a row does not see the score `unseen`. All rows see all positions of most tiles. */
function maskText(form: FlashForm): readonly string[] {
  return [
    `if (base < wholeStart || base + ${positionsAtOnce} > wholeFinish || atomicLoad(&gaps) != 0u) {`,
    ...positionVectors.map((v) => {
      const isThere = range(4).map((e) => `places[tx + ${(4 * v + e) * across}u] != absent`);
      return `let isThere${v} = vec4<bool>(${isThere.join(", ")}); let j${v} = j + vec4i(${4 * v * across});`;
    }),
    ...range(form.rowsPerLane).flatMap((i) => [
      `{ let span = spans[ty + ${i * downOf(form)}u];`,
      ...scoresOf(i).map((s, v) => {
        return `${s} = select(vec4f(unseen), ${s}, isThere${v} & (j${v} >= vec4i(span.x)) & (j${v} < vec4i(span.y)));`;
      }),
      "}",
    ]),
    "}",
  ];
}

/** Joins each of the lane's `<name><vector>`, values of four rows, with those of all lanes that share the rows, in the workgroup's memory. */
export function exchangeText(form: FlashForm, name: string, join: (a: string, b: string) => string): readonly string[] {
  const vectors = rowVectors(form);
  return [
    "workgroupBarrier();",
    ...vectors.map((a) => `${rowVectorAt("tx", a, form)} = ${name}${a};`),
    "workgroupBarrier();",
    `for (var other = 1u; other < ${across}u; other++) {`,
    `let column = (tx + other) % ${across}u;`,
    ...vectors.map((a) => `${name}${a} = ${join(`${name}${a}`, rowVectorAt("column", a, form))};`),
    "}",
  ];
}

/** Caps the scores of one of the lane's rows, and adds what depends on distances. */
function adjustedText(params: ParamsOf<"attention">, form: FlashForm, terms: ScoreTerms, i: number): readonly string[] {
  const scores = scoresOf(i).flatMap((s, v) =>
    range(4).map((e) => ({ score: `${s}[${e}]`, after: `(j[${e}] + ${4 * v * across} - position)` })),
  );
  const changes = adjustScores(params, terms, "h", scores);
  if (changes.length === 0) return [];
  const r = `ty + ${i * downOf(form)}u`;
  return [`{ let h = h0 + (${r}) % ${form.heads}u; let position = spans[${r}].z;`, ...changes, "}"];
}
