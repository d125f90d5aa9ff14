import { attentionTemperature } from "../../blocks/attention/attentionTemperature.ts";
import { chunksOf } from "../../blocks/attention/chunks.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { unitNorm } from "../../blocks/section.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Tokens of a chunk of the text, and of a step of the attention's temperature. Files do not state them. */
const chunkLength = 8192;
const temperatureConfig = { scale: 0.1, length: chunkLength, offset: 1 };

/** Number of experts of Maverick, whose queries and keys are not normed. */
const maverickExperts = 128;

/**
 * Llama 4: three of four layers rotate, norm queries and keys, and attend within chunks of the text. The fourth has no positions, and a
 * temperature instead. A shared expert; weights of experts multiply their inputs.
 */
export const family: Family = async (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "norm", config);
  const localRope = { ...rope, base: file.positive("rope.freq_base_swa") ?? rope.base };
  const chunked = readWindow(file, { period: 4, tokens: chunkLength });
  const hasNorms = file.size("expert_count") !== maverickExperts;
  const scale = file.positive("expert_weights_scale");
  const feedForward = await openFeedForward(file, { experts: { gating: "sigmoid", scale, shared: "plain", weighted: "inputs" } });
  return {
    config,
    forward(m) {
      const { program } = m;
      const temperature = attentionTemperature(m, temperatureConfig);
      const chunks = chunksOf(m, chunkLength);
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const isRotated = (layer.index + 1) % 4 !== 0;
        const { q, k, v } = layer.rope(
          layer.qkv(layer.norm("attn_norm", x)),
          isRotated ? (chunked.at(layer.index) > 0 ? localRope : rope) : undefined,
        );
        const sharpened = isRotated || temperature === undefined ? q : program.mul(q, temperature);
        const heads = isRotated && hasNorms ? { q: unitNorm(m, q), k: unitNorm(m, k), v } : { q: sharpened, k, v };
        const middle = program.add(layer.pick(x), layer.attention(heads, { tables: chunked.at(layer.index) > 0 ? chunks : undefined }));
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
