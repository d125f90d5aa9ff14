import type { DType, ParamsOf } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { loader } from "../../wgsl/emitter.ts";
import { defineDispatch, elementOf, input, output } from "../../wgsl/module.ts";
import { workgroupReduce } from "../../wgsl/workgroupReduce.ts";
import type { Binding, Dispatch, ElementType } from "../shared/kernel.ts";
import { extent, maximum, range } from "../shared/shape.ts";
import { type AttentionCall, attentionBindings } from "./attentionCall.ts";
import { adjustScores, type ScoreTerms, termsOf, unseen } from "./attentionScores.ts";
import { cacheElements, cacheWidth } from "./cacheElements.ts";

/** Lanes of a workgroup, and cached positions that it looks at together. */
const lanes = 128;

/** Positions that a sharer has at least. */
const leastShare = 32;

type Params = ParamsOf<"attention">;

/** Workgroups that share the positions of a query, and the numbers of tokens for which they do. */
export interface Shares {
  readonly parts: number;
  /** The most such tokens. */
  readonly apart: number;
  takes(tokens: number): boolean;
}

/** How the elements of keys and values are read: several as one `Part`. */
interface Vectors {
  readonly width: number;
  readonly element: ElementType;
  /** Declares `Part`, `dotOf`, `partAt(i)` of the cache and `queryAt(i)`. */
  readonly declarations: readonly string[];
  /** Elements of a part. */
  readonly elements: (part: string) => readonly string[];
}

function vectorsOf(dtype: DType, sizes: readonly number[]): Vectors {
  if (sizes.some((size) => size % cacheWidth !== 0)) {
    const declarations = [
      "alias Part = f32;",
      "fn dotOf(a: Part, b: Part) -> f32 { return a * b; }",
      "fn queryAt(i: u32) -> Part { return q[i]; }",
      "fn partAt(i: u32) -> Part { return load_cache(i); }",
    ];
    return { width: 1, element: elementOf(dtype), declarations: [...loader("cache", dtype), ...declarations], elements: (part) => [part] };
  }
  const cache = cacheElements(dtype);
  const declarations = [
    ...cache.declarations,
    "alias Part = mat2x4f;",
    "fn dotOf(a: Part, b: Part) -> f32 { return dot(a[0], b[0]) + dot(a[1], b[1]); }",
    `fn queryAt(i: u32) -> Part { return Part(${range(cacheWidth)
      .map((e) => `q[i + ${e}u]`)
      .join(", ")}); }`,
    `fn partAt(i: u32) -> Part { let packed = ${cache.packedAt("i")}; return Part(${cache.vectors("packed").join(", ")}); }`,
  ];
  const elements = (part: string): readonly string[] => [0, 1].flatMap((half) => ["x", "y", "z", "w"].map((e) => `${part}[${half}].${e}`));
  return { width: cacheWidth, element: cache.element, declarations, elements };
}

/** Sums of a workgroup's share of positions: its values, the largest score and the sum of weights. */
export function sharesOf(call: AttentionCall, parts: number, apart: number): Binding {
  const [heads, dV] = [maximum(elementAt(call.inputs[0].shape, 1)), maximum(elementAt(call.output.shape, 2))];
  const bytes = 4 * apart * heads * parts * (dV + 2);
  return { name: "shares", resource: { kind: "scratch", bytes }, access: "read_write", element: "f32" };
}

