import type { ParamsOf } from "@centella/core";
import { range } from "../shared/shape.ts";
import { adjustScores, type ScoreTerms } from "./attentionScores.ts";
import { type CacheElements, cacheWidth } from "./cacheElements.ts";

/** Lanes of a workgroup. */
export const sharedLanes = 256;

/** Bytes of a workgroup's memory in which subgroups join their sums: every device has them. */
const joinBytes = 2 ** 14;

/** How workgroups share the heads and tokens of attention. */
export interface SharedForm {
  /** Elements of a key, and of a value. */
  readonly size: number;
  readonly cache: CacheElements;
  /** Query heads of a workgroup, all of one head of keys and values. */
  readonly heads: number;
  /** Neighbouring tokens of a workgroup. */
  readonly tokens: number;
  /** Workgroups that share the positions of a query. */
  readonly parts: number;
  /** Positions that a lane reads before it looks at them. */
  readonly ahead: number;
  /** Lanes that exchange values in registers. */
  readonly subgroup: number;
  readonly terms: ScoreTerms;
}

/** Lanes that a position takes at least: neighbouring positions are not neighbours in memory. */
const leastLanes = 4;

/** Whether lanes of a subgroup share keys and values: each has {@link cacheWidth} elements of both. */
export function isShareable(dK: number, dV: number, subgroup: number): boolean {
  const lanes = dK / cacheWidth;
  return dK === dV && Number.isInteger(Math.log2(lanes)) && lanes >= leastLanes && lanes <= subgroup;
}

/** Heads of a group of query heads that share keys: up to four. */
export function headsAtOnce(perKvHead: number): number {
  return [4, 3, 2].find((heads) => perKvHead % heads === 0) ?? 1;
}

/** A row of queries: a token and a head of the workgroup's. */
interface Row {
  readonly r: number;
  readonly token: number;
  readonly head: number;
}

/**
 * Attention of a workgroup's queries in one pass over the cache. A few lanes of a subgroup share a position, 16 bytes each of key and value,
 * and add up its scores in registers. Each such group of lanes has a running maximum of its own; they are joined at the end.
 */
export function sharedText(
  params: ParamsOf<"attention">,
  form: SharedForm,
): { readonly declarations: readonly string[]; readonly body: string } {
  const { size, cache, heads, tokens, parts, subgroup, terms } = form;
  const rows = range(tokens).flatMap((token) => range(heads).map((head): Row => ({ r: token * heads + head, token, head })));
  const lanes = size / cacheWidth;
  const subgroups = sharedLanes / subgroup;
  const batch = Math.max(1, Math.min(rows.length, Math.floor(joinBytes / (4 * subgroups * (size + 2)))));
  const batches = range(Math.ceil(rows.length / batch)).map((i) => rows.slice(i * batch, (i + 1) * batch));
  const declarations = [
    ...cache.declarations,
    ...terms.declarations,
    `var<workgroup> sums: array<f32, ${batch * subgroups * size}>;`,
    `var<workgroup> tops: array<vec2f, ${batch * subgroups}>;`,
  ];
  const body = [
    `let lp = lane % ${lanes}u; let slot = i32(lane / ${lanes}u);`,
    `let headGroups = p.heads / ${heads}u;`,
    `let rest = group / ${parts}u;`,
    `let h0 = rest % headGroups * ${heads}u;`,
    "let kv = h0 / p.perKvHead;",
    `let t0 = rest / headGroups * ${tokens}u;`,
    ...range(tokens).flatMap((t) => tokenText(t, params)),
    ...rows.flatMap((row) => queryText(size, row)),
    ...sequencesText(params, form, rows),
    ...mergedLanes(rows, lanes, subgroup),
    ...batches.flatMap((some) => resultText(some, form, subgroups)),
  ];
  return { declarations, body: body.join("\n") };
}

/** The token's sequence and the positions that it sees; a token beyond the last one sees those of the last. */
function tokenText(t: number, { causal, window }: ParamsOf<"attention">): readonly string[] {
  return [
    ...(t === 0 ? [] : [`let t${t} = min(t0 + ${t}u, p.tokens - 1u);`]),
    `let position${t} = positions[t${t}]; let seq${t} = seqOf[t${t}];`,
    `var end${t} = 0;`,
    `if (seq${t} >= 0 && seq${t} < p.sequences) { end${t} = clamp(seqLens[seq${t}], 0, p.maxBlocks * p.blockSize); }`,
    ...(causal ? [`end${t} = min(end${t}, max(position${t}, -1) + 1);`] : []),
    `let first${t} = ${window > 0 ? `max(0, position${t} - p.window + 1)` : "0"};`,
  ];
}

