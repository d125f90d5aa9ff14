import type { Dim, Value } from "@centella/core";
import { attendsAhead } from "../../load/modelShape.ts";
import type { AttendOptions, ModelBuilder } from "../../model/modelBuilder.ts";
import { applyRope, ignoreRopeFactors, type RopeConfig } from "./attention/rope.ts";
import { type FeedForwardOptions, feedForward } from "./feedForward.ts";
import { Section, unitNorm } from "./section.ts";

/** Queries `[T, H, dK]`, keys `[T, Hkv, dK]` and values `[T, Hkv, dV]`. */
export interface Heads {
  readonly q: Value;
  readonly k: Value;
  readonly v: Value;
}

export interface HeadsOptions {
  /**
   * Norms of queries and keys: of each head with one weight, of all heads as one vector, or of each head with a weight of its own. Optional
   * norms apply if the file has them; for "allIfPresent", the queries' norm decides for both.
   */
  readonly norm?: "head" | "headIfPresent" | "all" | "allIfPresent" | "perHeadIfPresent" | undefined;
  /** Bound of queries, keys and values before their norms; 0 is none. */
  readonly clamp?: number;
}

export interface LayerAttention extends AttendOptions {
  /** Factors of what heads return; see {@link Layer.attentionGate}. */
  readonly gate?: Value;
  /** Name of a norm of all heads' outputs, before they are projected. */
  readonly norm?: string;
}

/** The layers of a model, one after the other. Layers with the same block of the file share its weights, but neither caches nor states. */
export function* layersOf(model: ModelBuilder, blockOf: (layer: number) => string = (layer) => `blk.${layer}`): Generator<Layer> {
  const { layers, nextnBlocks } = model.config;
  for (let index = 0; index < layers; index++) {
    yield new Layer(model, index, blockOf(index));
    model.weights.failEarly();
  }
  for (let index = layers; index < layers + nextnBlocks; index++) model.weights.ignoreAll(`blk.${index}.`);
  ignoreRopeFactors(model);
}

/** Shared blocks of one layer, whose weights have names such as `blk.{block}.attn_q.weight`. */
export class Layer extends Section {
  readonly index: number;

  constructor(model: ModelBuilder, index: number, block: string) {
    super(model, index, `${block}.`);
    this.index = index;
    // Old files store the frequencies of rope, which the op computes.
    this.weights.ignore("attn_rot_embd.weight");
  }

  /** Notes the layer's input, which drafts may depend on, and returns it. */
  enter(x: Value): Value {
    return this.model.kept.noteInput(this.index, x);
  }

  /** The rows of `x [T, …]` that the rest of the layer needs: all of them, or the requested `[nOut, …]` in the last layer, after its attention. */
  pick(x: Value): Value {
    const { config, kept } = this.model;
    return this.index !== config.layers - 1 || kept.hasLast ? x : this.model.pick(x);
  }

  /** Heads of `x [T, d]`, from one matrix `attn_qkv` or from three. */
  qkv(x: Value, { norm, clamp = 0 }: HeadsOptions = {}): Heads {
    const { program, T, config } = this.model;
    const { heads, kvHeads, keyLength, valueLength } = config.headsOf(this.index);
    const isFused = this.weights.has("attn_qkv.weight");
    const of = heads * keyLength + kvHeads * (keyLength + valueLength);
    const part = (name: string, from: number, rows: number): Value => {
      const y = isFused ? this.linear("attn_qkv", x, { rows, from, of }) : this.linear(name, x, { rows });
      return clamp === 0 ? y : program.clip(y, { min: -clamp, max: clamp });
    };
    const q = part("attn_q", 0, heads * keyLength);
    const k = part("attn_k", heads * keyLength, kvHeads * keyLength);
    const v = part("attn_v", (heads + kvHeads) * keyLength, kvHeads * valueLength);
    return {
      q: this.#normed("attn_q_norm", q, [heads, keyLength], norm),
      k: this.#normed("attn_k_norm", k, [kvHeads, keyLength], norm),
      v: program.reshape(v, { shape: [T, kvHeads, valueLength] }),
    };
  }

  /** Rotates queries and keys by the tokens' positions; without a config they stay unchanged. */
  rope({ q, k, v }: Heads, rope: RopeConfig | undefined): Heads {
    return rope === undefined ? { q, k, v } : { q: applyRope(this.model, rope, q), k: applyRope(this.model, rope, k), v };
  }

  /** Writes keys and values to the layer's cache, attends and projects: `[n, d]`, the rows that {@link pick} leaves. */
  attention({ q, k, v }: Heads, { gate, norm, ...options }: LayerAttention = {}): Value {
    const { config, program } = this.model;
    const scale = options.scale ?? 1 / Math.sqrt(config.headsOf(this.index).keyLength);
    const y = this.model.attend(this.index, q, k, v, { causal: !attendsAhead(config), ...options, scale });
    return this.attentionOutput(gate === undefined ? y : program.mul(y, gate), norm);
  }

  /** Factors from 0 to 1 of what heads return, `[T, H, dV]` or `[T, H, 1]`, by the attention's input `x [T, d]`. */
  attentionGate(x: Value, kind: "element" | "head", valueLength: number = this.model.config.headsOf(this.index).valueLength): Value {
    const { program, T, config } = this.model;
    const { heads } = config.headsOf(this.index);
    const size = kind === "head" ? 1 : valueLength;
    const gate = this.linear("attn_gate", x, { rows: heads * size });
    return program.reshape(program.sigmoid(gate), { shape: [T, heads, size] });
  }

  /** `y [T, H, dV] -> [n, d]`, the rows that {@link pick} leaves. */
  attentionOutput(y: Value, norm?: string): Value {
    const { program, T, config } = this.model;
    const [, heads, size] = y.spec.shape as readonly [Dim, number, number];
    const flat = program.reshape(y, { shape: [T, heads * size] });
    const picked = this.pick(flat);
    return this.linear("attn_output", norm === undefined ? picked : this.norm(norm, picked), { rows: config.embeddingLength });
  }

  /** `[n, d] -> [n, d]` */
  feedForward(x: Value, options: FeedForwardOptions = {}): Value {
    return feedForward(this, x, options);
  }

  /** `y [T, heads · size] -> [T, heads, size]` */
  #normed(name: string, y: Value, [heads, size]: readonly [number, number], norm: HeadsOptions["norm"]): Value {
    const { program, T } = this.model;
    const split = (z: Value): Value => program.reshape(z, { shape: [T, heads, size] });
    switch (norm) {
      case undefined:
        return split(y);
      case "head":
        return this.norm(name, split(y));
      case "headIfPresent":
        return this.weights.has(`${name}.weight`) ? this.norm(name, split(y)) : split(y);
      case "all":
        return split(this.norm(name, y));
      case "allIfPresent": {
        if (this.weights.has("attn_q_norm.weight")) return split(this.norm(name, y));
        this.weights.ignore(`${name}.weight`, `${name}.bias`);
        return split(y);
      }
      case "perHeadIfPresent":
        if (!this.weights.has(`${name}.weight`)) return split(y);
        return program.mul(unitNorm(this.model, split(y)), this.weights.vector(`${name}.weight`, [heads, size]));
    }
  }
}
