import type { FeedForwardOptions } from "../../blocks/feedForward.ts";
import type { Layer } from "../../blocks/layer.ts";
import type { Family } from "../../family.ts";
import { bertModel } from "./bert.ts";

/** Jina Embeddings 2: BERT with ALiBi to both sides. */
export const family: Family = (file) => bertModel(file, { alibi: 8, feedForwardOf: storedKind });

/** Files have gates of their own, gates in one tensor with what they multiply, or none. */
function storedKind({ weights, model }: Layer): FeedForwardOptions {
  if (weights.has("ffn_gate.weight")) return { kind: "gated", activation: "gelu" };
  const [rows] = weights.shape("ffn_up.weight") ?? [];
  return { kind: rows === 2 * model.config.feedForwardLength ? "fusedGate" : "plain", activation: "gelu" };
}
