import { range } from "../shared/shape.ts";
import { adjustScores } from "./attentionScores.ts";
import { cacheWidth } from "./cacheElements.ts";
import { joinsOf, joinText, mergedLanes } from "./sharedJoin.ts";
import { type Rounds, type Row, type SharedCall, type SharedWork, sharedWork, vectorName } from "./sharedWork.ts";

/**
 * Attention of a workgroup's queries in one pass over the cache. A few lanes of a subgroup share a position, 16 bytes each of key and value at
 * once, and add up its scores in registers. Each such group of lanes has a running maximum of its own; they are joined at the end.
 */
export function sharedText(call: SharedCall): { readonly declarations: readonly string[]; readonly body: string } {
  const work = sharedWork(call);
  const { cache, lanes, perPosition, heads, tokens, parts, subgroup, terms, keepsQueries, rows, keys, values } = work;
  const joins = joinsOf(work);
  const subgroups = lanes / subgroup;
  const declarations = [
    ...cache.declarations,
    ...terms.declarations,
    ...(keepsQueries ? [] : [`var<workgroup> queries: array<vec4f, ${rows.length * keys.vectors.length * perPosition}>;`]),
    `var<workgroup> sums: array<f32, ${Math.max(...joins.map((join) => join.rows.length * join.size)) * subgroups}>;`,
    `var<workgroup> tops: array<vec2f, ${Math.max(...joins.map((join) => join.rows.length)) * subgroups}>;`,
  ];
  const body = [
    `let lp = lane % ${perPosition}u; let slot = i32(lane / ${perPosition}u);`,
    ...keys.declarations,
    ...values.declarations,
    `let headGroups = p.heads / ${heads}u;`,
    `let rest = group / ${parts}u;`,
    `let h0 = rest % headGroups * ${heads}u;`,
    "let kv = h0 / p.perKvHead;",
    `let t0 = rest / headGroups * ${tokens}u;`,
    ...range(tokens).flatMap((t) => tokenText(t, work)),
    ...(keepsQueries ? [] : storedQueries(work)),
    ...rows.flatMap((row) => [...(keepsQueries ? keptQuery(work, row) : []), startText(row, values)]),
    ...sequencesText(work),
    ...mergedLanes(work),
    ...joins.flatMap((join) => joinText(join, work)),
  ];
  return { declarations, body: body.join("\n") };
}

/** The token's sequence and the positions that it sees; a token beyond the last one sees those of the last. */
function tokenText(t: number, { params: { causal, window } }: SharedWork): readonly string[] {
  return [
    ...(t === 0 ? [] : [`let t${t} = min(t0 + ${t}u, p.tokens - 1u);`]),
    `let position${t} = positions[t${t}]; let seq${t} = seqOf[t${t}];`,
    `var end${t} = 0;`,
    `if (seq${t} >= 0 && seq${t} < p.sequences) { end${t} = clamp(seqLens[seq${t}], 0, p.maxBlocks * p.blockSize); }`,
    ...(causal ? [`end${t} = min(end${t}, max(position${t}, -1) + 1);`] : []),
    `let first${t} = ${window > 0 ? `max(0, position${t} - p.window + 1)` : "0"};`,
  ];
}

/** The lane's vectors of a query, `q<vector><row>`. They are zeros where the lane has no elements, because it reads keys there, too. */
function keptQuery({ dK, perPosition, keys: { steps, inLast } }: SharedWork, { r, token, head }: Row): readonly string[] {
  return steps.map((step, n) => {
    const at = `((t${token} * p.heads + h0 + ${head}u) * ${dK / 4}u + lp * 2u${step(4)})`;
    const hasAll = n < steps.length - 1 || inLast === perPosition;
    const ofLane = (vector: string): string => (hasAll ? vector : `select(vec4f(), ${vector}, lp < ${inLast}u)`);
    const [a, b] = [`q[${at}] * p.scale`, `q[${at} + 1u] * p.scale`].map(ofLane);
    return `let q${vectorName(2 * n)}${r} = ${a}; let q${vectorName(2 * n + 1)}${r} = ${b};`;
  });
}

/** Copies queries to the workgroup's memory: for each row and vector, those of a position's lanes. */
function storedQueries({ dK, heads, perPosition, lanes, rows, keys: { vectors } }: SharedWork): readonly string[] {
  return [
    `for (var i = lane; i < ${rows.length * vectors.length * perPosition}u; i += ${lanes}u) {`,
    `let vector = i / ${perPosition}u % ${vectors.length}u; let row = i / ${vectors.length * perPosition}u;`,
    `let at = (vector / 2u * ${perPosition}u + i % ${perPosition}u) * 2u + vector % 2u;`,
    `let start = (min(t0 + row / ${heads}u, p.tokens - 1u) * p.heads + h0 + row % ${heads}u) * ${dK / 4}u;`,
    `queries[i] = select(vec4f(), q[start + min(at, ${dK / 4 - 1}u)] * p.scale, at < ${dK / 4}u);`,
    "}",
    "workgroupBarrier();",
  ];
}

function startText({ r }: Row, { vectors }: Rounds): string {
  return `var m${r} = unseen; var l${r} = 0.0; ${vectors.map((i) => `var o${vectorName(i)}${r} = vec4f();`).join(" ")}`;
}

