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
  /** Whether a block normalises the inputs of its two parts (the usual), their outputs, or both. */
  readonly norms?: "before" | "after" | "around";
  /**
   * Whether both parts of a block read the block's input and are added to it together: always, in files without a norm before the
   * feed-forward part, or as `use_parallel_residual` says. Without such a norm the two share the attention's.
   */
  readonly parallel?: "always" | "withoutFeedForwardNorm" | "fromFile";
  /** Where positions enter: rotated queries and keys, or a learned table `position_embd` that is added to the embeddings. */
  readonly positions: RopeRule | "learned";
  /** Factor of the embeddings: the square root of their width, or `embedding_scale`. */
  readonly embeddingScale?: "sqrtWidth" | "metadata";
  readonly attention?: AttentionRule;
  readonly feedForward?: FeedForwardRule;
  /** Whether `residual_scale` multiplies what each part of a block adds. */
  readonly residualScale?: boolean;
  readonly logits?: LogitsRule;
  /** Tensors that a file may have and that take no part in the logits. */
  readonly ignored?: readonly string[];
}

/** Rotary positions of a family. */
export interface RopeRule {
  /** See the `rope` op. */
  readonly pairing: "interleaved" | "half";
  /** Layers that rotate: all, those with a window (all if the model has none), or all but each n-th (no positions there). */
  readonly layers?: "windowed" | { readonly allBut: number };
  /** Whether `rope.scaling.finetuned = false` means that nothing is rotated. */
  readonly switchedByFinetuned?: boolean;
}

/** Attention of a family. */
export interface AttentionRule {
  /**
   * Norms of queries and keys before they are rotated: of each head with one weight, of all heads as one vector, or of each
   * head with a weight of its own where the file has them ("layer" norms).
   */
  readonly queryKeyNorm?: "head" | "all" | "optionalPerHead";
  /** Whether `attn_logit_softcapping` holds, and its value where the file has none. */
  readonly softcap?: { readonly fallback: number };
  readonly window?: WindowRule;
  /** Layer count of the one model of the family that scales scores by `1 / sqrt(embeddingLength / heads)` whatever its head size. */
  readonly widthScaledLayers?: number;
  /** Whether `attention.scale` in the file holds. */
  readonly scaleFromFile?: boolean;
}

/** Sliding windows of a family: `attention.sliding_window` and `attention.sliding_window_pattern`. */
export interface WindowRule {
  /** Tokens where the file names none; without it such files have no windows. */
  readonly fallback?: number;
  /** Every n-th layer has no window, where the file does not say otherwise. */
  readonly period: number;
  /** Rope base of layers with a window where the file names none. Default: that of the others. */
  readonly ropeBase?: number;
  /** Whether layers with a window rotate by plain positions although the others scale them. */
  readonly unscaledRope?: boolean;
}

/** Feed-forward part of a family. */
export interface FeedForwardRule {
  /** `down(act(gate(x)) · up(x))`, the same with gate and up in one tensor `ffn_up`, or `down(act(up(x)))`. */
  readonly kind?: "gated" | "fusedGate" | "plain";
  readonly activation?: "silu" | "gelu" | "squaredRelu";
  /** Name of the norm before it. Default `ffn_norm`. */
  readonly norm?: "post_attention_norm";
  /** Whether `.scale` tensors of its weights hold; llama.cpp leaves them out where this does. */
  readonly scales?: boolean;
}

/** What happens to the logits. */
export interface LogitsRule {
  /** Whether `logit_scale` multiplies or divides them. */
  readonly scale?: "multiply" | "divide";
  /** Whether `final_logit_softcapping` holds, and its value where the file has none; 0 is none. */
  readonly softcap?: { readonly fallback: number };
}
