import { UnsupportedArchitectureError } from "../errors.ts";
import type { ModelHeader } from "../load/metadataReader.ts";
import type { ModelDescription } from "../model/modelBuilder.ts";
import { hasRareConfig, readModelConfig } from "./config.ts";
import { baichuan } from "./families/baichuan.ts";
import { bert } from "./families/bert.ts";
import { bloom } from "./families/bloom.ts";
import { cohere2 } from "./families/cohere2.ts";
import { commandR } from "./families/commandR.ts";
import { deepseek2 } from "./families/deepseek2.ts";
import { ernie45 } from "./families/ernie45.ts";
import { ernie45Moe } from "./families/ernie45Moe.ts";
import { exaone4 } from "./families/exaone4.ts";
import { falcon } from "./families/falcon.ts";
import { gemma } from "./families/gemma.ts";
import { gemma2 } from "./families/gemma2.ts";
import { gemma3 } from "./families/gemma3.ts";
import { glm4 } from "./families/glm4.ts";
import { gpt2 } from "./families/gpt2.ts";
import { gptneox } from "./families/gptneox.ts";
import { gptOss } from "./families/gptOss.ts";
import { granite } from "./families/granite.ts";
import { granitemoe } from "./families/granitemoe.ts";
import { hunyuanDense } from "./families/hunyuanDense.ts";
import { hunyuanMoe } from "./families/hunyuanMoe.ts";
import { internlm2 } from "./families/internlm2.ts";
import { jamba } from "./families/jamba.ts";
import { lfm2 } from "./families/lfm2.ts";
import { lfm2moe } from "./families/lfm2moe.ts";
import { llama } from "./families/llama.ts";
import { mamba } from "./families/mamba.ts";
import { mamba2 } from "./families/mamba2.ts";
import { minicpm } from "./families/minicpm.ts";
import { mistral3 } from "./families/mistral3.ts";
import { mpt } from "./families/mpt.ts";
import { nemotron } from "./families/nemotron.ts";
import { nomicBert } from "./families/nomicBert.ts";
import { olmo2 } from "./families/olmo2.ts";
import { olmoe } from "./families/olmoe.ts";
import { phi2 } from "./families/phi2.ts";
import { phi3 } from "./families/phi3.ts";
import { qwen2 } from "./families/qwen2.ts";
import { qwen2moe } from "./families/qwen2moe.ts";
import { qwen3 } from "./families/qwen3.ts";
import { qwen3moe } from "./families/qwen3moe.ts";
import { seedOss } from "./families/seedOss.ts";
import { smollm3 } from "./families/smollm3.ts";
import { stablelm } from "./families/stablelm.ts";
import { starcoder2 } from "./families/starcoder2.ts";
import { xverse } from "./families/xverse.ts";
import type { Family } from "./family.ts";
import { forward } from "./forward.ts";
import { loadRareLayers } from "./rareLayers.ts";

/** Their descriptions. */
export const families: readonly Family[] = [
  baichuan,
  bert,
  bloom,
  cohere2,
  commandR,
  deepseek2,
  ernie45,
  ernie45Moe,
  exaone4,
  falcon,
  gemma,
  gemma2,
  gemma3,
  glm4,
  gpt2,
  gptneox,
  gptOss,
  granite,
  granitemoe,
  hunyuanDense,
  hunyuanMoe,
  internlm2,
  jamba,
  lfm2,
  lfm2moe,
  llama,
  mamba,
  mamba2,
  minicpm,
  mistral3,
  mpt,
  nemotron,
  nomicBert,
  olmo2,
  olmoe,
  phi2,
  phi3,
  qwen2,
  qwen2moe,
  qwen3,
  qwen3moe,
  seedOss,
  smollm3,
  stablelm,
  starcoder2,
  xverse,
];

/** Names of the model families that can be loaded, as `general.architecture` spells them. */
export const supportedArchitectures: readonly string[] = families.map(({ name }) => name);

/**
 * Whether models of an architecture can be loaded, and whether what they compute was compared with another implementation:
 * undefined if they cannot.
 */
export function architectureStatus(architecture: string): "verified" | "unverified" | undefined {
  const family = families.find(({ name }) => name === architecture);
  return family && (family.isVerified ? "verified" : "unverified");
}

/**
 * A file's model by its family's description.
 * @throws {UnsupportedArchitectureError | ModelError | UnsupportedError} for a family that is not known, and metadata that is
 *   incomplete or asks for what is not computed
 */
export async function describeArchitecture(header: ModelHeader): Promise<ModelDescription> {
  const { metadata } = header;
  const name = metadata.string("general.architecture");
  const family = families.find((candidate) => candidate.name === name);
  if (family === undefined) throw new UnsupportedArchitectureError(name, supportedArchitectures);
  const reader = hasRareConfig(family, metadata) ? await import("./rareConfig.ts") : undefined;
  const config = readModelConfig(family, header, reader);
  const rare = await loadRareLayers(config);
  return { config, isVerified: family.isVerified, forward: (recording) => forward(recording, family, config, rare) };
}
