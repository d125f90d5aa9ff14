import { readIndexer } from "../../blocks/attention/indexer.ts";
import { latentAttention, readLatent } from "../../blocks/attention/latentAttention.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { bounded } from "../../blocks/boundedActivation.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { collapse, connect, copies, type HyperConnections, readHyperConnections } from "../../blocks/hyperConnections.ts";
import { withLatentCache } from "../../blocks/latentTransformer.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readLayerNumbers } from "../../blocks/layerSizes.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Hy 4: hyper-connections, gated latent attention with sinks, in some files indexers; experts with bounded activations and a shared one. */
export const family: Family = async (file) => {
  const latent = readLatent(file);
  const { count, epsilon } = readHyperConnections(file);
  const output = { least: epsilon, range: file.requiredPositive("hyper_connection.magnitude") };
  const connections: HyperConnections = { count, epsilon, output, mixingRounds: 0 };
  const config = withLatentCache(readConfig(file), latent);
  const listed = file.flags("attention.indexer.types");
  const has = (layer: number): boolean => typeof listed !== "object" || listed[layer] === true;
  const indexer =
    file.number("attention.indexer.top_k") === undefined
      ? undefined
      : readIndexer(file, { ropeType: "norm", rotates: "last", epsilon: config.epsilon, has });
  const rope = readRope(file, "norm", { keyLength: latent.ropeLength });
  const scale = 1 / Math.sqrt(latent.keyLength);
  const bounds = readLayerNumbers(file, "swiglu_clamp_exp");
  const feedForward = await openFeedForward(file, { experts: { ...storedExperts(file), shared: "plain" } });
  return {
    config: { ...config, ...(indexer && { extraCache: indexer.extraCache }) },
    forward(m) {
      m.ignore("blk.*.attn_gate.scale", "blk.*.attn_output.scale");
      const chooser = indexer?.open(m, rope);
      let states = copies(m, embed(m), count);
      for (const layer of layersOf(m)) {
        const attention = connect(layer, "attn", states, connections);
        const input = layer.norm("attn_norm", attention.input);
        const { heads } = config.headsOf(layer.index);
        const attended = latentAttention(layer, input, latent, {
          rope,
          scale,
          gate: layer.attentionGate(input, "element", latent.valueLength),
          sinks: layer.weights.vector("attn_sinks.weight", heads),
          ...(chooser && { chooseKeys: (queries) => chooser(layer, input, queries) }),
        });
        states = attention.after(attended);
        const fed = connect(layer, "ffn", states, connections);
        const activation = bounded(bounds(layer.index), "before");
        const isMixed = layer.weights.has("ffn_gate_inp.weight");
        states = fed.after(feedForward(layer, layer.norm("ffn_norm", fed.input), isMixed ? { activation, sharedActivation: "silu" } : {}));
      }
      return logits(m, outputNorm(m, collapse(m, states, connections)));
    },
  };
};