/** Looks at the positions of each sequence of the tokens once: `sequence`, that of a token whose predecessors have others. */
function sequencesText(work: SharedWork): readonly string[] {
  const { tokens, parts } = work;
  const all = range(tokens);
  const later = all.slice(1);
  return [
    ...(later.length === 0 ? ["{"] : [`for (var t = 0u; t < ${tokens}u; t++) {`]),
    "var sequence = seq0;",
    ...later.map((t) => `if (t == ${t}u) { sequence = seq${t}; }`),
    ...later.map((t) => `if (t > ${t - 1}u && seq${t - 1} == sequence) { continue; }`),
    ...all.map((t) => `let until${t} = select(0, end${t}, seq${t} == sequence);`),
    `var start = ${all.map((t) => `first${t}`).reduce((x, y) => `min(${x}, ${y})`)};`,
    `var finish = ${all.map((t) => `until${t}`).reduce((x, y) => `max(${x}, ${y})`)};`,
    ...(parts > 1 ? [shareOf(work)] : []),
    ...loopText(work),
    "}",
  ];
}

/** Positions that a workgroup has at least where several share a query. */
export const leastSharedPositions = 64;

/** Narrows positions to the workgroup's share. Without any, the share's weights are 0, and nothing else of it is read. */
function shareOf({ parts, heads, dV }: SharedCall): string {
  return `let share = max(${leastSharedPositions}, (finish - start + ${parts - 1}) / ${parts});
    start += i32(group % ${parts}u) * share;
    finish = min(finish, start + share);
    if (start >= finish) {
      if (lane < ${heads}u) {
        let to = ((t0 * p.heads + h0 + lane) * ${parts}u + group % ${parts}u) * ${dV + 2}u + ${dV}u;
        shares[to] = unseen; shares[to + 1u] = 0.0;
      }
      return;
    }`;
}

function loopText(work: SharedWork): readonly string[] {
  const { dK, dV, ahead, cache, lanes, perPosition, rows, keys, values } = work;
  const slots = lanes / perPosition;
  const each = range(ahead);
  const tokens = range(work.tokens);
  const packed = (name: string, round: number): string => (round === 0 ? name : `${name}_${round}`);
  const load = (name: string, row: string, { steps }: Rounds): readonly string[] =>
    steps.map((step, n) => `let ${packed(name, n)} = ${cache.packedAt(`${row}${step(1)}`)};`);
  const elements = (name: string, { steps }: Rounds, inside = (vector: string): string => vector): readonly string[] =>
    steps.flatMap((_, n) =>
      cache.vectors(packed(name, n)).map((vector, half) => `let ${name}${vectorName(2 * n + half)} = ${inside(vector)};`),
    );
  return [
    `for (var base = start; base < finish; base += ${slots * ahead}) {`,
    ...each.flatMap((n) => [
      `let j${n} = base + slot + ${n * slots};`,
      `let in${n} = min(j${n}, finish - 1);`,
      `let block${n} = blockTable[sequence * p.maxBlocks + in${n} / p.blockSize];`,
      `let place${n} = block${n} * p.blockSize + in${n} % p.blockSize;`,
      `let there${n} = j${n} < finish && block${n} >= 0 && block${n} <= p.size / p.blockSize && place${n} < p.size;`,
      `let row${n} = (select(0u, u32(place${n}), there${n}) * p.kvHeads + kv) * ${dK + dV}u + lp * ${cacheWidth}u;`,
      ...load(`k${n}`, `row${n}`, keys),
      ...load(`v${n}`, `row${n} + ${dK}u`, values),
    ]),
    ...each.flatMap((n) => [...elements(`k${n}`, keys), ...elements(`v${n}`, values, (vector) => `select(vec4f(), ${vector}, there${n})`)]),
    ...each.flatMap((n) => tokens.map((t) => `let sees${n}_${t} = there${n} && j${n} >= first${t} && j${n} < until${t};`)),
    ...rows.flatMap((row) => scoreText(work, row)),
    "}",
  ];
}

/** Scores of a row at the lane's positions, and their values added to its sum. */
function scoreText(work: SharedWork, { r, token, head }: Row): readonly string[] {
  const { ahead, perPosition, keepsQueries, params, terms, keys, values } = work;
  const each = range(ahead);
  const masks = range(Math.log2(perPosition)).map((bit) => 2 ** bit);
  const queryAt = (i: number): string => `queries[${(r * keys.vectors.length + i) * perPosition}u + lp]`;
  const scoreOf = (n: number): string => keys.vectors.map((i) => `dot(q${vectorName(i)}${r}, k${n}${vectorName(i)})`).join(" + ");
  return [
    "{",
    ...(keepsQueries ? [] : keys.vectors.map((i) => `let q${vectorName(i)}${r} = ${queryAt(i)};`)),
    ...each.map((n) => `var s${n} = ${scoreOf(n)};`),
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
    ...values.vectors
      .map(vectorName)
      .map((name) => `o${name}${r} = o${name}${r} * kept + ${each.map((n) => `e${n} * v${n}${name}`).join(" + ")};`),
    `m${r} = next;`,
    "}",
  ];
}
