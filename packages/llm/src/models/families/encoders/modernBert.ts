import { centredWindow } from "../../blocks/attention/centredWindow.ts";
import { readRope, unscaled } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { classifierHeads } from "../../blocks/classifierHeads.ts";
import { embed, embeddingNorm, outputNorm, states } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** ModernBERT, which embeds texts: windows with tokens on both sides in two layers of three. */
export const family: Family = (file) => {
  const config = readConfig(file, { norm: "layer", isEncoder: true });
  const globalRope = readRope(file, "neox", config);
  const localRope = { ...unscaled(globalRope), base: file.positive("rope.freq_base_swa") ?? 10_000 };
  const windows = readWindow(file, { period: 3, isFirst: true });
  const activation = ["silu", "swish", "swiglu"].includes(file.string("hidden_activation") ?? "") ? "silu" : "gelu";
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore(...classifierHeads);
      let x = embeddingNorm(m, embed(m));
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        // The embeddings have a norm already, which the first layer shares.
        const input = layer.weights.has("attn_norm.weight") ? layer.norm("attn_norm", x) : x;
        const heads = layer.rope(layer.qkv(input), window > 0 ? localRope : globalRope);
        const middle = program.add(layer.pick(x), layer.attention(heads, centredWindow(m, window)));
        x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle), { kind: "fusedGate", activation }));
      }
      return states(m, outputNorm(m, x));
    },
  };
};
