import type { Value } from "@centella/core";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import { attentionOutput } from "./attention.ts";
import type { LatentConfig } from "./attentionConfig.ts";
import type { ModelConfig } from "./config.ts";
import type { Family } from "./family.ts";
import { norm } from "./norms.ts";
import { unscaledProduct } from "./projections.ts";
import { ignoreRopeFactors, rotate } from "./rotate.ts";
import { sharpened } from "./sharpened.ts";

/** `attention` with latent keys and values: `x [T, d] -> [n, d]`. */
export function latentAttention(
  r: ModelBuilder,
  family: Family,
  config: ModelConfig,
  layer: number,
  x: Value,
  pick: (y: Value) => Value,
): Value {
  const latent = config.latent!;
  ignoreRopeFactors(r);
  const y = attend(r, family, config, latent, layer, x);
  return attentionOutput(r, family, config, layer, pick(r.program.reshape(y, { shape: [r.T, config.heads * latent.valueLength] })));
}

/** `x [T, d] -> [T, H, dV]` */
function attend(r: ModelBuilder, family: Family, config: ModelConfig, latent: LatentConfig, layer: number, x: Value): Value {
  const { program, T } = r;
  const { heads: H, epsilon, attention } = config;
  const { temperature } = attention;
  const { rank, keyLength, ropeLength, valueLength, queryRank } = latent;
  const block = `blk.${layer}`;
  const plainLength = keyLength - ropeLength;
  const rotated = (y: Value): Value => (config.rope === undefined ? y : rotate(r, config.rope, false, y));

  const query =
    queryRank > 0 && r.weights.has(`${block}.attn_q_a.weight`)
      ? unscaledProduct(
          r,
          `${block}.attn_q_b`,
          norm(r, family, `${block}.attn_q_a_norm`, unscaledProduct(r, `${block}.attn_q_a`, x, { rows: queryRank }), queryRank, epsilon),
          { rows: H * keyLength },
        )
      : unscaledProduct(r, `${block}.attn_q`, x, { rows: H * keyLength });
  const heads = program.reshape(query, { shape: [T, H, keyLength] });
  const plainQuery = last(r, heads, 0, plainLength); // [T, H, plain]
  const rotatedQuery = rotated(last(r, heads, plainLength, ropeLength)); // [T, H, rope]

  const of = rank + ropeLength;
  const compressed = unscaledProduct(r, `${block}.attn_kv_a_mqa`, x, { rows: rank, of });
  const shared = unscaledProduct(r, `${block}.attn_kv_a_mqa`, x, { rows: ropeLength, from: rank, of });
  const rotatedKey = rotated(program.reshape(shared, { shape: [T, 1, ropeLength] })); // [T, 1, rope]
  const value = norm(r, family, `${block}.attn_kv_a_norm`, compressed, rank, epsilon); // [T, rank]
  const options = { scale: attention.scale, softcap: attention.softcap, window: 0 };

  if (latent.isAbsorbed) {
    // Each head's key and value matrices as experts: head h of every token takes matrix h.
    const order = program.constant(
      Int32Array.from({ length: H }, (_, h) => h),
      "i32",
      [1, H],
    );
    const everyHead = program.expand(order, { shape: [T, H] });
    const keys = r.weights.matrix(`${block}.attn_k_b.weight`, [H, rank, plainLength]);
    const q = program.concat([r.expertLinear(plainQuery, keys, everyHead), rotatedQuery], { axis: -1 }); // [T, H, rank + rope]
    const v = program.reshape(value, { shape: [T, 1, rank] });
    const k = program.concat([v, rotatedKey], { axis: -1 });
    const y = r.attend(layer, sharpened(r, temperature, q), k, v, options); // [T, H, rank]
    return r.expertLinear(y, r.weights.matrix(`${block}.attn_v_b.weight`, [H, valueLength, rank]), everyHead);
  }
  const both = unscaledProduct(r, `${block}.attn_kv_b`, value, { rows: H * (plainLength + valueLength) });
  const perHead = program.reshape(both, { shape: [T, H, plainLength + valueLength] });
  const k = program.concat([last(r, perHead, 0, plainLength), program.expand(rotatedKey, { shape: [T, H, ropeLength] })], { axis: -1 });
  const q = program.concat([plainQuery, rotatedQuery], { axis: -1 });
  return r.attend(layer, sharpened(r, temperature, q), k, last(r, perHead, plainLength, valueLength), options);
}

/** `count` elements of the last axis, from `start` on. */
function last({ program }: ModelBuilder, x: Value, start: number, count: number): Value {
  return program.slice(x, { axis: -1, start, end: start + count });
}
