import type { Value } from "@centella/core";
import type { DraftDescription, ModelBuilder } from "../../model/modelBuilder.ts";
import type { ModelConfig } from "../config.ts";
import { slotsInOrder } from "./attention/indexer.ts";
import { embeddingTable, lastNorm, logits } from "./ends.ts";
import { collapse, copies, type HyperConnections } from "./hyperConnections.ts";
import { Layer } from "./layer.ts";
import { Section } from "./section.ts";

/** The layer of the block: `x [T, d] -> [n, d]`, or `[T, S, d] -> [n, S, d]` with hyper-connections of S states. */
export type NextnLayer = (layer: Layer, x: Value) => Value;

/** How a block differs from that of DeepSeek V3. */
export interface NextnTraits {
  /** Whether the states that are kept are those before the last norm. */
  readonly keepsUnnormed?: boolean;
  /** Hyper-connections of the block's layer. All states of a token are kept. */
  readonly connections?: Pick<HyperConnections, "count" | "epsilon">;
  /** The norm before the output layer, `[n, d] -> [n, d]`. Default: the block's own, or that of the model. */
  readonly norm?: (layer: Layer, y: Value) => Value;
  /** Factor of the logits. Default 1. */
  readonly logitScale?: number;
}

/**
 * The first block after a model's layers, which predicts the token after the next one (DeepSeek-AI, 2024, "DeepSeek-V3", section 2.2): for position p, by
 * the model's state of p and the token at p + 1. Further tokens are predicted by its own states and tokens.
 */
export function nextnBlock(
  config: ModelConfig,
  block: NextnLayer,
  { keepsUnnormed = false, connections, norm = lastNormOf, logitScale = 1 }: NextnTraits = {},
): DraftDescription {
  const index = config.layers;
  return {
    // A model of this layer alone, whose number is that of the block.
    config: { ...config, layers: index + 1, nextnBlocks: config.nextnBlocks - 1, hasCache: (layer) => layer === index, states: [] },
    keeps: { width: config.keptLength ?? config.embeddingLength },
    forward(m) {
      const layer = new Layer(m, index, `blk.${index}`);
      const y = m.pick(block(layer, blockInput(layer, connections?.count)));
      const normed = norm(layer, connections === undefined ? y : collapse(m, y, connections));
      m.kept.write(keepsUnnormed ? y : normed, m.pick(nextSlots(m)));
      if (!layer.weights.has("nextn.shared_head_head.weight")) return logits(m, normed, { scale: logitScale });
      return m.scale(layer.linear("nextn.shared_head_head", normed, { rows: config.vocabSize }), logitScale);
    },
  };
}

/** Tokens and kept states, `[T, d]`, or `[T, S, d]` where each token has S states. */
function blockInput(layer: Layer, count: number | undefined): Value {
  const { model: m, weights } = layer;
  const { program, T } = m;
  const { embeddingLength: d, vocabSize } = m.config;
  const table = weights.has("nextn.embed_tokens.weight")
    ? weights.matrix("nextn.embed_tokens.weight", [vocabSize, d])
    : embeddingTable(new Section(m, "input"));
  const token = layer.norm("nextn.enorm", m.lookUp(table, m.tokens));
  const kept = count === undefined ? m.kept.read() : program.reshape(m.kept.read(), { shape: [T, count, d] });
  const state = layer.norm("nextn.hnorm", kept);
  const both = program.concat([count === undefined ? token : copies(m, token, count), state], { axis: -1 });
  return layer.linear("nextn.eh_proj", both, { rows: d });
}

/** The norm of the block, which files name in two ways, or the model's. */
function lastNormOf(layer: Layer, y: Value): Value {
  const own = ["nextn.shared_head_norm", "layer_output_norm"].find((name) => layer.weights.has(`${name}.weight`));
  return own === undefined ? lastNorm(layer.model, y) : layer.norm(own, y);
}

/** Slots of the positions after those of the tokens, `[T]`. */
export function nextSlots(m: ModelBuilder): Value {
  const { program, positions, T } = m;
  const slots = slotsInOrder(m);
  const number = (value: number): Value => program.constant(Int32Array.of(value), "i32", [1]);
  const next = program.minimum(program.add(positions, number(1)), number(Number(slots.spec.shape[1]) - 1));
  return program.reshape(program.takeAlongAxis(slots, program.reshape(next, { shape: [T, 1] }), { axis: 1 }), { shape: [T] });
}
