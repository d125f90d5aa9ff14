import { check, string } from "@centella/quant/checks";
import { UnsupportedArchitectureError } from "../errors.ts";
import { MetadataReader, type ModelHeader } from "../load/metadataReader.ts";
import type { ModelDescription } from "../model/modelBuilder.ts";
import type { Family } from "./family.ts";

/** Loaders of the families, by `general.architecture`: an app loads the family of its model alone. */
export const families: Readonly<Record<string, () => Promise<{ readonly family: Family }>>> = {
  baichuan: () => import("./families/baichuan.ts"),
  bert: () => import("./families/bert.ts"),
  bloom: () => import("./families/bloom.ts"),
  cohere2: () => import("./families/cohere2.ts"),
  "command-r": () => import("./families/commandR.ts"),
  deepseek2: () => import("./families/deepseek2.ts"),
  ernie4_5: () => import("./families/ernie45.ts"),
  "ernie4_5-moe": () => import("./families/ernie45Moe.ts"),
  exaone4: () => import("./families/exaone4.ts"),
  falcon: () => import("./families/falcon.ts"),
  gemma: () => import("./families/gemma.ts"),
  gemma2: () => import("./families/gemma2.ts"),
  gemma3: () => import("./families/gemma3.ts"),
  glm4: () => import("./families/glm4.ts"),
  gpt2: () => import("./families/gpt2.ts"),
  gptneox: () => import("./families/gptneox.ts"),
  "gpt-oss": () => import("./families/gptOss.ts"),
  granite: () => import("./families/granite.ts"),
  granitemoe: () => import("./families/granitemoe.ts"),
  "hunyuan-dense": () => import("./families/hunyuanDense.ts"),
  "hunyuan-moe": () => import("./families/hunyuanMoe.ts"),
  internlm2: () => import("./families/internlm2.ts"),
  jamba: () => import("./families/jamba.ts"),
  lfm2: () => import("./families/lfm2.ts"),
  lfm2moe: () => import("./families/lfm2moe.ts"),
  llama: () => import("./families/llama.ts"),
  mamba: () => import("./families/mamba.ts"),
  mamba2: () => import("./families/mamba2.ts"),
  minicpm: () => import("./families/minicpm.ts"),
  mistral3: () => import("./families/mistral3.ts"),
  mpt: () => import("./families/mpt.ts"),
  nemotron: () => import("./families/nemotron.ts"),
  "nomic-bert": () => import("./families/nomicBert.ts"),
  olmo2: () => import("./families/olmo2.ts"),
  olmoe: () => import("./families/olmoe.ts"),
  phi2: () => import("./families/phi2.ts"),
  phi3: () => import("./families/phi3.ts"),
  qwen2: () => import("./families/qwen2.ts"),
  qwen2moe: () => import("./families/qwen2moe.ts"),
  qwen3: () => import("./families/qwen3.ts"),
  qwen3moe: () => import("./families/qwen3moe.ts"),
  seed_oss: () => import("./families/seedOss.ts"),
  smollm3: () => import("./families/smollm3.ts"),
  stablelm: () => import("./families/stablelm.ts"),
  starcoder2: () => import("./families/starcoder2.ts"),
  xverse: () => import("./families/xverse.ts"),
};

/** Architectures whose logits were not compared with those of another implementation. */
export const unverifiedArchitectures: Set<string> = new Set();

/** Names of the model families that can be loaded, as `general.architecture` spells them. */
export const supportedArchitectures: readonly string[] = Object.keys(families);

/**
 * Whether models of an architecture can be loaded, and whether their logits were compared with those of another implementation:
 * undefined if they cannot be loaded.
 */
export function architectureStatus(architecture: string): "verified" | "unverified" | undefined {
  check("architectureStatus", "architecture", architecture, string);
  if (!Object.hasOwn(families, architecture)) return undefined;
  return unverifiedArchitectures.has(architecture) ? "unverified" : "verified";
}

/**
 * Describes a file's model.
 * @throws {UnsupportedArchitectureError | ModelError | UnsupportedError} for an unknown family, and for metadata that is incomplete,
 *   contradicts itself or asks for something that is not computed
 */
export async function describeArchitecture(header: ModelHeader): Promise<ModelDescription> {
  const name = header.metadata.string("general.architecture");
  const load = Object.hasOwn(families, name) ? families[name] : undefined;
  if (load === undefined) throw new UnsupportedArchitectureError(name, supportedArchitectures);
  const { family } = await load();
  return family(new MetadataReader(header, name));
}
