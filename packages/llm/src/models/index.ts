import { check, named, string } from "@centella/quant/checks";
import { UnsupportedArchitectureError } from "../errors.ts";
import { MetadataReader, type ModelHeader } from "../load/metadataReader.ts";
import type { ModelDescription } from "../model/modelBuilder.ts";
import type { Family } from "./family.ts";
import { heads } from "./heads/index.ts";

type FamilyLoader = () => Promise<{ readonly family: Family }>;

/** A family that is Llama's but for some traits. */
const variant =
  (name: string): FamilyLoader =>
  async () => {
    const [{ variants }, { transformer }] = await Promise.all([import("./families/variants.ts"), import("./transformer.ts")]);
    const traits = named(variants, name);
    return { family: (file) => transformer(file, traits(file)) };
  };

/** Loaders of the families, by `general.architecture`: an app loads the family of its model alone. */
export const families: Readonly<Record<string, FamilyLoader>> = {
  afmoe: variant("afmoe"),
  apertus: () => import("./families/apertus.ts"),
  arcee: variant("arcee"),
  arctic: () => import("./families/experts/arctic.ts"),
  arwkv7: () => import("./families/recurrent/arwkv7.ts"),
  baichuan: variant("baichuan"),
  bailingmoe: variant("bailingmoe"),
  bailingmoe2: variant("bailingmoe2"),
  bailingmoe3: () => import("./families/recurrent/bailingmoe3.ts"),
  bert: () => import("./families/encoders/bert.ts"),
  bitnet: () => import("./families/bitnet.ts"),
  bloom: () => import("./families/bloom.ts"),
  chameleon: () => import("./families/chameleon.ts"),
  chatglm: variant("chatglm"),
  codeshell: variant("codeshell"),
  cogvlm: variant("cogvlm"),
  cohere2: () => import("./families/windows/cohere2.ts"),
  cohere2moe: () => import("./families/experts/cohere2moe.ts"),
  "command-r": variant("command-r"),
  dbrx: () => import("./families/experts/dbrx.ts"),
  deci: () => import("./families/deci.ts"),
  deepseek: variant("deepseek"),
  deepseek2: () => import("./families/experts/deepseek2.ts"),
  "deepseek2-ocr": variant("deepseek2-ocr"),
  deepseek32: () => import("./families/experts/deepseek32.ts"),
  deepseek4: () => import("./families/experts/deepseek4.ts"),
  dots1: variant("dots1"),
  dream: variant("dream"),
  dots3note: () => import("./families/experts/dots3note.ts"),
  ernie4_5: variant("ernie4_5"),
  "ernie4_5-moe": variant("ernie4_5-moe"),
  eurobert: variant("eurobert"),
  exaone: variant("exaone"),
  "exaone-moe": variant("exaone-moe"),
  exaone4: () => import("./families/windows/exaone4.ts"),
  falcon: () => import("./families/falcon.ts"),
  "falcon-h1": () => import("./families/recurrent/falconH1.ts"),
  gemma: variant("gemma"),
  "gemma-embedding": () => import("./families/encoders/gemmaEmbedding.ts"),
  gemma2: () => import("./families/windows/gemma2.ts"),
  gemma3: () => import("./families/windows/gemma3.ts"),
  gemma3n: () => import("./families/windows/gemma3n.ts"),
  gemma4: () => import("./families/windows/gemma4.ts"),
  "glm-dsa": () => import("./families/experts/glmDsa.ts"),
  glm4: () => import("./families/glm4.ts"),
  glm4moe: variant("glm4moe"),
  "gpt-oss": () => import("./families/experts/gptOss.ts"),
  gpt2: () => import("./families/gpt2.ts"),
  gptneox: variant("gptneox"),
  granite: variant("granite"),
  granite_swa: () => import("./families/windows/graniteSwa.ts"),
  graniteswitch: () => import("./families/graniteSwitch.ts"),
  granitehybrid: () => import("./families/recurrent/graniteHybrid.ts"),
  granitemoe: variant("granitemoe"),
  grovemoe: () => import("./families/experts/grovemoe.ts"),
  grok: () => import("./families/experts/grok.ts"),
  hrm_text: () => import("./families/hrmText.ts"),
  "hunyuan-dense": () => import("./families/hunyuanDense.ts"),
  "hunyuan-moe": () => import("./families/experts/hunyuanMoe.ts"),
  hunyuan_vl: () => import("./families/hunyuanVl.ts"),
  hy_v3: variant("hy_v3"),
  hy_v4: () => import("./families/experts/hyV4.ts"),
  internlm2: variant("internlm2"),
  jais: variant("jais"),
  jais2: variant("jais2"),
  jamba: () => import("./families/recurrent/jamba.ts"),
  "jina-bert-v2": () => import("./families/encoders/jinaBertV2.ts"),
  "jina-bert-v3": () => import("./families/encoders/jinaBertV3.ts"),
  "kimi-k3": () => import("./families/recurrent/kimiK3.ts"),
  "kimi-linear": () => import("./families/recurrent/kimiLinear.ts"),
  laguna: () => import("./families/experts/laguna.ts"),
  lfm2: () => import("./families/recurrent/lfm2.ts"),
  lfm2moe: () => import("./families/recurrent/lfm2moe.ts"),
  llada: variant("llada"),
  "llada-moe": variant("llada-moe"),
  llama: () => import("./families/llama.ts"),
  llama4: () => import("./families/experts/llama4.ts"),
  "llama-embed": variant("llama-embed"),
  maincoder: () => import("./families/maincoder.ts"),
  mamba: () => import("./families/recurrent/mamba.ts"),
  mamba2: () => import("./families/recurrent/mamba2.ts"),
  maple: () => import("./families/experts/maple.ts"),
  mellum: variant("mellum"),
  mimo2: () => import("./families/experts/mimo2.ts"),
  minicpm: variant("minicpm"),
  minicpm3: () => import("./families/minicpm3.ts"),
  "minimax-01": () => import("./families/recurrent/minimax01.ts"),
  "minimax-m2": variant("minimax-m2"),
  "minimax-m3": () => import("./families/experts/minimaxM3.ts"),
  mistral3: () => import("./families/mistral3.ts"),
  mistral4: () => import("./families/experts/mistral4.ts"),
  "modern-bert": () => import("./families/encoders/modernBert.ts"),
  mpt: () => import("./families/mpt.ts"),
  "muse-glimmer": () => import("./families/windows/museGlimmer.ts"),
  nanbeige: () => import("./families/nanbeige.ts"),
  nemotron: variant("nemotron"),
  nemotron_h: () => import("./families/recurrent/nemotronH.ts"),
  nemotron_h_moe: () => import("./families/recurrent/nemotronH.ts"),
  "neo-bert": variant("neo-bert"),
  "nomic-bert": () => import("./families/encoders/nomicBert.ts"),
  "nomic-bert-moe": () => import("./families/encoders/nomicBertMoe.ts"),
  olmo: () => import("./families/olmo.ts"),
  olmo2: () => import("./families/windows/olmo2.ts"),
  olmoe: variant("olmoe"),
  openelm: () => import("./families/openelm.ts"),
  orion: variant("orion"),
  paddleocr: variant("qwen2vl"),
  "pangu-embedded": variant("pangu-embedded"),
  phi2: variant("phi2"),
  phi3: variant("phi3"),
  phimoe: variant("phimoe"),
  plm: () => import("./families/plm.ts"),
  plamo: variant("plamo"),
  plamo2: () => import("./families/recurrent/plamo2.ts"),
  plamo3: variant("plamo3"),
  qwen: variant("qwen"),
  qwen2: variant("qwen2"),
  qwen2moe: variant("qwen2moe"),
  qwen2vl: variant("qwen2vl"),
  qwen3: variant("qwen3"),
  qwen3moe: variant("qwen3moe"),
  qwen35: () => import("./families/recurrent/qwen35.ts"),
  qwen35moe: () => import("./families/recurrent/qwen35.ts"),
  qwen3next: () => import("./families/recurrent/qwen3next.ts"),
  qwen3vl: variant("qwen3vl"),
  qwen3vlmoe: variant("qwen3vlmoe"),
  qwen4exp: () => import("./families/recurrent/qwen4.ts"),
  refact: variant("refact"),
  rnd1: variant("rnd1"),
  rwkv6: () => import("./families/recurrent/rwkv6.ts"),
  rwkv6qwen2: () => import("./families/recurrent/rwkv6qwen2.ts"),
  rwkv7: () => import("./families/recurrent/rwkv7.ts"),
  seed_oss: variant("seed_oss"),
  smallthinker: () => import("./families/experts/smallthinker.ts"),
  smollm3: () => import("./families/smollm3.ts"),
  spark2_5: variant("spark2_5"),
  stablelm: variant("stablelm"),
  starcoder: () => import("./families/gpt2.ts"),
  starcoder2: variant("starcoder2"),
  step35: () => import("./families/experts/step35.ts"),
  t5: () => import("./families/t5.ts"),
  t5encoder: () => import("./families/encoders/t5encoder.ts"),
  talkie: () => import("./families/talkie.ts"),
  xverse: variant("xverse"),
};

