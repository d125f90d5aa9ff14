import type { ParamsOf } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import type { KernelLimits } from "../../device/capabilities.ts";
import { defineDispatch, input, output } from "../../wgsl/module.ts";
import type { Dispatch } from "../shared/kernel.ts";
import { maximum, range } from "../shared/shape.ts";
import { type AttentionCall, alibiDistance, boundedTanh, slope, tokenUniforms, tokenValues, unseen } from "./attentionScores.ts";

/** How a workgroup computes a tile of attention. */
export interface FlashForm {
  readonly type: "f16" | "f32";
  /** Elements of a key, and of a value. */
  readonly dK: number;
  readonly dV: number;
  /** Query heads of a workgroup, all of one head of keys and values. */
  readonly heads: number;
  /** Rows of queries: `rows / heads` neighbouring tokens. */
  readonly rows: number;
  /** Positions whose values are in the workgroup's memory at once. */
  readonly valuesAtOnce: number;
  readonly hasSinks: boolean;
}

/** Cached positions of a tile. A lane has every sixteenth of them. */
const positionsAtOnce = 64;
const across = 16;
const positionsPerLane = positionsAtOnce / across;

/** Elements of queries and keys that are in the workgroup's memory at once. */
const depthAtOnce = 32;

/** Neighbouring rows of a lane. */
const perLane = 4;

/** Largest keys and values: a lane keeps a sixteenth of the values of its rows. */
const mostElements = 256;

/** Vectors of a position's weights beyond its rows: lanes with neighbouring positions then write to different banks. */
const padding = 1;

function lanesOf({ rows }: FlashForm): number {
  return (across * rows) / perLane;
}

/** The largest form that fits a workgroup's memory; undefined if none does, or if keys and values are not read so. */
export function flashFormOf(
  { inputs: [q, { dtype }, , , , , sinks], output: y }: AttentionCall,
  perKvHead: number,
  { workgroupBytes, maxLanes }: KernelLimits,
): FlashForm | undefined {
  const [dK, dV] = [maximum(elementAt(q.shape, 2)), maximum(elementAt(y.shape, 2))];
  if (dtype !== "f16" && dtype !== "f32") return undefined;
  if ([dK, dV].some((size) => size % depthAtOnce !== 0 || size > mostElements)) return undefined;
  const heads = [8, 4, 2].find((count) => perKvHead % count === 0) ?? 1;
  const forms = [64, 32].map((rows): FlashForm => {
    return { type: dtype, dK, dV, heads, rows, valuesAtOnce: rows / 4, hasSinks: sinks !== undefined };
  });
  return forms.find((form) => bytesOf(form) <= workgroupBytes && lanesOf(form) <= maxLanes);
}

export function flashGroups(tokens: number, allHeads: number, { rows, heads }: FlashForm): number {
  return Math.ceil(tokens / (rows / heads)) * (allHeads / heads);
}

/** Attention of many tokens. `takes` are the numbers of tokens of the runs that it computes. */
export function flashAttention(
  call: AttentionCall,
  params: ParamsOf<"attention">,
  form: FlashForm,
  takes: (tokens: number) => boolean,
): Dispatch {
  return defineDispatch({
    bindings: [
      input("q", 0, "vec4f"),
      input("cache", 1, form.type === "f16" ? "vec4u" : "vec4f"),
      input("positions", 2, "i32"),
      input("seqOf", 3, "i32"),
      input("blockTable", 4, "i32"),
      input("seqLens", 5, "i32"),
      ...(form.hasSinks ? [input("sinks", 6)] : []),
      output("y", "vec4f"),
    ],
    uniforms: tokenUniforms,
    lanes: lanesOf(form),
    ...flashText(params, form),
    sizeIn(dims) {
      const values = tokenValues(call, params, dims);
      const { tokens, heads } = values;
      return { groups: takes(tokens) ? flashGroups(tokens, heads, form) : 0, values };
    },
  });
}

/** Vectors of a position's weights in the workgroup's memory. */
function weightStride({ rows }: FlashForm): number {
  return rows / 4 + padding;
}

/** Vectors of the workgroup's memory: queries and keys, then weights and values. */
function tileVectors(form: FlashForm): number {
  const scores = (depthAtOnce * (form.rows + positionsAtOnce)) / 4;
  const values = positionsAtOnce * weightStride(form) + (form.valuesAtOnce * form.dV) / 4;
  return Math.max(scores, values);
}

