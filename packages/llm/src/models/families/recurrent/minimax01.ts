import type { Value } from "@centella/core";
import { readRope } from "../../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { readRecurrentLayers } from "../../blocks/layerSizes.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { scan, stateName } from "../../blocks/recurrent/ssm.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** MiniMax-01: lightning attention in seven of eight layers; both parts of a layer are added to their normed, scaled input. */
export const family: Family = async (file) => {
  const residualScale = file.requiredPositive("residual_scale");
  const isRecurrent = readRecurrentLayers(file, 8);
  const attended = readConfig(file);
  const { layers, heads, keyLength } = attended;
  const recurrent = Array.from({ length: layers }, (_, layer) => layer).filter(isRecurrent);
  const states = recurrent.map((layer) => ({ name: stateName(layer, "scan"), layer, shape: [heads, keyLength, keyLength] }));
  const config = { ...attended, hasCache: (layer: number) => !isRecurrent(layer), states };
  const rope = readRope(file, "neox", config);
  const feedForward = await openFeedForward(file, { experts: { normalize: true } });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", layer.enter(x));
        const mixed = isRecurrent(layer.index) ? lightningAttention(layer, input) : layer.attention(layer.rope(layer.qkv(input), rope));
        const middle = layer.norm("ffn_norm", program.add(mixed, m.scale(layer.pick(input), residualScale)));
        x = program.add(feedForward(layer, middle), m.scale(middle, residualScale));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};

/**
 * Lightning attention (Qin et al., 2024, "Lightning Attention-2"): linear attention in which each head has a decay of its own. It is a state
 * space with keys as B, queries as C and values as channels. `x [T, d] -> [n, d]`
 */
function lightningAttention(layer: Layer, x: Value): Value {
  const { program, T, config } = layer.model;
  const { heads: H, keyLength: size } = config;
  const heads = program.reshape(program.silu(layer.unscaledProduct("attn_qkv", x, { rows: 3 * H * size })), { shape: [T, H, 3, size] });
  const part = (index: number): Value =>
    program.reshape(program.slice(heads, { axis: 2, start: index, end: index + 1 }), { shape: [T, H, size] });
  const dt = program.expand(program.constant(Float32Array.of(1), "f32", [1, 1]), { shape: [T, H] });
  const a = program.constant(logDecays(H, layer.index, config.layers), "f32", [H, 1]);
  const y = scan(layer, { x: part(2), dt, a, b: part(1), c: part(0) });
  const normed = layer.norm("attn_norm_2", program.reshape(y, { shape: [T, H * size] }));
  const gated = program.mul(normed, program.sigmoid(layer.linear("attn_gate", x, { rows: H * size })));
  return layer.unscaledProduct("attn_output", layer.pick(gated), { rows: config.embeddingLength });
}

/** Logarithms of the heads' decays: ALiBi's slopes, smaller from layer to layer. */
function logDecays(heads: number, layer: number, layers: number): Float32Array {
  const first = 2 ** -(2 ** -(Math.log2(heads) - 3));
  const share = 1 - layer / Math.max(1, layers - 1) + 1e-5;
  return Float32Array.from({ length: heads }, (_, head) => -share * first ** (head + 1));
}
