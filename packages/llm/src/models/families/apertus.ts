import { ModelError } from "../../errors.ts";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { GatedActivation } from "../blocks/activation.ts";
import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** Apertus: norms of queries and keys, and an activation with parameters of each layer's own. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "neox", config);
  const activations = readXielu(file, config.layers);
  return {
    config,
    forward(m) {
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const heads = layer.qkv(layer.norm("attn_norm", x), { norm: "head" });
        const middle = m.program.add(layer.pick(x), layer.attention(layer.rope(heads, rope)));
        const activation = activations(layer.index);
        x = m.program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle), { kind: "plain", activation }));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};

/**
 * xIELU (Huang & Schlag, 2025, "Deriving Activation Functions Using Integration"): `αp · x² + β · x` above 0, else
 * `αn · (exp(min(x, ε)) - 1 - x) + β · x`. Files state αp before a softplus, and αn before one and without β.
 */
function readXielu(file: MetadataReader, layers: number): (layer: number) => GatedActivation {
  const values = (name: string): ((layer: number) => number) => {
    const listed = file.metadata.optionalNumbers(`xielu.${name}`);
    const single = listed === undefined ? file.metadata.optionalNumber(`xielu.${name}`) : undefined;
    if (single === undefined && (listed === undefined || listed.length < layers))
      throw new ModelError(
        `metadata: expected xielu.${name} for ${layers} layers, got ${listed?.length ?? "none"}; convert the model again`,
      );
    return (layer) => single ?? listed![layer]!;
  };
  const [alphaNegative, alphaPositive, betas, epsilons] = [values("alpha_n"), values("alpha_p"), values("beta"), values("eps")];
  const softplus = (x: number): number => Math.log1p(Math.exp(-Math.abs(x))) + Math.max(x, 0);
  return (layer) => (m, _gate, x) => {
    const { program } = m;
    const beta = betas(layer);
    const constant = (value: number) => program.constant(Float32Array.of(value), "f32", [1]);
    const above = program.scale(program.mul(x, x), { by: softplus(alphaPositive(layer)) });
    const exponential = program.exp(program.minimum(x, constant(epsilons(layer))));
    const bent = program.sub(program.sub(exponential, constant(1)), x);
    const below = program.scale(bent, { by: beta + softplus(alphaNegative(layer)) });
    const isAbove = program.greater(x, constant(0));
    return program.add(program.where(isAbove, above, below), program.scale(x, { by: beta }));
  };
}