function bytesOf(form: FlashForm): number {
  return 16 * tileVectors(form) + 4 * (positionsAtOnce + 4 * form.rows + lanesOf(form));
}

/** Lanes that share a row's softmax. */
const sharers = across / perLane;

/**
 * Attention of a workgroup's rows in one pass over the cache, tile by tile. Keys and values pass through the workgroup's memory, where all
 * rows share them; scores do not leave it. A lane computes some rows at a few positions, then the same rows of a few elements.
 */
function flashText(params: ParamsOf<"attention">, form: FlashForm): { readonly declarations: readonly string[]; readonly body: string } {
  const { rows, heads, hasSinks } = form;
  const { softcap, alibi } = params;
  const vectors = range(Math.ceil(form.dV / (4 * across)));
  const declarations = [
    unseen,
    ...(softcap > 0 ? [boundedTanh] : []),
    ...(alibi > 0 ? [slope] : []),
    "const absent = 0xffffffffu;",
    `var<workgroup> tiles: array<vec4f, ${tileVectors(form)}>;`,
    // Where each position of the tile is in the cache.
    `var<workgroup> places: array<u32, ${positionsAtOnce}>;`,
    // First position that a row sees, the end of those, and its own.
    `var<workgroup> spans: array<vec3i, ${rows}>;`,
    `var<workgroup> factors: array<f32, ${rows}>;`,
    `var<workgroup> exchanged: array<f32, ${lanesOf(form)}>;`,
  ];
  const body = [
    `let tx = lane % ${across}u; let ty = lane / ${across}u;`,
    `let headGroups = p.heads / ${heads}u;`,
    `let h0 = group % headGroups * ${heads}u;`,
    "let kv = h0 / p.perKvHead;",
    // Late tokens see most positions: their workgroups start first.
    `let t0 = (p.groups / headGroups - 1u - group / headGroups) * ${rows / heads}u;`,
    `let tEnd = min(t0 + ${rows / heads}u, p.tokens);`,
    `let row = lane % ${rows}u;`,
    `let t = t0 + row / ${heads}u;`,
    `var top = ${hasSinks ? `max(sinks[h0 + row % ${heads}u], unseen)` : "unseen"}; var total = ${hasSinks ? "1.0" : "0.0"};`,
    ...range(perLane).flatMap((i) => vectors.map((v) => `var o${i}_${v} = vec4f();`)),
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
    ...weightsText(params, form),
    ...valuesText(form),
    "}",
    "begin = until;",
    "}",
    "workgroupBarrier();",
    `if (lane < ${rows}u) { factors[row] = select(0.0, 1.0 / total, total > 0.0); }`,
    "workgroupBarrier();",
    ...range(perLane).flatMap((i) => [
      "{",
      `let r = ty * ${perLane}u + ${i}u; let t = t0 + r / ${heads}u; let h = h0 + r % ${heads}u;`,
      ...vectors.map((v) => {
        const guard = (v + 1) * 4 * across <= form.dV ? "t < tEnd" : `t < tEnd && tx < ${(form.dV - v * 4 * across) / 4}u`;
        return `if (${guard}) { y[(t * p.heads + h) * ${form.dV / 4}u + tx + ${v * across}u] = o${i}_${v} * factors[r]; }`;
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

/** The tokens from `begin` to before `until` of one sequence, and the positions from `start` to before `finish` that any of them sees. */
function sequenceText(params: ParamsOf<"attention">): readonly string[] {
  return [
    "let sequence = seqOf[begin];",
    "var length = 0;",
    "if (sequence >= 0 && sequence < p.sequences) { length = clamp(seqLens[sequence], 0, p.maxBlocks * p.blockSize); }",
    "var until = begin; var start = length; var finish = 0;",
    "while (until < tEnd && seqOf[until] == sequence) {",
    `start = min(start, ${firstOf("positions[until]", params)}); finish = max(finish, ${endOf("positions[until]", params)});`,
    "until++;",
    "}",
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
    `places[lane] = select(absent, (u32(place) * p.kvHeads + kv) * ${dK + dV}u, isThere);`,
    "}",
    "workgroupBarrier();",
  ];
}

/** How many elements of the cache a lane reads at once, and what it reads. */
function elementsOf({ type }: FlashForm): {
  readonly width: 4 | 8;
  readonly zeros: string;
  readonly vectors: (quad: string) => readonly string[];
} {
  if (type === "f32") return { width: 4, zeros: "vec4f()", vectors: (quad) => [quad] };
  const half = (quad: string, a: string, b: string): string => `vec4f(unpack2x16float(${quad}.${a}), unpack2x16float(${quad}.${b}))`;
  return { width: 8, zeros: "vec4u()", vectors: (quad) => [half(quad, "x", "y"), half(quad, "z", "w")] };
}

/** Reads from the cache from element `at` of the place; zeros where there is no position. */
function cacheText(name: string, position: string, at: string, form: FlashForm): string {
  const { width, zeros } = elementsOf(form);
  return `{ let place = places[${position}]; if (place != absent) { ${name} = cache[(place + ${at}) / ${width}u]; } else { ${name} = ${zeros}; } }`;
}

/** Scores of the lane's rows and positions, `s<row>`. The next elements are on their way while these are multiplied. */
function scoresText(form: FlashForm): readonly string[] {
  const { rows, dK, heads } = form;
  const lanes = lanesOf(form);
  const { width, zeros, vectors } = elementsOf(form);
  const keyVectors = (depthAtOnce * rows) / 4;
  const perRow = depthAtOnce / 4;
  const queries = range((rows * perRow) / lanes).map((n) => ({ name: `query${n}`, index: `(lane + ${n * lanes}u)` }));
  const keys = range((positionsAtOnce * depthAtOnce) / width / lanes).map((n) => ({ name: `key${n}`, index: `(lane + ${n * lanes}u)` }));
  const fetch = (at: string): readonly string[] => [
    ...queries.map(({ name, index }) => {
      const r = `${index} % ${rows}u`;
      const source = `(min(t0 + ${r} / ${heads}u, tEnd - 1u) * p.heads + h0 + ${r} % ${heads}u) * ${dK / 4}u + ${at} / 4u + ${index} / ${rows}u`;
      return `${name} = q[${source}] * p.scale;`;
    }),
    ...keys.map(({ name, index }) =>
      cacheText(name, `${index} % ${positionsAtOnce}u`, `${at} + ${index} / ${positionsAtOnce}u * ${width}u`, form),
    ),
  ];
  const element = (e: number): string => `[${e % 4}]`;
  return [
    ...queries.map(({ name }) => `var ${name} = vec4f();`),
    ...keys.map(({ name }) => `var ${name} = ${zeros};`),
    ...fetch("0u"),
    ...range(perLane).map((i) => `var s${i} = vec4f();`),
    `for (var depth = 0u; depth < ${dK}u; depth += ${depthAtOnce}u) {`,
    "workgroupBarrier();",
    ...queries.flatMap(({ name, index }) =>
      range(4).map(
        (e) => `tiles[(${index} / ${rows}u * 4u + ${e}u) * ${rows / 4}u + ${index} % ${rows}u / 4u][lane & 3u] = ${name}${element(e)};`,
      ),
    ),
    ...keys.flatMap(({ name, index }) => [
      "{",
      `let at = ${keyVectors}u + ${index} / ${positionsAtOnce}u * ${(width * positionsAtOnce) / 4}u + lane % ${across}u;`,
      `let part = ${index} % ${positionsAtOnce}u / ${across}u;`,
      ...vectors(name).flatMap((vector, v) => [
        `let vector${v} = ${vector};`,
        ...range(4).map((e) => `tiles[at + ${((4 * v + e) * positionsAtOnce) / 4}u][part] = vector${v}${element(e)};`),
      ]),
      "}",
    ]),
    "workgroupBarrier();",
    `if (depth + ${depthAtOnce}u < ${dK}u) {`,
    ...fetch(`(depth + ${depthAtOnce}u)`),
    "}",
    `for (var k = 0u; k < ${depthAtOnce}u; k++) {`,
    ...range(perLane / 4).map((a) => `let a${a} = tiles[k * ${rows / 4}u + ty * ${perLane / 4}u + ${a}u];`),
    `let b = tiles[${keyVectors}u + k * ${across}u + tx];`,
    ...range(perLane).map((i) => `s${i} = fma(vec4f(a${i >> 2}[${i & 3}]), b, s${i});`),
    "}",
    "}",
  ];
}

/** Turns scores into weights, in the workgroup's memory: those of a position are neighbours. */
function weightsText(params: ParamsOf<"attention">, form: FlashForm): readonly string[] {
  const { softcap, alibi } = params;
  const { rows, heads } = form;
  const stride = weightStride(form);
  const share = positionsAtOnce / sharers;
  const weight = `tiles[(share * ${share}u + i) * ${stride}u + row / 4u][row & 3u]`;
  return [
    "workgroupBarrier();",
    `let j = vec4i(base + i32(tx)) + vec4i(${range(positionsPerLane)
      .map((e) => e * across)
      .join(", ")});`,
    `let isThere = vec4<bool>(${range(positionsPerLane)
      .map((e) => `places[tx + ${e * across}u] != absent`)
      .join(", ")});`,
    ...range(perLane).flatMap((i) => [
      "{",
      `let r = ty * ${perLane}u + ${i}u; let span = spans[r];`,
      ...(softcap > 0 ? range(4).map((e) => `s${i}[${e}] = p.softcap * tanhOf(s${i}[${e}] / p.softcap);`) : []),
      ...(alibi > 0 ? [`s${i} += slopeOf(h0 + r % ${heads}u) * ${alibiDistance(params, "vec4f(j - vec4i(span.z))")};`] : []),
      `s${i} = select(vec4f(unseen), s${i}, isThere & (j >= vec4i(span.x)) & (j < vec4i(span.y)));`,
      "}",
    ]),
    ...range(positionsPerLane).flatMap((e) =>
      range(perLane / 4).map((a) => {
        const four = range(4).map((i) => `s${4 * a + i}[${e}]`);
        return `tiles[(tx + ${e * across}u) * ${stride}u + ty * ${perLane / 4}u + ${a}u] = vec4f(${four.join(", ")});`;
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
    "var sum = 0.0;",
    `for (var i = 0u; i < ${share}u; i++) {`,
    `let score = ${weight};`,
    "let weight = select(exp(score - next), 0.0, score == unseen);",
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

/** Adds the values of the tile's positions to the lane's sums, `o<row>_<vector>`. */
function valuesText(form: FlashForm): readonly string[] {
  const { dK, dV, valuesAtOnce } = form;
  const lanes = lanesOf(form);
  const { width, zeros, vectors } = elementsOf(form);
  const stride = weightStride(form);
  const valueVectors = positionsAtOnce * stride;
  const own = range(Math.ceil(dV / (4 * across)));
  const reads = (valuesAtOnce * dV) / width;
  const values = range(Math.ceil(reads / lanes)).map((n) => ({ name: `value${n}`, index: `min(lane + ${n * lanes}u, ${reads - 1}u)` }));
  const fetch = (first: string): readonly string[] =>
    values.map(({ name, index }) =>
      cacheText(name, `${first} + ${index} / ${dV / width}u`, `${dK}u + ${index} % ${dV / width}u * ${width}u`, form),
    );
  return [
    ...values.map(({ name }) => `var ${name} = ${zeros};`),
    ...fetch("0u"),
    ...range(perLane).map((i) => `{ let kept = factors[ty * ${perLane}u + ${i}u]; ${own.map((v) => `o${i}_${v} *= kept;`).join(" ")} }`),
    `for (var first = 0u; first < ${positionsAtOnce}u; first += ${valuesAtOnce}u) {`,
    "workgroupBarrier();",
    ...values.flatMap(({ name, index }) => [
      `{ let at = ${valueVectors}u + ${index} * ${width / 4}u;`,
      ...vectors(name).map((vector, v) => `tiles[at + ${v}u] = ${vector};`),
      "}",
    ]),
    "workgroupBarrier();",
    `if (first + ${valuesAtOnce}u < ${positionsAtOnce}u) {`,
    ...fetch(`first + ${valuesAtOnce}u`),
    "}",
    `for (var i = 0u; i < ${valuesAtOnce}u; i++) {`,
    ...range(perLane / 4).map((a) => `let a${a} = tiles[(first + i) * ${stride}u + ty * ${perLane / 4}u + ${a}u];`),
    ...own.map((v) => {
      const at = `tx + ${v * across}u`;
      const inside = (v + 1) * 4 * across <= dV ? at : `min(${at}, ${dV / 4 - 1}u)`;
      return `let b${v} = tiles[${valueVectors}u + i * ${dV / 4}u + ${inside}];`;
    }),
    ...range(perLane).flatMap((i) => own.map((v) => `o${i}_${v} = fma(vec4f(a${i >> 2}[${i & 3}]), b${v}, o${i}_${v});`)),
    "}",
    "}",
  ];
}
