import type { Gating } from "@centella/core/backend";

/**
 * A model family as data: how it differs from Llama, which is pre-norm with root-mean-square norms, sequential residuals, grouped
 * queries without norms, rotary positions in every layer and a gated SiLU feed-forward part. Whatever is left out is as there.
 */
export interface Family {
  /** As `general.architecture` spells it. */
  readonly name: string;
  /** Whether logits of this family were compared with those of another implementation. */
  readonly isVerified: boolean;
  /** Mean-centred norms with biases ("layer"), or root-mean-square ones. */
  readonly norm?: "rms" | "layer";
  /**
   * Whether a block normalises the inputs of its two parts (the usual), their outputs, or both; or the sums of its input and the
   * first part and of that and the second, by `attn_output_norm` and `layer_output_norm`, with nothing behind the last block.
   */
  readonly norms?: "before" | "after" | "around" | "sums";
  /** Whether tokens see those after them, as in BERT: the model embeds texts. */
  readonly isEncoder?: boolean;
  /** Whether the first row of `token_types` is added to the embeddings: all of a text is of one type. */
  readonly tokenTypes?: boolean;
  /**
   * Whether both parts of a block read the block's input and are added to it together: always, in files without a norm before the
   * feed-forward part, or as `use_parallel_residual` says. Without such a norm the two share the attention's.
   */
  readonly parallel?: "always" | "withoutFeedForwardNorm" | "fromFile";
  /**
   * Where positions enter: rotated queries and keys, a learned table `position_embd` that is added to the embeddings, or elsewhere
   * ({@link AttentionRule.alibi}, recurrent layers).
   */
  readonly positions: RopeRule | "learned" | "learnedIfPresent" | "none";
  /** Whether the embeddings are normalised by `token_embd_norm`. */
  readonly embeddingNorm?: boolean;
  /** Factor of the embeddings: the square root of their width, or `embedding_scale`, and its value where the file has none. */
  readonly embeddingScale?: "sqrtWidth" | { readonly fallback: number };
  readonly attention?: AttentionRule;
  /** Layers with states instead of attention: those that the file gives no key-value heads, or all. */
  readonly recurrent?: RecurrentRule;
  readonly feedForward?: FeedForwardRule;
  /** Of blocks whose feed-forward part is chosen among experts: those with a tensor `ffn_gate_inp`. */
  readonly experts?: ExpertsRule;
  /** Whether `residual_scale` multiplies what each part of a block adds, and its value by the number of layers where the file has none. */
  readonly residualScale?: { readonly fallback: (layers: number) => number };
  readonly logits?: LogitsRule;
  /** Name of the norm after the last block. Default `output_norm`. */
  readonly outputNorm?: "token_embd_norm";
  /** Tensors that a file may have and that take no part in the logits. */
  readonly ignored?: readonly string[];
}

/** Rotary positions of a family. */
export interface RopeRule {
  /** See the `rope` op. */
  readonly pairing: "interleaved" | "half";
  /** Layers that rotate: all, those with a window (all if the model has none), or all but each n-th (no positions there). */
  readonly layers?: "windowed" | { readonly allBut: number };
  /**
   * Whether `rope.dimension_sections` holds: in such a file of a model that also sees pictures pairs are halves, and a text's tokens have
   * one position in all sections.
   */
  readonly sections?: boolean;
  /** Layer count of the one model of the family that rotates. */
  readonly onlyAt?: number;
  /** Whether `rope.scaling.finetuned = false` means that nothing is rotated. */
  readonly switchedByFinetuned?: boolean;
}

