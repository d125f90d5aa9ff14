import { UnsupportedError, type Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { type Layer, layersOf } from "../blocks/layer.ts";
import { lastExtent, ones } from "../blocks/section.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** Ids of pictures, which the model reads but which its text does not have: from the first one up to the one after the last. */
const pictures = { start: 4, end: 8196 } as const;
const lowest = -3.4028234663852886e38;
/** Of the norms of queries and keys. */
const epsilon = 1e-5;

/** Chameleon: layer norms of each head's queries and keys. */
export const family: Family = (file) => {
  if (file.bool("swin_norm") === true)
    throw new UnsupportedError(file.key("swin_norm"), "norms after both parts of a layer, as in the 34B, are not computed");
  const config = readConfig(file);
  const rope = readRope(file, "norm", config);
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const { q, k, v } = layer.qkv(layer.norm("attn_norm", x));
        const heads = { q: headNorm(layer, "attn_q_norm", q), k: headNorm(layer, "attn_k_norm", k), v };
        const middle = program.add(layer.pick(x), layer.attention(layer.rope(heads, rope)));
        x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle)));
      }
      return withoutPictures(m, logits(m, outputNorm(m, x)));
    },
  };
};

/** `x [T, H, D] -> [T, H, D]`, with a weight and a bias of each head. */
function headNorm({ model: { program }, weights }: Layer, name: string, x: Value): Value {
  const shape = x.spec.shape.slice(1).map(Number);
  const normed = program.layerNorm(x, ones(program, lastExtent(x)), { eps: epsilon });
  const weighted = program.mul(normed, weights.vector(`${name}.weight`, shape));
  return weights.has(`${name}.bias`) ? program.add(weighted, weights.vector(`${name}.bias`, shape)) : weighted;
}

/** The logits with the lowest f32 for ids of pictures. */
function withoutPictures({ program, config, result }: ModelBuilder, y: Value): Value {
  if (result === "states") return y;
  const bias = new Float32Array(config.vocabSize).fill(lowest, pictures.start, pictures.end);
  return program.add(y, program.constant(bias, "f32", [config.vocabSize]));
}
