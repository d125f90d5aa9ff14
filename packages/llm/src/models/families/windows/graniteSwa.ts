import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";
import { graniteScales, normalizedExperts } from "../variants.ts";

/** Granite with windows and sinks: the file lists the layers that have a window, and those that have positions. */
export const family: Family = async (file) => {
  const { embeddingScale, attention, residualScale = 1, logitScale = 1 } = graniteScales(file);
  const config = readConfig(file);
  const rope = readRope(file, "norm", config);
  const rotates = file.flags("attention.rope_pattern");
  const windows = readWindow(file, { period: 0 });
  const feedForward = await openFeedForward(file, { experts: normalizedExperts(file) });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m, embeddingScale);
      for (const layer of layersOf(m)) {
        const isRotated = typeof rotates !== "object" || rotates[layer.index] === true;
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), isRotated ? rope : undefined);
        const sinks = layer.weights.vector("attn_sinks.weight", config.heads);
        const attended = layer.attention(heads, { ...attention, window: windows.at(layer.index), sinks });
        const middle = program.add(layer.pick(x), m.scale(attended, residualScale));
        x = program.add(middle, m.scale(feedForward(layer, layer.norm("ffn_norm", middle)), residualScale));
      }
      return logits(m, outputNorm(m, x), { scale: logitScale });
    },
  };
};