/** Attention of a family. */
export interface AttentionRule {
  /**
   * Norms of queries and keys before they are rotated: of each head with one weight, of all heads as one vector (where
   * optional, the queries' norm decides for both), or of each head with a weight of its own where the file has them ("layer" norms).
   */
  readonly queryKeyNorm?: "head" | "all" | "optionalAll" | "optionalPerHead";
  /** Whether these norms come after the rotation. */
  readonly normsRotated?: boolean;
  /** Keys and values from one latent vector of each token (multi-head latent attention). */
  readonly latent?: boolean;
  /** Bias that grows with distance (ALiBi): what `attention.max_alibi_bias` says, or a value, if need be of one layer count alone. */
  readonly alibi?: "fromFile" | { readonly maxBias: number; readonly onlyAt?: number };
  /** Whether a bias of the output projection is left out, as llama.cpp does. */
  readonly ignoresOutputBias?: boolean;
  /** Whether `attention.clamp_kqv` bounds queries, keys and values. */
  readonly clamp?: boolean;
  /** Whether each head has a score `attn_sinks` for attending to nothing. */
  readonly sinks?: boolean;
  /** Whether `attn_logit_softcapping` holds, and its value where the file has none. */
  readonly softcap?: { readonly fallback: number };
  readonly window?: WindowRule;
  /** Layer count of the one model of the family that scales scores by `1 / sqrt(embeddingLength / heads)` whatever its head size. */
  readonly widthScaledLayers?: number;
  /**
   * `attention.temperature_scale` holds: the further into a text, the sharper the attention, in steps of `attention.temperature_length`
   * tokens or of the context of the first training.
   */
  readonly temperature?: "byLength" | "byOriginalContext";
  /** Whether `attention.scale` in the file holds. */
  readonly scaleFromFile?: boolean;
}

/** Sliding windows of a family: `attention.sliding_window` and `attention.sliding_window_pattern`. */
export interface WindowRule {
  /** Tokens where the file names none; without it such files have no windows. */
  readonly fallback?: number;
  /** Every n-th layer has no window, where the file does not say otherwise. */
  readonly period: number;
  /** Whether layers with a window have a rope base of their own, `rope.freq_base_swa`, and its value where the file has none (default: that of the others). */
  readonly ownRopeBase?: { readonly fallback?: number };
  /** Whether layers with a window rotate by plain positions although the others scale them. */
  readonly unscaledRope?: boolean;
  /** Layer count of the one model of the family that has windows. */
  readonly onlyAt?: number;
}

/** Feed-forward part of a family. */
export interface FeedForwardRule {
  /** `down(act(gate(x)) · up(x))`, the same with gate and up in one tensor `ffn_up`, or `down(act(up(x)))`; "none" in blocks without. */
  readonly kind?: "gated" | "fusedGate" | "plain" | "none";
  /** "swigluOai" (OpenAI, 2025, "gpt-oss"): `min(g, 7) · sigmoid(1.702 · min(g, 7)) · (clip(u, ±7) + 1)` of gate and up. */
  readonly activation?: "silu" | "gelu" | "squaredRelu" | "swigluOai";
  /** Name of the norm before it. Default `ffn_norm`. */
  readonly norm?: "post_attention_norm";
  /** Whether `.scale` tensors of its weights hold; llama.cpp leaves them out where this does. */
  readonly scales?: boolean;
  /** Whether biases are left out, as llama.cpp does. */
  readonly ignoresBiases?: boolean;
}

/** Mixture of experts of a family. */
export interface ExpertsRule {
  /** How the gates are made where `expert_gating_func` does not say. Default "softmax". */
  readonly gating?: Gating;
  /** Whether the weights of the chosen experts are divided by their sum: always, or if `expert_weights_norm` says so. */
  readonly normalize?: "always" | "fromFile";
  /** Whether `expert_weights_scale` multiplies the weights. */
  readonly scaleFromFile?: boolean;
  /**
   * An expert that is always taken, if need be weighted by the sigmoid of a gate of its own; or only in files whose
   * `expert_shared_feed_forward_length` gives it a size.
   */
  readonly shared?: "plain" | "gated" | "ifSized";
  /** Whether `.scale` tensors of the experts hold. */
  readonly scales?: boolean;
}

/** Layers with states. */
export interface RecurrentRule {
  /** Selective state spaces, if need be with norms of their inputs (Jamba), those with heads (Mamba 2), or short convolutions (LFM2). */
  readonly kind: "mamba" | "mamba2" | "shortConv";
  readonly layers: "all" | "withoutHeads";
}

/** What happens to the logits. */
export interface LogitsRule {
  /** Whether `logit_scale` multiplies or divides them. */
  readonly scale?: "multiply" | "divide";
  /** Its value by the width of the embeddings where the file has none; without it the file must have one. */
  readonly scaleFallback?: (width: number) => number;
  /** Whether `final_logit_softcapping` holds, and its value where the file has none; 0 is none. */
  readonly softcap?: { readonly fallback: number };
}
