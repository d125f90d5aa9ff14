import { UnsupportedError, type Value } from "@centella/core";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { ExpertsCall, ExpertsOptions } from "./experts.ts";
import type { FeedForwardOptions } from "./feedForward.ts";
import type { Layer } from "./layer.ts";

/** A layer's feed-forward part: `x [n, d] -> [n, d]`, with the options of all layers and those of the call. */
export type FeedForward = (layer: Layer, x: Value, options?: ExpertsCall) => Value;

export interface MixedFeedForward {
  readonly feedForward?: FeedForwardOptions;
  /** Of layers that have a tensor `ffn_gate_inp`; a family without these options has no experts. */
  readonly experts?: ExpertsOptions | undefined;
}

/** How a file mixes experts by its own account: `expert_weights_norm`, `expert_weights_scale`, and a shared expert if it counts one. */
export function storedExperts(file: MetadataReader): ExpertsOptions {
  return {
    normalize: file.bool("expert_weights_norm") === true,
    scale: file.positive("expert_weights_scale"),
    shared: file.number("expert_shared_count") === undefined ? undefined : "plain",
  };
}

/**
 * Returns the feed-forward part of a model in which some layers may be mixtures of experts. Code for experts is loaded if the file has any.
 * @throws {ModelError | UnsupportedError}
 */
export async function openFeedForward(
  file: MetadataReader,
  { feedForward: options = {}, experts: rule }: MixedFeedForward,
): Promise<FeedForward> {
  const moe = rule && file.size("expert_count") !== undefined ? await import("./experts.ts") : undefined;
  const config = rule && moe?.readExperts(file, rule);
  return (layer, x, own) => {
    if (!layer.weights.has("ffn_gate_inp.weight")) return layer.feedForward(x, { ...options, ...own });
    if (moe !== undefined && config !== undefined) return moe.experts(layer, x, config, { ...options, ...own });
    throw new UnsupportedError(
      `${file.architecture} with experts`,
      `this family is computed without experts, the file has ${layer.weights.nameOf("ffn_gate_inp")}`,
    );
  };
}
