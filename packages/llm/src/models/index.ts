import { check, string } from "@centella/quant/checks";
import { UnsupportedArchitectureError } from "../errors.ts";
import { MetadataReader, type ModelHeader } from "../load/metadataReader.ts";
import type { ModelDescription } from "../model/modelBuilder.ts";
import type { Family } from "./family.ts";

/** Loaders of the families, by `general.architecture`: an app loads the family of its model alone. */
export const families: Readonly<Record<string, () => Promise<Family>>> = {
  baichuan: async () => (await import("./families/baichuan.ts")).baichuan,
  bert: async () => (await import("./families/bert.ts")).bert,
  bloom: async () => (await import("./families/bloom.ts")).bloom,
  cohere2: async () => (await import("./families/cohere2.ts")).cohere2,
  "command-r": async () => (await import("./families/commandR.ts")).commandR,
  deepseek2: async () => (await import("./families/deepseek2.ts")).deepseek2,
  ernie4_5: async () => (await import("./families/ernie45.ts")).ernie45,
  "ernie4_5-moe": async () => (await import("./families/ernie45Moe.ts")).ernie45Moe,
  exaone4: async () => (await import("./families/exaone4.ts")).exaone4,
  falcon: async () => (await import("./families/falcon.ts")).falcon,
  gemma: async () => (await import("./families/gemma.ts")).gemma,
  gemma2: async () => (await import("./families/gemma2.ts")).gemma2,
  gemma3: async () => (await import("./families/gemma3.ts")).gemma3,
  glm4: async () => (await import("./families/glm4.ts")).glm4,
  gpt2: async () => (await import("./families/gpt2.ts")).gpt2,
  gptneox: async () => (await import("./families/gptneox.ts")).gptneox,
  "gpt-oss": async () => (await import("./families/gptOss.ts")).gptOss,
  granite: async () => (await import("./families/granite.ts")).granite,
  granitemoe: async () => (await import("./families/granitemoe.ts")).granitemoe,
  "hunyuan-dense": async () => (await import("./families/hunyuanDense.ts")).hunyuanDense,
  "hunyuan-moe": async () => (await import("./families/hunyuanMoe.ts")).hunyuanMoe,
  internlm2: async () => (await import("./families/internlm2.ts")).internlm2,
  jamba: async () => (await import("./families/jamba.ts")).jamba,
  lfm2: async () => (await import("./families/lfm2.ts")).lfm2,
  lfm2moe: async () => (await import("./families/lfm2moe.ts")).lfm2moe,
  llama: async () => (await import("./families/llama.ts")).llama,
  mamba: async () => (await import("./families/mamba.ts")).mamba,
  mamba2: async () => (await import("./families/mamba2.ts")).mamba2,
  minicpm: async () => (await import("./families/minicpm.ts")).minicpm,
  mistral3: async () => (await import("./families/mistral3.ts")).mistral3,
  mpt: async () => (await import("./families/mpt.ts")).mpt,
  nemotron: async () => (await import("./families/nemotron.ts")).nemotron,
  "nomic-bert": async () => (await import("./families/nomicBert.ts")).nomicBert,
  olmo2: async () => (await import("./families/olmo2.ts")).olmo2,
  olmoe: async () => (await import("./families/olmoe.ts")).olmoe,
  phi2: async () => (await import("./families/phi2.ts")).phi2,
  phi3: async () => (await import("./families/phi3.ts")).phi3,
  qwen2: async () => (await import("./families/qwen2.ts")).qwen2,
  qwen2moe: async () => (await import("./families/qwen2moe.ts")).qwen2moe,
  qwen3: async () => (await import("./families/qwen3.ts")).qwen3,
  qwen3moe: async () => (await import("./families/qwen3moe.ts")).qwen3moe,
  seed_oss: async () => (await import("./families/seedOss.ts")).seedOss,
  smollm3: async () => (await import("./families/smollm3.ts")).smollm3,
  stablelm: async () => (await import("./families/stablelm.ts")).stablelm,
  starcoder2: async () => (await import("./families/starcoder2.ts")).starcoder2,
  xverse: async () => (await import("./families/xverse.ts")).xverse,
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
  const family = await load();
  return family(new MetadataReader(header, name));
}
