import type { Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { StateShape } from "../../../load/modelShape.ts";
import type { ModelConfig } from "../../config.ts";
import type { Layer } from "../layer.ts";
import { deltaScan, unit } from "./deltaNet.ts";
import { convolve, stateName } from "./ssm.ts";

/** Sizes of Kimi Delta Attention. */
export interface KimiDeltaConfig {
  /** Elements of a head's query, key and value. */
  readonly size: number;
  /** Elements of the convolutions' filters. */
  readonly kernelSize: number;
  /** Lower bound of the decays' logarithms, below 0, and the sign of their stored rates. Default: no bound, and another function. */
  readonly bound?: { readonly lower: number; readonly rates: "positive" | "negative" } | undefined;
}

export function readKimiDelta(file: MetadataReader): KimiDeltaConfig {
  const config = { size: file.requiredSize("kda.head_dim"), kernelSize: file.requiredSize("ssm.conv_kernel") };
  file.finish();
  return config;
}

const filtered = ["q", "k", "v"] as const;

/** The config with states for the layers without a cache. */
export function withKimiDelta(config: ModelConfig, { size, kernelSize }: KimiDeltaConfig): ModelConfig {
  const { heads } = config;
  const layers = Array.from({ length: config.layers }, (_, layer) => layer).filter((layer) => !config.hasCache(layer));
  const states = layers.flatMap((layer): StateShape[] => [
    ...filtered.map((part) => ({ name: stateName(layer, `convolution.${part}`), layer, shape: [kernelSize - 1, heads * size] })),
    { name: stateName(layer, "scan"), layer, shape: [heads, size, size] },
  ]);
  return { ...config, states };
}

/**
 * Kimi Delta Attention (Kimi Team, 2025, "Kimi Linear", section 3): a gated delta rule whose decays differ by element; see the op `deltaScan`.
 * `x [T, d] -> [n, d]`
 */
export function kimiDeltaBlock(layer: Layer, x: Value, { size: K, kernelSize, bound }: KimiDeltaConfig): Value {
  const { model, weights } = layer;
  const { program, T, config } = model;
  const { heads: H } = config;
  const byHead = (y: Value, elements: number): Value => program.reshape(y, { shape: [T, H, elements] });
  const part = (name: (typeof filtered)[number]): Value => {
    const projected = layer.unscaledProduct(`attn_${name}`, x, { rows: H * K });
    return byHead(program.silu(convolve(layer, `ssm_conv1d_${name}.weight`, kernelSize, projected, `convolution.${name}`)), K);
  };
  // Two matrices of a low rank, or one.
  const low = (name: string): Value => {
    if (weights.has(`ssm_${name}_b.weight`))
      return layer.unscaledProduct(`ssm_${name}_b`, layer.unscaledProduct(`ssm_${name}_a`, x, { rows: K }), { rows: H * K });
    return layer.unscaledProduct(weights.has(`ssm_${name}.weight`) ? `ssm_${name}` : `ssm_${name}_a`, x, { rows: H * K });
  };
  const [q, k, v] = [unit(layer, part("q"), 1 / Math.sqrt(K)), unit(layer, part("k"), 1), part("v")];
  const steps = byHead(program.add(low("f"), weights.vector("ssm_dt.bias", H * K)), K);
  const rates = weights.vector("ssm_a", [H, 1]);
  const logarithms =
    bound === undefined
      ? program.mul(program.softplus(steps), rates)
      : program.scale(program.sigmoid(program.mul(steps, bound.rates === "positive" ? rates : program.neg(rates))), { by: bound.lower });
  const decay = program.exp(logarithms);
  const beta = program.sigmoid(byHead(layer.unscaledProduct("ssm_beta", x, { rows: H }), 1));
  const b = program.mul(k, program.neg(beta));
  const y = deltaScan(layer, { q, k, v: program.mul(v, beta), decay, a: program.mul(decay, k), b }); // [T, H, K]
  const gated = program.mul(layer.norm("ssm_norm", y), program.sigmoid(byHead(low("g"), K)));
  weights.ignore("attn_output.scale");
  return layer.attentionOutput(gated);
}

/** Tensors that llama.cpp reads in models of this attention, and leaves out. */
export const unusedOfKimi: readonly string[] = [
  ...["attn_q", "attn_k", "attn_v"].flatMap((name) => [`blk.*.${name}.bias`, `blk.*.${name}.scale`]),
  "blk.*.attn_gate.scale",
];
