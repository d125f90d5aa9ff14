import type { ParamsOf } from "@centella/core";
import { fourDeclarations, fourType } from "../../wgsl/fours.ts";
import { defineDispatch, input, output } from "../../wgsl/module.ts";
import type { Dispatch } from "../shared/kernel.ts";
import { range } from "../shared/shape.ts";
import { type AttentionCall, tokenUniforms, tokenValues } from "./attentionCall.ts";
import { type ScoreTerms, termsOf } from "./attentionScores.ts";
import {
  across,
  type FlashForm,
  flashGroups,
  lanesOf,
  ownVectors,
  positionsAtOnce,
  rowsPerLane,
  tileFours,
  valueElements,
} from "./flashForm.ts";
import { scoresText } from "./flashScores.ts";
import { valuesText } from "./flashValues.ts";
import { weightDeclarations, weightsText } from "./flashWeights.ts";

/** Attention of many tokens. `takes` are the numbers of tokens of the runs that it computes. */
export function flashAttention(
  call: AttentionCall,
  params: ParamsOf<"attention">,
  form: FlashForm,
  takes: (tokens: number) => boolean,
): Dispatch {
  const terms = termsOf(call, params, true);
  return defineDispatch({
    bindings: [
      input("q", 0, "vec4f"),
      input("cache", 1, form.cache.element),
      input("positions", 2, "i32"),
      input("seqOf", 3, "i32"),
      input("blockTable", 4, "i32"),
      input("seqLens", 5, "i32"),
      ...terms.bindings,
      output("y", "vec4f"),
    ],
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
 * rows share them; scores do not leave it. A lane computes some rows at a few positions, then the same rows of a few elements.
 */
function flashText(
  params: ParamsOf<"attention">,
  form: FlashForm,
  terms: ScoreTerms,
): { readonly declarations: readonly string[]; readonly body: string } {
  const { rows, heads, cache, valueParts } = form;
  const { hasSinks } = terms;
  const vectors = ownVectors(form);
  const size = valueElements(form);
  const [tile, tiles] = valueParts > 1 ? [`(group / ${valueParts}u)`, `(p.groups / ${valueParts}u)`] : ["group", "p.groups"];
  const valueStart = valueParts > 1 ? `group % ${valueParts}u * ${size / 4}u + ` : "";
  const declarations = [
    ...terms.declarations,
    ...cache.declarations,
    weightDeclarations,
    ...fourDeclarations,
    "const absent = 0xffffffffu;",
    `var<workgroup> tiles: array<${fourType}, ${tileFours(form)}>;`,
    // Where each position of the tile is in the cache.
    `var<workgroup> places: array<u32, ${positionsAtOnce}>;`,
    // Not 0 once a position was found that no row sees although it is in a sequence: its block is not in the cache.
    "var<workgroup> gaps: atomic<u32>;",
    // First position that a row sees, the end of those, and its own.
    `var<workgroup> spans: array<vec3i, ${rows}>;`,
    `var<workgroup> factors: array<f32, ${rows}>;`,
    `var<workgroup> exchanged: array<f32, ${lanesOf(form)}>;`,
  ];
  const body = [
    `let tx = lane % ${across}u; let ty = lane / ${across}u;`,
    `let headGroups = p.heads / ${heads}u;`,
    `let h0 = ${tile} % headGroups * ${heads}u;`,
    "let kv = h0 / p.perKvHead;",
    // Late tokens see most positions: their workgroups start first.
    `let t0 = (${tiles} / headGroups - 1u - ${tile} / headGroups) * ${rows / heads}u;`,
    `let tEnd = min(t0 + ${rows / heads}u, p.tokens);`,
    `let row = lane % ${rows}u;`,
    `let t = t0 + row / ${heads}u;`,
    `var top = ${hasSinks ? `sinkOf(h0 + row % ${heads}u)` : "unseen"}; var total = ${hasSinks ? "1.0" : "0.0"};`,
    ...range(rowsPerLane).flatMap((i) => vectors.map((v) => `var o${i}_${v} = vec4f();`)),
    "var begin = t0;",
    "while (begin < tEnd) {",
    ...sequenceText(params),
    `if (lane < ${rows}u) {`,
    "let own = min(t, tEnd - 1u);",
    "let isOwn = t >= begin && t < until;",
    `spans[row] = select(vec3i(), vec3i(${firstOf("positions[own]", params)}, ${endOf("positions[own]", params)}, positions[own]), isOwn);`,
    "}",
    `for (var base = start; base < finish; base += ${positionsAtOnce}) {`,
    ...placesText(form),
    ...scoresText(form),
    ...weightsText(params, form, terms),
    ...valuesText(form),
    "}",
    "begin = until;",
    "}",
    "workgroupBarrier();",
    `if (lane < ${rows}u) { factors[row] = select(0.0, 1.0 / total, total > 0.0); }`,
    "workgroupBarrier();",
    ...range(rowsPerLane).flatMap((i) => [
      "{",
      `let r = ty * ${rowsPerLane}u + ${i}u; let t = t0 + r / ${heads}u; let h = h0 + r % ${heads}u;`,
      ...vectors.map((v) => {
        const guard = (v + 1) * 4 * across <= size ? "t < tEnd" : `t < tEnd && tx < ${(size - v * 4 * across) / 4}u`;
        return `if (${guard}) { y[(t * p.heads + h) * ${form.dV / 4}u + ${valueStart}tx + ${v * across}u] = o${i}_${v} * factors[r]; }`;
      }),
      "}",
    ]),
  ];
  return { declarations, body: body.join("\n") };
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

function placesText({ dK, dV }: FlashForm): readonly string[] {
  return [
    "workgroupBarrier();",
    `if (lane < ${positionsAtOnce}u) {`,
    "let j = base + i32(lane); let seen = min(j, finish - 1);",
    "let block = blockTable[sequence * p.maxBlocks + seen / p.blockSize];",
    "let place = block * p.blockSize + seen % p.blockSize;",
    "let isThere = j < finish && block >= 0 && block <= p.size / p.blockSize && place < p.size;",
    "if (j < finish && !isThere) { atomicStore(&gaps, 1u); }",
    `places[lane] = select(absent, (u32(place) * p.kvHeads + kv) * ${dK + dV}u, isThere);`,
    "}",
    "workgroupBarrier();",
  ];
}
