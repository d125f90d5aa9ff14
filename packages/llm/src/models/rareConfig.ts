import { UnsupportedError } from "@centella/core";
import type { Gating } from "@centella/core/backend";
import { ModelError } from "../errors.ts";
import type { MetadataReader } from "../load/metadataReader.ts";
import type { StateShape } from "../load/modelShape.ts";
import type { LatentConfig } from "./attentionConfig.ts";
import type { Family, RecurrentRule } from "./family.ts";
import type { ExpertsConfig, RecurrentConfig } from "./layerConfig.ts";

/** Hyperparameters that few models have: of experts, recurrent layers and latent attention. */

/** What `expert_gating_func` may say, by its number. */
const gatingFunctions: readonly (Gating | undefined)[] = [undefined, "softmax", "sigmoid", "softmaxOfChosen"];

/** @throws {ModelError | UnsupportedError} */
export function readExperts({ name, experts }: Family, reader: MetadataReader): ExpertsConfig | undefined {
  const count = reader.size("expert_count");
  // Without a rule the count says nothing yet: there are dense files that name one.
  if (count === undefined || experts === undefined) return undefined;
  const used = reader.size("expert_used_count");
  const gating = gatingFunctions[reader.number("expert_gating_func") ?? 0] ?? experts.gating ?? "softmax";
  if (used === undefined || used > count) {
    throw new ModelError(`metadata: expected ${name}.expert_used_count from 1 to ${count}, got ${used ?? "none"}; convert the model again`);
  }
  const unknown = reader.number("expert_gating_func");
  if (unknown !== undefined && gatingFunctions[unknown] === undefined)
    throw new UnsupportedError(
      `${name}.expert_gating_func = ${unknown}`,
      "the ones computed are 1 (softmax), 2 (sigmoid) and 3 (softmax of the chosen)",
    );
  return {
    count,
    used,
    gating,
    groups: reader.size("expert_group_count") ?? 1,
    openGroups: reader.size("expert_group_used_count") ?? 1,
    normalize: experts.normalize === "always" || (experts.normalize === "fromFile" && reader.bool("expert_weights_norm") === true),
    scale: (experts.scaleFromFile && reader.positive("expert_weights_scale")) || 1,
    isShared: experts.shared === "ifSized" ? reader.size("expert_shared_feed_forward_length") !== undefined : experts.shared !== undefined,
  };
}

/** @throws {ModelError} if the channels cannot be divided among heads, or these among groups */
export function readRecurrent(kind: RecurrentRule["kind"], reader: MetadataReader, embeddingLength: number): RecurrentConfig {
  if (kind === "shortConv")
    return {
      innerLength: embeddingLength,
      filteredLength: embeddingLength,
      taps: reader.requiredSize("shortconv.l_cache"),
      stateLength: 0,
      heads: 0,
      groups: 0,
      timeStepRank: 0,
      isNormed: false,
    };
  const innerLength = reader.requiredSize("ssm.inner_size");
  const stateLength = reader.requiredSize("ssm.state_size");
  const timeStepRank = reader.requiredSize("ssm.time_step_rank");
  const hasHeads = kind === "mamba2";
  const [heads, groups] = hasHeads ? [timeStepRank, reader.requiredSize("ssm.group_count")] : [innerLength, 1];
  if (innerLength % heads !== 0 || heads % groups !== 0)
    throw new ModelError(
      `metadata: expected ssm.inner_size to be a multiple of ssm.time_step_rank, and that of ssm.group_count, got ${innerLength}, ${heads} and ${groups}; convert the model again`,
    );
  return {
    innerLength,
    filteredLength: hasHeads ? innerLength + 2 * groups * stateLength : innerLength,
    taps: reader.requiredSize("ssm.conv_kernel"),
    stateLength,
    heads,
    groups,
    timeStepRank,
    isNormed: reader.bool("ssm.dt_b_c_rms") === true,
  };
}

/** Names of a layer's states. */
export function stateNames(layer: number): { readonly convolution: string; readonly scan: string } {
  return { convolution: `state.${layer}.convolution`, scan: `state.${layer}.scan` };
}

/** The states of the layers that have no cache. */
export function stateShapes(
  { innerLength, filteredLength, taps, stateLength, heads }: RecurrentConfig,
  layers: number,
  hasCache: (layer: number) => boolean,
): StateShape[] {
  return Array.from({ length: layers }, (_, layer) => layer)
    .filter((layer) => !hasCache(layer))
    .flatMap((layer) => {
      const { convolution, scan } = stateNames(layer);
      return [
        { name: convolution, shape: [taps - 1, filteredLength] },
        ...(stateLength > 0 ? [{ name: scan, shape: [heads, innerLength / heads, stateLength] }] : []),
      ];
    });
}

/** @throws {ModelError} naming every missing key at once */
export function readLatent(reader: MetadataReader): LatentConfig {
  const [keyLength, valueLength] = [reader.size("attention.key_length_mla"), reader.size("attention.value_length_mla")];
  const isAbsorbed = keyLength !== undefined && valueLength !== undefined;
  const rank = reader.requiredSize("attention.kv_lora_rank");
  const ropeLength = reader.requiredSize("rope.dimension_count");
  const latent = {
    isAbsorbed,
    queryRank: reader.size("attention.q_lora_rank") ?? 0,
    rank,
    keyLength: isAbsorbed ? keyLength : reader.requiredSize("attention.key_length"),
    ropeLength,
    valueLength: isAbsorbed ? valueLength : reader.requiredSize("attention.value_length"),
  };
  reader.finish();
  if (ropeLength < latent.keyLength) return latent;
  throw new ModelError(
    `metadata: expected rope.dimension_count below the key length ${latent.keyLength}, got ${ropeLength}; convert the model again`,
  );
}
