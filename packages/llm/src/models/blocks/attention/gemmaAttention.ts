import { UnsupportedError, type Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { HeadSizes } from "../../../load/modelShape.ts";
import type { ModelConfig } from "../../config.ts";
import type { Heads, Layer } from "../layer.ts";
import { ones } from "../section.ts";
import { applyRope, type RopeConfig } from "./rope.ts";
import type { SlidingWindow } from "./window.ts";

/** Attention of Gemma 3n and 4: values have norms, and the last layers attend to keys and values of earlier ones. */
export interface GemmaAttention {
  readonly windows: SlidingWindow;
  readonly ropeOf: (layer: number) => RopeConfig;
  /** Layers, from the first on, that have keys and values of their own. */
  readonly ownCaches: number;
}

/** `x [T, d] -> [n, d]`, the rows that {@link Layer.pick} leaves. */
export function gemmaAttention(layer: Layer, x: Value, { windows, ropeOf, ownCaches }: GemmaAttention): Value {
  const { model, index } = layer;
  const rope = ropeOf(index);
  const options = { scale: 1, window: windows.at(index) };
  if (index < ownCaches) return layer.attention(layer.rope(heads(layer, x), rope), options);
  layer.weights.ignore("attn_k.weight", "attn_v.weight", "attn_k_norm.weight");
  const q = applyRope(model, rope, queries(layer, x));
  return layer.attentionOutput(model.attendTo(sharedLayer(ownCaches, windows, index), q, { ...options, causal: true }));
}

/** The config with caches of the first layers alone. @throws {UnsupportedError} if a layer would share one of another kind */
export function withSharedCaches(file: MetadataReader, config: ModelConfig, windows: SlidingWindow, ownCaches: number): ModelConfig {
  for (let layer = ownCaches; layer < config.layers; layer++) {
    const from = sharedLayer(ownCaches, windows, layer);
    const isAlike = from >= 0 && windows.at(from) === windows.at(layer) && isEqual(config.headsOf(from), config.headsOf(layer));
    if (!isAlike)
      throw new UnsupportedError(
        `${file.architecture} with ${ownCaches} layers of keys and values`,
        `layer ${layer} would attend to those of layer ${from}, whose window or heads are not its own`,
      );
  }
  return { ...config, hasCache: (layer) => layer < ownCaches };
}

/** The layer whose keys and values a later one attends to: the last but one has a window, the last has none. */
function sharedLayer(ownCaches: number, windows: SlidingWindow, layer: number): number {
  return ownCaches - (windows.at(layer) > 0 ? 2 : 1);
}

function isEqual(a: HeadSizes, b: HeadSizes): boolean {
  return a.kvHeads === b.kvHeads && a.keyLength === b.keyLength && a.valueLength === b.valueLength;
}

/** Without a matrix for values the keys are these too, before their norms. */
function heads(layer: Layer, x: Value): Heads {
  const { program, T, config } = layer.model;
  const { kvHeads, keyLength } = config.headsOf(layer.index);
  const project = (name: string): Value =>
    program.reshape(layer.linear(name, x, { rows: kvHeads * keyLength }), { shape: [T, kvHeads, keyLength] });
  const keys = project("attn_k");
  const values = layer.weights.has("attn_v.weight") ? project("attn_v") : keys;
  const v = program.rmsNorm(values, ones(program, keyLength), { eps: config.epsilon });
  return { q: queries(layer, x), k: layer.norm("attn_k_norm", keys), v };
}

function queries(layer: Layer, x: Value): Value {
  const { program, T, config } = layer.model;
  const { heads: H, keyLength } = config.headsOf(layer.index);
  const q = program.reshape(layer.linear("attn_q", x, { rows: H * keyLength }), { shape: [T, H, keyLength] });
  return layer.norm("attn_q_norm", q);
}
