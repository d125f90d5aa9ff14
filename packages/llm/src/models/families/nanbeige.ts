import { ModelError } from "../../errors.ts";
import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** Layers that a file can ask for, which it does not need tensors for. llama.cpp has the same limit. */
const maxLayers = 512;

/** Nanbeige 4: all blocks run several times, with a norm between the loops. */
export const family: Family = (file) => {
  const loops = file.tokens("num_loops") ?? 1;
  const hasLoopNorm = file.bool("skip_loop_final_norm") !== true;
  const config = readConfig(file);
  const blocks = config.layers;
  if (blocks * loops > maxLayers)
    throw new ModelError(
      `metadata: expected ${file.key("num_loops")} times block_count up to ${maxLayers}, got ${loops} and ${blocks}; the file is damaged, or convert the model again`,
    );
  const rope = readRope(file, "norm", config);
  return {
    config: { ...config, layers: blocks * loops },
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m, (index) => `blk.${index % blocks}`)) {
        const isLoopsFirst = layer.index > 0 && layer.index % blocks === 0;
        if (isLoopsFirst && hasLoopNorm) x = outputNorm(m, x);
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), rope);
        const middle = program.add(layer.pick(x), layer.attention(heads));
        x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle), { scales: true }));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
