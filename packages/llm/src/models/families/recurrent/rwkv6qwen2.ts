import { ModelError } from "../../../errors.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { timeMix6 } from "../../blocks/recurrent/rwkv6.ts";
import { readHeadSize, withRwkvStates } from "../../blocks/recurrent/rwkv7.ts";
import { readAttentionFreeConfig } from "../../blocks/recurrent/ssm.ts";
import type { Family } from "../../family.ts";

/** QRWKV-6: Qwen 2.5 with RWKV-6's time mixing in place of attention. */
export const family: Family = (file) => {
  const size = readHeadSize(file);
  const feedForwardLength = file.requiredWidth("feed_forward_length");
  const config = { ...withRwkvStates(readAttentionFreeConfig(file), size, ["time"]), feedForwardLength };
  const heads = config.embeddingLength / size;
  const kvHeads = file.size("attention.head_count_kv") ?? heads;
  if (heads % kvHeads !== 0)
    throw new ModelError(
      `metadata: expected ${file.key("attention.head_count_kv")} to divide the ${heads} heads of wkv.head_size, got ${kvHeads}; convert the model again`,
    );
  const mixing = { size, kvHeads, hasBonus: false };
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const middle = layer.pick(program.add(x, timeMix6(layer, layer.norm("attn_norm", x), mixing)));
        x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
