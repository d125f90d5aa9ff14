import type { ParamsOf } from "@centella/core";
import { fourType } from "../../wgsl/fours.ts";
import { range } from "../shared/shape.ts";
import { adjustScores, type ScoreTerms } from "./attentionScores.ts";
import { across, type FlashForm, positionsAtOnce, positionsPerLane, rowsPerLane, sharers, weightStride } from "./flashForm.ts";

/**
 * Declarations of {@link weightsText}. `unseen` is below `lowest`: the weight of a position that a row does not see is 0 even if the row sees
 * nothing else.
 */
export const weightDeclarations = "const lowest = -1e38;";

/** Turns scores into weights, in the workgroup's memory: those of a position are neighbours. */
export function weightsText(params: ParamsOf<"attention">, form: FlashForm, terms: ScoreTerms): readonly string[] {
  const { rows } = form;
  const stride = weightStride(form);
  const share = positionsAtOnce / sharers;
  const weight = `tiles[(share * ${share}u + i) * ${stride}u + row / 4u][row & 3u]`;
  return [
    "workgroupBarrier();",
    `let j = vec4i(base + i32(tx)) + vec4i(${range(positionsPerLane)
      .map((e) => e * across)
      .join(", ")});`,
    ...range(rowsPerLane).flatMap((i) => adjustedText(params, form, terms, i)),
    // All rows see all positions of most tiles.
    `if (base < wholeStart || base + ${positionsAtOnce} > wholeFinish || atomicLoad(&gaps) != 0u) {`,
    `let isThere = vec4<bool>(${range(positionsPerLane)
      .map((e) => `places[tx + ${e * across}u] != absent`)
      .join(", ")});`,
    ...range(rowsPerLane).flatMap((i) => [
      `{ let span = spans[ty * ${rowsPerLane}u + ${i}u];`,
      `s${i} = select(vec4f(unseen), s${i}, isThere & (j >= vec4i(span.x)) & (j < vec4i(span.y))); }`,
    ]),
    "}",
    ...range(positionsPerLane).flatMap((e) =>
      range(rowsPerLane / 4).map((a) => {
        const four = range(4).map((i) => `s${4 * a + i}[${e}]`);
        return `tiles[(tx + ${e * across}u) * ${stride}u + ty * ${rowsPerLane / 4}u + ${a}u] = ${fourType}(${four.join(", ")});`;
      }),
    ),
    "workgroupBarrier();",
    `let share = lane / ${rows}u;`,
    "var largest = unseen;",
    `for (var i = 0u; i < ${share}u; i++) { largest = max(largest, ${weight}); }`,
    "exchanged[lane] = largest;",
    "workgroupBarrier();",
    `let next = max(top, ${range(sharers)
      .map((n) => `exchanged[row + ${n * rows}u]`)
      .reduce((a, b) => `max(${a}, ${b})`)});`,
    "let most = max(next, lowest);",
    "var sum = 0.0;",
    `for (var i = 0u; i < ${share}u; i++) {`,
    `let weight = exp(${weight} - most);`,
    `${weight} = weight; sum += weight;`,
    "}",
    "let kept = exp(top - next); top = next;",
    `if (lane < ${rows}u) { factors[row] = kept; }`,
    "workgroupBarrier();",
    "exchanged[lane] = sum;",
    "workgroupBarrier();",
    `total = total * kept + ${range(sharers)
      .map((n) => `exchanged[row + ${n * rows}u]`)
      .join(" + ")};`,
  ];
}

/** Caps the scores of one of the lane's rows, and adds what depends on distances. */
function adjustedText(params: ParamsOf<"attention">, { heads }: FlashForm, terms: ScoreTerms, i: number): readonly string[] {
  const scores = range(positionsPerLane).map((e) => ({ score: `s${i}[${e}]`, after: `(j[${e}] - position)` }));
  const changes = adjustScores(params, terms, "h", scores);
  if (changes.length === 0) return [];
  const r = `ty * ${rowsPerLane}u + ${i}u`;
  return [`{ let h = h0 + (${r}) % ${heads}u; let position = spans[${r}].z;`, ...changes, "}"];
}