/** Attention of `parts` workgroups for each query and head, with a lane per position: results for one, else sums for {@link join}. */
export function sums(call: AttentionCall, params: Params, { parts, apart, takes }: Shares): Dispatch {
  const {
    inputs: [q, cache, , , blockTable],
    output: y,
  } = call;
  const { scale, blockSize, window, softcap, alibi } = params;
  const isShared = parts > 1;
  const terms = termsOf(call, params, !isShared);
  const [dK, dV] = [maximum(elementAt(q.shape, 2)), maximum(elementAt(y.shape, 2))];
  const vectors = vectorsOf(cache.dtype, [dK, dV]);
  const bindings = [...attentionBindings("f32", vectors.element), ...terms.bindings, isShared ? sharesOf(call, parts, apart) : output("y")];
  return defineDispatch({
    bindings,
    uniforms: {
      ...{ size: "i32", sequences: "i32", maxBlocks: "i32", blockSize: "i32", window: "i32" },
      ...{ heads: "u32", perKvHead: "u32", kvHeads: "u32" },
      ...{ scale: "f32", softcap: "f32", alibi: "f32" },
    },
    lanes,
    declarations: [
      ...vectors.declarations,
      ...terms.declarations,
      workgroupReduce("largest", "max", lanes),
      workgroupReduce("addUp", "add", lanes),
      `var<workgroup> query: array<Part, ${dK / vectors.width}>;
      var<workgroup> weights: array<f32, ${lanes}>;
      var<workgroup> rows: array<u32, ${lanes}>;
      var<workgroup> cells: array<Part, ${lanes}>;`,
    ],
    body: sumsText(params, { dK, dV, width: vectors.width, parts }, terms, vectors),
    sizeIn(dims) {
      const [tokens, heads] = [extent(q.shape, 0, dims), extent(q.shape, 1, dims)];
      const [size, kvHeads] = [extent(cache.shape, 0, dims), extent(cache.shape, 1, dims)];
      const [sequences, maxBlocks] = [extent(blockTable.shape, 0, dims), extent(blockTable.shape, 1, dims)];
      return {
        groups: takes(tokens) ? tokens * heads * parts : 0,
        values: {
          ...{ size, sequences, maxBlocks, blockSize, window },
          ...{ heads, kvHeads, perKvHead: heads / kvHeads, scale, softcap, alibi },
        },
      };
    },
  });
}

interface Sizes {
  readonly dK: number;
  readonly dV: number;
  readonly width: number;
  readonly parts: number;
}

function sumsText(params: Params, { dK, dV, width, parts }: Sizes, terms: ScoreTerms, { elements }: Vectors): string {
  const { causal, window } = params;
  // Lanes by parts of a value; those of a slot take positions in turn.
  const across = dV / width;
  const slots = Math.max(1, Math.floor(lanes / across));
  const perLane = Math.ceil(across / lanes);
  const store = parts === 1 ? storeResult(dV, elements) : storeShare(dV, elements);
  return `
    let pair = group / ${parts}u;
    let h = pair % p.heads;
    let t = pair / p.heads;
    let position = positions[t];
    let s = seqOf[t];
    var end = 0;
    if (s >= 0 && s < p.sequences) { end = clamp(seqLens[s], 0, p.maxBlocks * p.blockSize); }
    ${causal ? "if (position < end) { end = position + 1; }" : ""}
    var first = ${window > 0 ? "max(0, position - p.window + 1)" : "0"};
    ${parts === 1 ? "" : shareText(parts)}
    for (var d = lane; d < ${dK / width}u; d += ${lanes}u) { query[d] = queryAt(pair * ${dK}u + d * ${width}u) * p.scale; }
    workgroupBarrier();
    var m = ${terms.hasSinks ? "sinkOf(h)" : "unseen"};
    var total = ${terms.hasSinks ? "1.0" : "0.0"};
    var sum: array<Part, ${perLane}>;
    let slot = lane / ${across}u;
    for (var base = first; base < end; base += ${lanes}) {
      let j = base + i32(lane);
      var score = unseen;
      var row = 0u;
      if (j < end) {
        let block = blockTable[s * p.maxBlocks + j / p.blockSize];
        let place = block * p.blockSize + j % p.blockSize;
        if (block >= 0 && block <= p.size / p.blockSize && place < p.size) {
          row = (u32(place) * p.kvHeads + h / p.perKvHead) * ${dK + dV}u;
          var product = 0.0;
          for (var d = 0u; d < ${dK / width}u; d++) { product += dotOf(query[d], partAt(row + d * ${width}u)); }
          score = product;
          ${adjustScores(params, terms, "h", [{ score: "score", after: "(j - position)" }]).join("\n          ")}
        }
      }
      let next = max(m, largest(lane, score));
      let weight = select(exp(score - next), 0.0, score == unseen);
      weights[lane] = weight;
      rows[lane] = row + ${dK}u;
      let correction = exp(m - next);
      total = total * correction + addUp(lane, weight);
      let seen = u32(min(${lanes}, end - base));
      for (var l = 0u; l < ${perLane}u; l++) {
        let d = l * ${lanes}u + lane ${slots > 1 ? `% ${across}u` : ""};
        if (d >= ${across}u || slot >= ${slots}u) { break; }
        var part = sum[l] * correction;
        for (var n = slot; n < seen; n += ${slots}u) {
          // The row of a position that is not seen is not its own, and may not be finite.
          if (weights[n] > 0.0) { part += weights[n] * partAt(rows[n] + d * ${width}u); }
        }
        sum[l] = part;
      }
      m = next;
    }
    ${
      slots === 1
        ? `for (var l = 0u; l < ${perLane}u; l++) {
            let d = l * ${lanes}u + lane;
            if (d < ${across}u) { let part = sum[l]; ${store} }
          }`
        : `cells[lane] = sum[0];
          workgroupBarrier();
          if (lane < ${across}u) {
            let d = lane;
            var part = cells[lane];
            for (var other = 1u; other < ${slots}u; other++) { part += cells[other * ${across}u + lane]; }
            ${store}
          }`
    }
    ${parts === 1 ? "" : `if (lane == 0u) { shares[group * ${dV + 2}u + ${dV}u] = m; shares[group * ${dV + 2}u + ${dV + 1}u] = total; }`}
  `;
}

