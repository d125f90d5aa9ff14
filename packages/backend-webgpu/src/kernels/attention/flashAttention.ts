import type { ParamsOf } from "@centella/core";
import { defineDispatch, output } from "../../wgsl/module.ts";
import type { Dispatch } from "../shared/kernel.ts";
import { range } from "../shared/shape.ts";
import { type AttentionCall, attentionBindings, tokenUniforms, tokenValues } from "./attentionCall.ts";
import { type ScoreTerms, termsOf } from "./attentionScores.ts";
import {
  across,
  downOf,
  type FlashForm,
  flashGroups,
  fourRows,
  lanePlace,
  lanesOf,
  ownVectors,
  positionsAtOnce,
  rows,
  rowVectors,
  tileRows,
  tileWidth,
  valueElements,
} from "./flashForm.ts";
import { scoresText } from "./flashScores.ts";
import { valuesText } from "./flashValues.ts";
import { exchangeText, weightDeclarations, weightsText } from "./flashWeights.ts";

/** Attention of many tokens. `takes` are the numbers of tokens of the runs that it computes. */
export function flashAttention(
  call: AttentionCall,
  params: ParamsOf<"attention">,
  form: FlashForm,
  takes: (tokens: number) => boolean,
): Dispatch {
  const terms = termsOf(call, params, true);
  return defineDispatch({
    bindings: [...attentionBindings("vec4f", form.cache.element), ...terms.bindings, output("y", "vec4f")],
    uniforms: tokenUniforms,
    lanes: lanesOf(form),
    ...flashText(params, form, terms),
    sizeIn(dims) {
      const values = tokenValues(call, params, dims);
      const { tokens, heads } = values;
      return { groups: takes(tokens) ? flashGroups(tokens, heads, form) : 0, values };
    },
  });
}

/**
 * Attention of a workgroup's rows in one pass over the cache, tile by tile. Keys and values pass through the workgroup's memory, where all
 * rows share them. A lane computes some rows at a few positions, then the same rows of a few elements.
 */
function flashText(
  params: ParamsOf<"attention">,
  form: FlashForm,
  terms: ScoreTerms,
): { readonly declarations: readonly string[]; readonly body: string } {
  const { heads, cache, valueParts } = form;
  const [tile, tiles] = valueParts > 1 ? [`(group / ${valueParts}u)`, `(p.groups / ${valueParts}u)`] : ["group", "p.groups"];
  const declarations = [
    ...terms.declarations,
    ...cache.declarations,
    weightDeclarations,
    "const absent = 0xffffffffu;",
    `var<workgroup> tiles: array<array<vec4f, ${tileWidth}>, ${tileRows(form)}>;`,
    // Where each position of the tile is in the cache.
    `var<workgroup> places: array<u32, ${positionsAtOnce}>;`,
    // Not 0 once a position was found that no row sees although it is in a sequence: its block is not in the cache.
    "var<workgroup> gaps: atomic<u32>;",
    // First position that a row sees, the end of those, and its own.
    `var<workgroup> spans: array<vec3i, ${rows}>;`,
  ];
  const values = valuesText(form);
  const body = [
    lanePlace,
    `let headGroups = p.heads / ${heads}u;`,
    `let h0 = ${tile} % headGroups * ${heads}u;`,
    "let kv = h0 / p.perKvHead;",
    // Late tokens see most positions: their workgroups start first.
    `let t0 = (${tiles} / headGroups - 1u - ${tile} / headGroups) * ${rows / heads}u;`,
    `let tEnd = min(t0 + ${rows / heads}u, p.tokens);`,
    ...sumsText(form, terms),
    "var begin = t0;",
    "while (begin < tEnd) {",
    ...sequenceText(params),
    ...spansText(form, params),
    `for (var base = start; base < finish; base += ${positionsAtOnce}) {`,
    ...placesText(form),
    ...scoresText(form),
    ...values.fetch,
    ...weightsText(params, form, terms),
    ...values.add,
    "}",
    "begin = until;",
    "}",
    ...storesText(form),
  ];
  return { declarations, body: body.join("\n") };
}

