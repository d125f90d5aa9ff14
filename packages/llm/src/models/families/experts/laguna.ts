import type { Value } from "@centella/core";
import { readRope, unscaled } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { readLayerHeads } from "../../blocks/layerSizes.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Laguna: gated heads, more of them in layers with a window, and experts with a shared one after the first layers. */
export const family: Family = async (file) => {
  const config = readConfig(file, { headsOf: readLayerHeads(file) });
  const globalRope = readRope(file, "neox", config);
  const base = file.positive("rope.freq_base_swa") ?? globalRope.base;
  const localRope = { ...unscaled(globalRope), base, dims: file.size("rope.dimension_count_swa") ?? globalRope.dims };
  const windows = readWindow(file, { period: 4, isFirst: true });
  const feedForward = await openFeedForward(file, { experts: { ...storedExperts(file), gating: "sigmoid", shared: "plain" } });
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore("blk.*.attn_gate.scale");
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const input = layer.norm("attn_norm", x);
        const heads = layer.rope(layer.qkv(input, { norm: "head" }), window > 0 ? localRope : globalRope);
        const middle = program.add(layer.pick(x), layer.attention(heads, { window, gate: softplusGate(layer, input) }));
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};

/** Factors of what heads return, for each head or each element, as wide as the file's matrix: `x [T, d] -> [T, H, 1]` or `[T, H, dV]`. */
function softplusGate(layer: Layer, x: Value): Value {
  const { program, T, config } = layer.model;
  const { heads, valueLength } = config.headsOf(layer.index);
  const isPerHead = layer.weights.shape("attn_gate.weight")?.[0] === heads;
  const size = isPerHead ? 1 : valueLength;
  const gate = program.softplus(layer.linear("attn_gate", x, { rows: heads * size }));
  return program.reshape(gate, { shape: [T, heads, size] });
}
