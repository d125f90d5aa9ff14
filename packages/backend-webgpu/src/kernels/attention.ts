import { elementAt } from "@centella/core/backend";
import { loader } from "../wgsl/emitter.ts";
import { defineDispatch, elementOf, input, output, workgroupReduce } from "../wgsl/module.ts";
import type { KernelOf } from "./shared/kernel.ts";
import { extent, maximum } from "./shared/shape.ts";

const lanes = 64;

/** Most elements of a query: every device has 16 KiB of workgroup memory, and the lanes' values take 1 KiB of it. */
const longestQuery = 3840;

/**
 * A workgroup per query and head, one pass over the cache with an online softmax: 64 positions at a time, a lane per position
 * for the scores, then a lane per element of the value. Scores must not be NaN.
 */
export const attention: KernelOf<"attention"> = {
  unsupported([q]) {
    const dK = maximum(elementAt(q.shape, 2));
    return dK > longestQuery ? `dK = ${dK} is above ${longestQuery}, what workgroup memory holds` : undefined;
  },
  dispatches({ inputs: [q, cache, , , blockTable, , sinks], output: y }, params) {
    const { scale, blockSize, causal, window, softcap, alibi } = params;
    const [dK, dV] = [maximum(elementAt(q.shape, 2)), maximum(elementAt(y.shape, 2))];
    const perLane = Math.ceil(dV / lanes);
    const bindings = [
      input("q", 0),
      input("cache", 1, elementOf(cache.dtype)),
      input("positions", 2, "i32"),
      input("seqOf", 3, "i32"),
      input("blockTable", 4, "i32"),
      input("seqLens", 5, "i32"),
    ];
    if (sinks !== undefined) bindings.push(input("sinks", 6));
    return [
      defineDispatch({
        bindings: [...bindings, output("y")],
        uniforms: {
          ...{ size: "i32", sequences: "i32", maxBlocks: "i32", blockSize: "i32", window: "i32" },
          ...{ heads: "u32", perKvHead: "u32", kvHeads: "u32" },
          ...{ scale: "f32", softcap: "f32", alibi: "f32" },
        },
        lanes,
        declarations: [
          ...loader("cache", cache.dtype),
          ...(softcap > 0 ? [boundedTanh] : []),
          ...(alibi > 0 ? [slope] : []),
          workgroupReduce("largest", "f32", lanes, "max(a, b)"),
          workgroupReduce("addUp", "f32", lanes, "a + b"),
          `var<workgroup> query: array<f32, ${dK}>;
          var<workgroup> weights: array<f32, ${lanes}>;
          var<workgroup> rows: array<u32, ${lanes}>;
          // Below every score, but finite.
          const unseen = -3e38;`,
        ],
        body: `
          let h = group % p.heads;
          let t = group / p.heads;
          let position = positions[t];
          let s = seqOf[t];
          var end = 0;
          if (s >= 0 && s < p.sequences) { end = clamp(seqLens[s], 0, p.maxBlocks * p.blockSize); }
          ${causal ? "if (position < end) { end = position + 1; }" : ""}
          let first = ${window > 0 ? "max(0, position - p.window + 1)" : "0"};
          for (var d = lane; d < ${dK}u; d += ${lanes}u) { query[d] = q[group * ${dK}u + d] * p.scale; }
          workgroupBarrier();
          var m = ${sinks === undefined ? "unseen" : "max(sinks[h], unseen)"};
          var total = ${sinks === undefined ? "0.0" : "1.0"};
          var sum: array<f32, ${perLane}>;
          for (var base = first; base < end; base += ${lanes}) {
            let j = base + i32(lane);
            var score = unseen;
            var row = 0u;
            if (j < end) {
              let block = blockTable[s * p.maxBlocks + j / p.blockSize];
              let slot = block * p.blockSize + j % p.blockSize;
              if (block >= 0 && block <= p.size / p.blockSize && slot < p.size) {
                row = (u32(slot) * p.kvHeads + h / p.perKvHead) * ${dK + dV}u;
                var product = 0.0;
                for (var d = 0u; d < ${dK}u; d++) { product = fma(query[d], load_cache(row + d), product); }
                score = product;
                ${softcap > 0 ? "score = p.softcap * tanhOf(score / p.softcap);" : ""}
                ${alibi > 0 ? "score += slopeOf(h) * f32(j - position);" : ""}
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
              let d = l * ${lanes}u + lane;
              if (d >= ${dV}u) { break; }
              var part = sum[l] * correction;
              for (var n = 0u; n < seen; n++) { part = fma(weights[n], load_cache(rows[n] + d), part); }
              sum[l] = part;
            }
            m = next;
          }
          for (var l = 0u; l < ${perLane}u; l++) {
            let d = l * ${lanes}u + lane;
            if (d < ${dV}u) { y[group * ${dV}u + d] = select(0.0, sum[l] / total, total > 0.0); }
          }
        `,
        sizeIn(dims) {
          const [tokens, heads] = [extent(q.shape, 0, dims), extent(q.shape, 1, dims)];
          const [size, kvHeads] = [extent(cache.shape, 0, dims), extent(cache.shape, 1, dims)];
          const [sequences, maxBlocks] = [extent(blockTable.shape, 0, dims), extent(blockTable.shape, 1, dims)];
          return {
            groups: tokens * heads,
            values: {
              ...{ size, sequences, maxBlocks, blockSize, window },
              ...{ heads, kvHeads, perKvHead: heads / kvHeads, scale, softcap, alibi },
            },
          };
        },
      }),
    ];
  },
};

/** WGSL's `tanh` may give NaN for large arguments, and its error is only bounded absolutely. */
const boundedTanh = `fn tanhOf(x: f32) -> f32 {
  let a = abs(x);
  if (a < 0.25) {
    let s = x * x;
    return x * (1.0 + s * (-0.333333333 + s * (0.133333333 + s * (-0.053968254 + s * 0.021869489))));
  }
  let t = exp(-2.0 * min(a, 50.0));
  return select(1.0, -1.0, x < 0.0) * ((1.0 - t) / (1.0 + t));
}`;

const slope = `fn slopeOf(h: u32) -> f32 {
            let power = 1u << firstLeadingBit(p.heads);
            if (h < power) { return exp2(-p.alibi / f32(power) * f32(h + 1u)); }
            return exp2(-p.alibi * 0.5 / f32(power) * f32(2u * (h - power) + 1u));
          }`;