/** Narrows positions to the workgroup's share. */
function shareText(parts: number): string {
  return `
    let share = max(${leastShare}, (end - first + ${parts - 1}) / ${parts});
    first += i32(group % ${parts}u) * share;
    end = min(end, first + share);`;
}

/** Stores part `d` of a result, after the division by the sum of weights. */
function storeResult(dV: number, elements: Vectors["elements"]): string {
  const width = elements("part").length;
  return elements("part")
    .map((element, e) => `y[pair * ${dV}u + d * ${width}u + ${e}u] = select(0.0, ${element} / total, total > 0.0);`)
    .join(" ");
}

/** Stores part `d` of a share's sum. */
function storeShare(dV: number, elements: Vectors["elements"]): string {
  const width = elements("part").length;
  return elements("part")
    .map((element, e) => `shares[group * ${dV + 2}u + d * ${width}u + ${e}u] = ${element};`)
    .join(" ");
}

/** Joins the shares of each query and head; a sink is a further share without a value. */
export function join(call: AttentionCall, { parts, apart, takes }: Shares): Dispatch {
  const {
    inputs: [q, , , , , , sinks],
    output: y,
  } = call;
  const dV = maximum(elementAt(y.shape, 2));
  const shares: Binding = { ...sharesOf(call, parts, apart), access: "read" };
  const sink = sinks === undefined ? undefined : "max(sinks[group % p.heads], unseen)";
  return defineDispatch({
    bindings: [shares, ...(sinks === undefined ? [] : [input("sinks", 6)]), output("y")],
    uniforms: { heads: "u32" },
    lanes: joinLanes,
    declarations: [unseen, `var<workgroup> tops: array<vec2f, ${parts}>;`, `var<workgroup> weights: array<f32, ${parts}>;`],
    body: `
      let start = group * ${parts * (dV + 2)}u;
      if (lane < ${parts}u) {
        let at = start + lane * ${dV + 2}u + ${dV}u;
        tops[lane] = vec2f(shares[at], shares[at + 1u]);
      }
      workgroupBarrier();
      var m = ${sink ?? "unseen"};
      for (var i = 0u; i < ${parts}u; i++) { m = max(m, tops[i].x); }
      if (lane < ${parts}u) { weights[lane] = exp(tops[lane].x - m); }
      workgroupBarrier();
      var total = ${sink === undefined ? "0.0" : `exp(${sink} - m)`};
      for (var i = 0u; i < ${parts}u; i++) { total += weights[i] * tops[i].y; }
      for (var d = lane; d < ${dV}u; d += ${joinLanes}u) {
        var sum = 0.0;
        // A share without weights has no sum.
        ${range(parts)
          .map((i) => `sum += select(0.0, weights[${i}] * shares[start + ${i * (dV + 2)}u + d], tops[${i}].y > 0.0);`)
          .join("\n")}
        y[group * ${dV}u + d] = select(0.0, sum / total, total > 0.0);
      }
    `,
    sizeIn(dims) {
      const [tokens, heads] = [extent(q.shape, 0, dims), extent(q.shape, 1, dims)];
      return { groups: takes(tokens) ? tokens * heads : 0, values: { heads } };
    },
  });
}

const joinLanes = 128;
