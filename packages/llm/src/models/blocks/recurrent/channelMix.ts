import type { Value } from "@centella/core";
import type { Layer } from "../layer.ts";
import { tokenBefore } from "./rwkv7.ts";

/** RWKV's feed-forward part, which sees the token before; RWKV-6's also has a gate. `x [T, d] -> [n, d]` */
export function channelMix(layer: Layer, x: Value): Value {
  const { model, weights } = layer;
  const { program, config } = model;
  const { embeddingLength: d } = config;
  const change = program.sub(tokenBefore(layer, "channels", x), x);
  const mixed = (part: "k" | "r"): Value => {
    const factors = weights.vector(`channel_mix_lerp_${part}.weight`, [1, 1, d]);
    return layer.pick(program.add(x, program.mul(change, program.reshape(factors, { shape: [d] }))));
  };
  const rows = weights.shape("channel_mix_key.weight")?.[0] ?? d;
  const inner = program.relu(layer.unscaledProduct("channel_mix_key", mixed("k"), { rows }));
  const y = layer.unscaledProduct("channel_mix_value", program.mul(inner, inner), { rows: d });
  if (!weights.has("channel_mix_receptance.weight")) return y;
  return program.mul(y, program.sigmoid(layer.unscaledProduct("channel_mix_receptance", mixed("r"), { rows: d })));
}