function queryText(size: number, { r, token, head }: Row): readonly string[] {
  const at = `((t${token} * p.heads + h0 + ${head}u) * ${size / 4}u + lp * 2u)`;
  return [
    `let qa${r} = q[${at}] * p.scale; let qb${r} = q[${at} + 1u] * p.scale;`,
    `var m${r} = unseen; var l${r} = 0.0; var oa${r} = vec4f(); var ob${r} = vec4f();`,
  ];
}

/** Looks at the positions of each sequence of the tokens once: `sequence`, that of a token whose predecessors have others. */
function sequencesText(params: ParamsOf<"attention">, form: SharedForm, rows: readonly Row[]): readonly string[] {
  const all = range(form.tokens);
  const later = all.slice(1);
  return [
    ...(later.length === 0 ? ["{"] : [`for (var t = 0u; t < ${form.tokens}u; t++) {`]),
    "var sequence = seq0;",
    ...later.map((t) => `if (t == ${t}u) { sequence = seq${t}; }`),
    ...later.map((t) => `if (t > ${t - 1}u && seq${t - 1} == sequence) { continue; }`),
    ...all.map((t) => `let until${t} = select(0, end${t}, seq${t} == sequence);`),
    `var start = ${all.map((t) => `first${t}`).reduce((x, y) => `min(${x}, ${y})`)};`,
    `var finish = ${all.map((t) => `until${t}`).reduce((x, y) => `max(${x}, ${y})`)};`,
    ...(form.parts > 1 ? [shareOf(form)] : []),
    ...loopText(params, form, rows),
    "}",
  ];
}

/** Positions that a workgroup has at least where several share a query. */
export const leastSharedPositions = 64;

/** Narrows positions to the workgroup's share. Without any, the share's weights are 0, and nothing else of it is read. */
function shareOf({ parts, heads, size }: SharedForm): string {
  return `let share = max(${leastSharedPositions}, (finish - start + ${parts - 1}) / ${parts});
    start += i32(group % ${parts}u) * share;
    finish = min(finish, start + share);
    if (start >= finish) {
      if (lane < ${heads}u) {
        let to = ((t0 * p.heads + h0 + lane) * ${parts}u + group % ${parts}u) * ${size + 2}u + ${size}u;
        shares[to] = unseen; shares[to + 1u] = 0.0;
      }
      return;
    }`;
}

function loopText(params: ParamsOf<"attention">, form: SharedForm, rows: readonly Row[]): readonly string[] {
  const { size, ahead, cache } = form;
  const slots = (sharedLanes * cacheWidth) / size;
  const each = range(ahead);
  const tokens = [...new Set(rows.map(({ token }) => token))];
  const load = (name: string, at: string): string => `let ${name} = ${cache.packedAt(at)};`;
  const elements = (name: string, inside = (vector: string): string => vector): readonly string[] =>
    cache.vectors(name).map((vector, half) => `let ${name}${"ab"[half]} = ${inside(vector)};`);
  return [
    `for (var base = start; base < finish; base += ${slots * ahead}) {`,
    ...each.flatMap((n) => [
      `let j${n} = base + slot + ${n * slots};`,
      `let in${n} = min(j${n}, finish - 1);`,
      `let block${n} = blockTable[sequence * p.maxBlocks + in${n} / p.blockSize];`,
      `let place${n} = block${n} * p.blockSize + in${n} % p.blockSize;`,
      `let there${n} = j${n} < finish && block${n} >= 0 && block${n} <= p.size / p.blockSize && place${n} < p.size;`,
      `let row${n} = (select(0u, u32(place${n}), there${n}) * p.kvHeads + kv) * ${2 * size}u + lp * ${cacheWidth}u;`,
      load(`k${n}`, `row${n}`),
      load(`v${n}`, `row${n} + ${size}u`),
    ]),
    ...each.flatMap((n) => [...elements(`k${n}`), ...elements(`v${n}`, (vector) => `select(vec4f(), ${vector}, there${n})`)]),
    ...each.flatMap((n) => tokens.map((t) => `let sees${n}_${t} = there${n} && j${n} >= first${t} && j${n} < until${t};`)),
    ...rows.flatMap((row) => scoreText(params, form, row)),
    "}",
  ];
}

