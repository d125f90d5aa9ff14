import { elementAt } from "@centella/quant/checks";
import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import {
  requireAxes,
  requireBoolean,
  requireExtent,
  requireFinite,
  requireFromZero,
  requireOneOf,
  requireShape,
  requireWhole,
} from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";

export interface AttentionParams {
  /** Factor of `q . k`, usually `1 / sqrt(dK)`. */
  readonly scale: number;
  /** Positions per block of the block table. */
  readonly blockSize: number;
  /** Whether a query sees no position after its own. */
  readonly causal: boolean;
  /** Number of positions that a query sees, up to and including its own; 0 means all. */
  readonly window: number;
  /** Soft cap: scores become `softcap * tanh(score / softcap)`. 0 means no cap. */
  readonly softcap: number;
  /** Largest bias of ALiBi (ggml's `max_bias`); 0 means none. */
  readonly alibi: number;
  /** Precision of the operands of both products: "half" permits a backend to round them to f16, as in `matmul`. */
  readonly activations: "f32" | "half";
}

/**
 * Attention (Vaswani et al., 2017) over a paged cache (Kwon et al., 2023) that `kvWrite` filled: `y = sum(softmax(score) * v)`.
 *
 * `q [T, H, dK], cache [S, Hkv, dK + dV] f32 | f16 | q8_0, positions [T] i32, seqOf [T] i32, blockTable [nSeq, maxBlocks] i32, seqLens
 * [nSeq] i32, sinks [H]?, bias [H, 2R + 1]? -> y [T, H, dV]`, f32. A single sequence has the block table `[[0]]` and `blockSize = S`.
 *
 * - Query `t` belongs to sequence `s = seqOf[t]` and sees positions `j` in `[0, seqLens[s])`. With `causal` it sees none after
 *   `positions[t]`; with a window, only `j > positions[t] - window`. A query that sees nothing gives 0.
 * - Position `j` is stored in slot `blockTable[s, floor(j / blockSize)] * blockSize + j % blockSize`.
 * - Head `h` reads head `floor(h * Hkv / H)` of the cache.
 * - `score = scale * q . k`, then the soft cap, then `- slope(h) * |j - positions[t]|` with ALiBi.
 * - `bias` is added to the scores by the distance of a position from the query: `bias[h, R]` at the query's own, `bias[h, R + n]` to the
 *   n-th position after it, and those of distance `R` to all that are further away.
 * - `sinks[h]` is an additional logit of the softmax, without a value.
 *
 * Indices outside the tables are an error on the scalar reference; other backends treat such positions as not seen.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} if an option is out of range, and for bad indices when the reference runs
 */
export const attention: Op<
  ["q", "cache", "positions", "seqOf", "blockTable", "seqLens"],
  AttentionParams,
  "causal" | "window" | "softcap" | "alibi" | "activations",
  ["sinks", "bias"]
> = {
  name: "attention",
  computeBound: true,
  inputs: ["q", "cache", "positions", "seqOf", "blockTable", "seqLens"],
  optionalInputs: ["sinks", "bias"],
  defaults: { causal: true, window: 0, softcap: 0, alibi: 0, activations: "f32" },
  required: ["scale", "blockSize"],
  infer([q, cache, positions, seqOf, blockTable, seqLens, sinks, bias], params) {
    requireDType("attention", "q", q, ["f32"]);
    requireDType("attention", "cache", cache, ["f32", "f16", "q8_0"]);
    const [tokens, heads, keySize] = requireAxes("attention", "q", q, ["T", "H", "dK"]);
    const [, kvHeads, width] = requireAxes("attention", "cache", cache, ["S", "Hkv", "dK + dV"]);
    const [h, hkv] = [requireExtent("attention", "H of q", heads), requireExtent("attention", "Hkv of cache", kvHeads)];
    const dK = requireExtent("attention", "dK of q", keySize);
    const dV = requireExtent("attention", "dK + dV of cache", width) - dK;
    if (hkv === 0 || h % hkv !== 0)
      throw new ShapeError(
        "attention",
        "H to be a multiple of Hkv",
        `H ${h} and Hkv ${hkv}`,
        "each head of the cache serves an equal number of heads of q",
      );
    if (dK < 1 || dV < 1)
      throw new ShapeError(
        "attention",
        `cache [S, Hkv, dK + dV] with dK = ${dK}`,
        formatSpec(cache),
        "its last axis holds a key and a value of at least one element",
      );
    for (const [name, spec] of Object.entries({ positions, seqOf, blockTable, seqLens })) requireDType("attention", name, spec, ["i32"]);
    requireShape("attention", "positions", positions, [tokens]);
    requireShape("attention", "seqOf", seqOf, [tokens]);
    const [sequences] = requireAxes("attention", "blockTable", blockTable, ["nSeq", "maxBlocks"]);
    requireShape("attention", "seqLens", seqLens, [sequences]);
    if (sinks !== undefined) {
      requireDType("attention", "sinks", sinks, ["f32"]);
      requireShape("attention", "sinks", sinks, [h]);
    }
    if (bias !== undefined) {
      requireDType("attention", "bias", bias, ["f32"]);
      const [, distances] = requireAxes("attention", "bias", bias, ["H", "2R + 1"]);
      requireShape("attention", "bias", bias, [h, distances]);
      if (requireExtent("attention", "2R + 1 of bias", distances) % 2 === 0)
        throw new ShapeError("attention", "bias [H, 2R + 1]", formatSpec(bias), "it has as many distances before a query as after it");
    }
    requireFinite("attention", "scale", params.scale);
    requireWhole("attention", "blockSize", params.blockSize, 1);
    requireBoolean("attention", "causal", params.causal);
    requireWhole("attention", "window", params.window, 0);
    requireFromZero("attention", "softcap", params.softcap);
    requireFromZero("attention", "alibi", params.alibi);
    requireOneOf("attention", "activations", params.activations, ["f32", "half"]);
    return { dtype: "f32", shape: [tokens, h, dV] };
  },
  cost([q, cache, , , blockTable], { blockSize }, y) {
    const seen = Math.min(elementAt(cache.shape, 0), elementAt(blockTable.shape, 1) * blockSize);
    return {
      flops: 2 * seen * (elementCount(q.shape) + elementCount(y.shape)),
      bytes: byteLength(q) + byteLength(cache) + byteLength(y),
    };
  },
};

/**
 * ALiBi's slope of head `h` (Press et al., 2022, section 3). The paper has `maxBias` 8. For head counts that are not a power of two the
 * rule is ggml's.
 */
export function alibiSlope(h: number, heads: number, maxBias: number): number {
  const power = 2 ** Math.floor(Math.log2(heads));
  return h < power ? 2 ** ((-maxBias / power) * (h + 1)) : 2 ** ((-maxBias / 2 / power) * (2 * (h - power) + 1));
}
