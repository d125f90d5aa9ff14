import { UnsupportedError, type Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import { latentAttention, readLatent } from "../../blocks/attention/latentAttention.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { bounded } from "../../blocks/boundedActivation.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { withLatentCache } from "../../blocks/latentTransformer.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { readLayerNumbers } from "../../blocks/layerSizes.ts";
import { nextnOf } from "../../blocks/nextnOf.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { kimiDeltaBlock, readKimiDelta, unusedOfKimi, withKimiDelta } from "../../blocks/recurrent/kimiDelta.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Ling 3, Ring 3: delta attention with bounded decays, in some layers gated latent attention, experts with bounded activations. */
export const family: Family = async (file) => {
  const latent = readLatent(file);
  const delta = { ...readKimiDelta(file), bound: { lower: readLowerBound(file), rates: "positive" as const } };
  const config = withLatentCache(withKimiDelta(readConfig(file, { isHybrid: true }), delta), latent);
  const rope = readRope(file, "norm", { keyLength: latent.ropeLength });
  const [bounds, sharedBounds] = [readLayerNumbers(file, "swiglu_clamp_exp"), readLayerNumbers(file, "swiglu_clamp_shexp")];
  const feedForward = await openFeedForward(file, { experts: { ...storedExperts(file), shared: "plain" } });
  const scale = 1 / Math.sqrt(latent.keyLength);
  const layerOf = (layer: Layer, x: Value): Value => {
    const { config, program } = layer.model;
    const input = layer.norm("attn_norm", x);
    const mixed = config.hasCache(layer.index)
      ? latentAttention(layer, input, latent, { rope, scale, gate: layer.attentionGate(input, "head") })
      : kimiDeltaBlock(layer, input, delta);
    const middle = program.add(layer.pick(x), mixed);
    const sharedActivation = bounded(sharedBounds(layer.index), "after");
    const isMixed = layer.weights.has("ffn_gate_inp.weight");
    const activation = isMixed ? bounded(bounds(layer.index), "after") : sharedActivation;
    return program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle), { activation, sharedActivation }));
  };
  return {
    config,
    forward(m) {
      m.ignore(...unusedOfKimi, "blk.*.attn_output.scale");
      let x = embed(m);
      for (const layer of layersOf(m)) x = layerOf(layer, layer.enter(x));
      return logits(m, outputNorm(m, x));
    },
    ...nextnOf(config, layerOf),
  };
};

/** The lower bound of the decays' logarithms. @throws {UnsupportedError} for a file without one */
function readLowerBound(file: MetadataReader): number {
  const bound = file.number("kda.gate_lower_bound") ?? 0;
  if (bound < 0 && file.bool("kda.safe_gate") !== false) return bound;
  throw new UnsupportedError(
    `${file.key("kda.gate_lower_bound")} = ${bound}`,
    "decays of this family are computed with a bound below 0 and kda.safe_gate",
  );
}
