import type { Value } from "@centella/core";
import { ModelError } from "../../../errors.ts";
import type { HeadSizes } from "../../../load/modelShape.ts";
import { type AttendCompressed, readCompressedAttention } from "../../blocks/attention/compressedAttention.ts";
import { groupedOutput, type OutputGroups } from "../../blocks/attention/groupedOutput.ts";
import { applyRopeToEnd, type RopeConfig, readRope, unscaled } from "../../blocks/attention/rope.ts";
import { bounded } from "../../blocks/boundedActivation.ts";
import { embed, keepStates, lastNorm, logits } from "../../blocks/ends.ts";
import { collapse, connect, copies, type HyperConnections, readHyperConnections } from "../../blocks/hyperConnections.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { readLayerNumbers } from "../../blocks/layerSizes.ts";
import { nextnOf } from "../../blocks/nextnOf.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { unitNorm } from "../../blocks/section.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** DeepSeek V4: hyper-connections, attention to compressed blocks, experts that in the first layers are chosen by the token alone. */
export const family: Family = async (file) => {
  const compressed = readCompressedAttention(file);
  const keyLength = file.requiredSize("attention.key_length");
  const heads = file.requiredSize("attention.head_count");
  const { count, epsilon } = readHyperConnections(file);
  const mixingRounds = file.requiredTokens("hyper_connection.sinkhorn_iterations");
  const connections: HyperConnections = { count, epsilon, output: { least: 0, range: 2 }, mixingRounds };
  // Layers with blocks keep the keys of blocks as a second head.
  const headsOf = (layer: number): HeadSizes => ({
    heads,
    kvHeads: compressed.blockLengthOf(layer) > 0 ? 2 : 1,
    keyLength,
    valueLength: keyLength,
  });
  const config = {
    ...readConfig(file, { headsOf, feedForwardLength: file.requiredWidth("expert_feed_forward_length") }),
    extraCache: compressed.extraCache,
    keptLength: count * file.requiredSize("embedding_length"),
  };
  const attention: AttentionSizes = {
    queryRank: file.requiredSize("attention.q_lora_rank"),
    groups: file.requiredSize("attention.output_group_count"),
    outputRank: file.requiredSize("attention.output_lora_rank"),
    window: file.requiredTokens("attention.sliding_window"),
    localRope: unscaled(readRope(file, "norm", { keyLength })),
    blockRope: {
      ...readRope(file, "norm", { keyLength, base: file.requiredPositive("attention.compress_rope_freq_base") }),
      magnitude: 1,
    },
  };
  file.finish();
  if (heads % attention.groups !== 0)
    throw new ModelError(
      `metadata: expected ${file.key("attention.head_count")} to be a multiple of attention.output_group_count ${attention.groups}, got ${heads}; convert the model again`,
    );
  const bounds = readLayerNumbers(file, "swiglu_clamp_exp");
  const sharedBounds = file.metadata.has(file.key("swiglu_clamp_shexp")) ? readLayerNumbers(file, "swiglu_clamp_shexp") : bounds;
  const used = file.requiredSize("expert_used_count");
  const feedForward = await openFeedForward(file, { experts: { ...storedExperts(file), shared: "plain" } });
  const layerOf = (layer: Layer, states: Value, attend?: AttendCompressed): Value => {
    const attended = connect(layer, "attn", states, connections);
    const middle = attended.after(attentionPart(layer, layer.norm("attn_norm", attended.input), attention, attend));
    const fed = connect(layer, "ffn", middle, connections);
    const activation = bounded(bounds(layer.index), "before");
    const sharedActivation = bounded(sharedBounds(layer.index), "before");
    const ids = expertsByToken(layer, used);
    return fed.after(feedForward(layer, layer.norm("ffn_norm", fed.input), { activation, sharedActivation, ids }));
  };
  return {
    config,
    forward(m) {
      m.ignore("blk.*.exp_probs_b_vl.bias");
      const attendCompressed = compressed.open(m, attention.blockRope);
      let states = copies(m, embed(m), count);
      for (const layer of layersOf(m))
        states = layerOf(layer, states, compressed.blockLengthOf(layer.index) > 0 ? attendCompressed : undefined);
      return logits(m, lastNorm(m, collapse(m, keepStates(m, states), connections)));
    },
    ...nextnOf(config, layerOf, { keepsUnnormed: true, connections }),
  };
};

interface AttentionSizes extends OutputGroups {
  readonly queryRank: number;
  readonly window: number;
  /** Rope of layers without blocks, and of those with blocks. */
  readonly localRope: RopeConfig;
  readonly blockRope: RopeConfig;
}

/** `x [T, d] -> [n, d]` */
function attentionPart(layer: Layer, x: Value, sizes: AttentionSizes, attendCompressed: AttendCompressed | undefined): Value {
  const { model, index, weights } = layer;
  const { program, T, positions, config } = model;
  const { heads: H, keyLength: D } = config.headsOf(index);
  const rope = attendCompressed === undefined ? sizes.localRope : sizes.blockRope;
  const queries = layer.norm("attn_q_a_norm", layer.unscaledProduct("attn_q_a", x, { rows: sizes.queryRank }));
  const projected = program.reshape(layer.unscaledProduct("attn_q_b", queries, { rows: H * D }), { shape: [T, H, D] });
  const q = applyRopeToEnd(model, rope, unitNorm(model, projected));
  const normedKey = layer.norm("attn_kv_a_norm", layer.unscaledProduct("attn_kv", x, { rows: D }));
  const key = applyRopeToEnd(model, rope, program.reshape(normedKey, { shape: [T, 1, D] }));
  const options = { scale: 1 / Math.sqrt(D), sinks: weights.vector("attn_sinks.weight", H) };
  const y =
    attendCompressed === undefined
      ? model.attend(index, q, key, key, { ...options, window: sizes.window })
      : attendCompressed(layer, { x, queries, q, key, ...options });
  // Values are keys: their rotation is undone by that of the query's position.
  const unrotated = applyRopeToEnd(model, rope, y, program.sub(program.constant(Int32Array.of(0), "i32", [1]), positions));
  return groupedOutput(layer, unrotated, sizes);
}

/** The experts of each token `[n, k]` by a table of the vocabulary, if the layer has one. */
function expertsByToken(layer: Layer, used: number): Value | undefined {
  const { model, weights } = layer;
  const { program, tokens, config } = model;
  if (!weights.has("ffn_gate_tid2eid.weight")) return undefined;
  const table = weights.integers("ffn_gate_tid2eid.weight", [config.vocabSize, used]);
  return program.gather(table, layer.pick(tokens));
}