/** Architectures whose logits were not compared with those of another implementation. */
export const unverifiedArchitectures: Set<string> = new Set();

/** Names of the families whose models draft for another one by its hidden states: they are loaded as its draft, not alone. */
export const draftArchitectures: readonly string[] = Object.keys(heads);

/** Names of the model families that can be loaded, as `general.architecture` spells them. */
export const supportedArchitectures: readonly string[] = Object.keys(families);

/**
 * Whether models of an architecture can be loaded, and whether their logits were compared with those of another implementation: "draft" for
 * models that are loaded as the draft of another one, all of them compared, and undefined for models that cannot be loaded.
 */
export function architectureStatus(architecture: string): "verified" | "unverified" | "draft" | undefined {
  check("architectureStatus", "architecture", architecture, string);
  if (Object.hasOwn(heads, architecture)) return "draft";
  if (!Object.hasOwn(families, architecture)) return undefined;
  return unverifiedArchitectures.has(architecture) ? "unverified" : "verified";
}

/** Architectures of llama.cpp whose models cannot be loaded, each with the reason. */
export async function refusedArchitectures(): Promise<ReadonlyMap<string, string>> {
  const { refusals } = await import("./refusals.ts");
  return refusals;
}

/**
 * Describes a file's model.
 * @throws {UnsupportedArchitectureError | ModelError | UnsupportedError} for an unknown family, and for metadata that is incomplete,
 *   contradicts itself or asks for something that is not computed
 */
export async function describeArchitecture(header: ModelHeader): Promise<ModelDescription> {
  const name = header.metadata.string("general.architecture");
  const load = Object.hasOwn(families, name) ? families[name] : undefined;
  if (load === undefined) {
    const isHead = Object.hasOwn(heads, name);
    const reason = isHead ? "it drafts for another model, and is loaded as its draft" : (await refusedArchitectures()).get(name);
    throw new UnsupportedArchitectureError(name, supportedArchitectures, reason);
  }
  const { family } = await load();
  return family(new MetadataReader(header, name));
}