/** The lane's largest scores, sums of weights, and sums of values. The lanes of a row add up their sums of weights in the end. */
function sumsText(form: FlashForm, { hasSinks }: ScoreTerms): readonly string[] {
  const { rowsPerLane, heads } = form;
  const sink = (i: number): string => `sinkOf(h0 + (ty + ${i * downOf(form)}u) % ${heads}u)`;
  return [
    ...rowVectors(form).flatMap((a) => [
      `var top${a} = ${hasSinks ? fourRows(a, sink) : "vec4f(unseen)"};`,
      `var total${a} = vec4f(${hasSinks ? "select(0.0, 1.0, tx == 0u)" : ""});`,
    ]),
    ...range(rowsPerLane).flatMap((i) => ownVectors(form).map((v) => `var o${i}_${v} = vec4f();`)),
  ];
}

/** Stores the lane's results. */
function storesText(form: FlashForm): readonly string[] {
  const { rowsPerLane, heads, valueParts } = form;
  const size = valueElements(form);
  const start = valueParts > 1 ? `group % ${valueParts}u * ${size / 4}u + ` : "";
  return [
    ...exchangeText(form, "total", (a, b) => `${a} + ${b}`),
    ...rowVectors(form).map((a) => `let factor${a} = select(vec4f(), 1.0 / total${a}, total${a} > vec4f());`),
    ...range(rowsPerLane).flatMap((i) => [
      "{",
      `let r = ty + ${i * downOf(form)}u; let t = t0 + r / ${heads}u; let h = h0 + r % ${heads}u;`,
      ...ownVectors(form).map((v) => {
        const guard = (v + 1) * 4 * across <= size ? "t < tEnd" : `t < tEnd && tx < ${(size - v * 4 * across) / 4}u`;
        const at = `(t * p.heads + h) * ${form.dV / 4}u + ${start}tx + ${v * across}u`;
        return `if (${guard}) { y[${at}] = o${i}_${v} * factor${i >> 2}[${i & 3}]; }`;
      }),
      "}",
    ]),
  ];
}

/** Which positions the rows see, row by row. */
function spansText(form: FlashForm, params: ParamsOf<"attention">): readonly string[] {
  const { heads } = form;
  return [
    `for (var row = lane; row < ${rows}u; row += ${lanesOf(form)}u) {`,
    `let t = t0 + row / ${heads}u;`,
    "let own = min(t, tEnd - 1u);",
    "let isOwn = t >= begin && t < until;",
    `spans[row] = select(vec3i(), vec3i(${firstOf("positions[own]", params)}, ${endOf("positions[own]", params)}, positions[own]), isOwn);`,
    "}",
  ];
}

function firstOf(position: string, { window }: ParamsOf<"attention">): string {
  return window > 0 ? `max(0, ${position} - p.window + 1)` : "0";
}

function endOf(position: string, { causal }: ParamsOf<"attention">): string {
  return causal ? `min(length, max(${position}, -1) + 1)` : "length";
}

/**
 * The tokens from `begin` to before `until` of one sequence. Each position from `start` to before `finish` may be seen by some of them; those from
 * `wholeStart` to before `wholeFinish` are seen by all rows of the workgroup.
 */
function sequenceText(params: ParamsOf<"attention">): readonly string[] {
  return [
    "let sequence = seqOf[begin];",
    "var length = 0;",
    "if (sequence >= 0 && sequence < p.sequences) { length = clamp(seqLens[sequence], 0, p.maxBlocks * p.blockSize); }",
    "var until = begin; var start = length; var finish = 0; var wholeStart = 0; var wholeFinish = length;",
    "while (until < tEnd && seqOf[until] == sequence) {",
    `let first = ${firstOf("positions[until]", params)}; let end = ${endOf("positions[until]", params)};`,
    "start = min(start, first); finish = max(finish, end); wholeStart = max(wholeStart, first); wholeFinish = min(wholeFinish, end);",
    "until++;",
    "}",
    "if (begin > t0 || until < tEnd) { wholeFinish = 0; }",
  ];
}

function placesText(form: FlashForm): readonly string[] {
  return [
    "workgroupBarrier();",
    `for (var at = lane; at < ${positionsAtOnce}u; at += ${lanesOf(form)}u) {`,
    "let j = base + i32(at); let seen = min(j, finish - 1);",
    "let block = blockTable[sequence * p.maxBlocks + seen / p.blockSize];",
    "let place = block * p.blockSize + seen % p.blockSize;",
    "let isThere = j < finish && block >= 0 && block <= p.size / p.blockSize && place < p.size;",
    "if (j < finish && !isThere) { atomicStore(&gaps, 1u); }",
    `places[at] = select(absent, (u32(place) * p.kvHeads + kv) * ${form.dK + form.dV}u, isThere);`,
    "}",
    "workgroupBarrier();",
  ];
}