/** Scores of a row at the lane's positions, and their values added to its sum. */
function scoreText(params: ParamsOf<"attention">, { size, ahead, terms }: SharedForm, { r, token, head }: Row): readonly string[] {
  const each = range(ahead);
  const masks = range(Math.log2(size / cacheWidth)).map((bit) => 2 ** bit);
  return [
    "{",
    ...each.map((n) => `var s${n} = dot(qa${r}, k${n}a) + dot(qb${r}, k${n}b);`),
    ...masks.flatMap((mask) => each.map((n) => `s${n} += subgroupShuffleXor(s${n}, ${mask}u);`)),
    ...adjustScores(
      params,
      terms,
      `h0 + ${head}u`,
      each.map((n) => ({ score: `s${n}`, after: `(j${n} - position${token})` })),
    ),
    ...each.map((n) => `s${n} = select(unseen, s${n}, sees${n}_${token});`),
    `let next = max(m${r}, ${each.map((n) => `s${n}`).reduce((a, b) => `max(${a}, ${b})`)});`,
    `let kept = exp(m${r} - next);`,
    ...each.map((n) => `let e${n} = select(0.0, exp(s${n} - next), sees${n}_${token});`),
    `l${r} = l${r} * kept + ${each.map((n) => `e${n}`).join(" + ")};`,
    ...["a", "b"].map((half) => `o${half}${r} = o${half}${r} * kept + ${each.map((n) => `e${n} * v${n}${half}`).join(" + ")};`),
    `m${r} = next;`,
    "}",
  ];
}

/** Joins the sums of the positions of a subgroup. */
function mergedLanes(rows: readonly Row[], lanes: number, subgroup: number): readonly string[] {
  const masks = range(Math.log2(subgroup / lanes)).map((bit) => lanes * 2 ** bit);
  return masks.flatMap((mask) =>
    rows.map(({ r }) => {
      const other = (name: string): string => `subgroupShuffleXor(${name}${r}, ${mask}u)`;
      return `{ let m = ${other("m")}; let l = ${other("l")}; let a = ${other("oa")}; let b = ${other("ob")};
        let next = max(m${r}, m); let c = exp(m${r} - next); let e = exp(m - next);
        l${r} = l${r} * c + l * e; oa${r} = oa${r} * c + a * e; ob${r} = ob${r} * c + b * e; m${r} = next; }`;
    }),
  );
}

/** Joins the sums of all subgroups in memory and stores those of rows: results for one workgroup per query, else its share. */
function resultText(rows: readonly Row[], { size, heads, parts, subgroup, terms }: SharedForm, subgroups: number): readonly string[] {
  const sink = terms.hasSinks ? "sinkOf(h)" : undefined;
  const [first] = rows;
  const writes = rows.flatMap(({ r }, i) => [
    `{ let at = (${i * subgroups}u + lane / ${subgroup}u) * ${size}u + lp * ${cacheWidth}u;`,
    ...["a", "b"].flatMap((half, h) => ["x", "y", "z", "w"].map((part, e) => `sums[at + ${4 * h + e}u] = o${half}${r}.${part};`)),
    `if (lp == 0u) { tops[${i * subgroups}u + lane / ${subgroup}u] = vec2f(m${r}, l${r}); } }`,
  ]);
  return [
    `if (lane % ${subgroup}u < ${size / cacheWidth}u) {`,
    ...writes,
    "}",
    "workgroupBarrier();",
    `for (var e = lane; e < ${rows.length * size}u; e += ${sharedLanes}u) {`,
    `let row = e / ${size}u; let d = e % ${size}u;`,
    `let t = t0 + (${first?.r ?? 0}u + row) / ${heads}u; let h = h0 + (${first?.r ?? 0}u + row) % ${heads}u;`,
    `var m = ${sink ?? "unseen"};`,
    `for (var i = 0u; i < ${subgroups}u; i++) { m = max(m, tops[row * ${subgroups}u + i].x); }`,
    `var total = ${sink === undefined ? "0.0" : `exp(${sink} - m)`}; var sum = 0.0;`,
    `for (var i = 0u; i < ${subgroups}u; i++) {`,
    `let top = tops[row * ${subgroups}u + i]; let c = exp(top.x - m);`,
    `total += c * top.y; sum += c * sums[(row * ${subgroups}u + i) * ${size}u + d];`,
    "}",
    "if (t < p.tokens) {",
    ...(parts === 1
      ? [`y[(t * p.heads + h) * ${size}u + d] = select(0.0, sum / total, total > 0.0);`]
      : [
          `let to = ((t * p.heads + h) * ${parts}u + group % ${parts}u) * ${size + 2}u;`,
          "shares[to + d] = sum;",
          `if (d == 0u) { shares[to + ${size}u] = m; shares[to + ${size + 1}u] = total; }`,
        ]),
    "}",
    "}",
    "workgroupBarrier();",
  ];
}
