import type { MetadataReader } from "../../load/metadataReader.ts";
import type { DiffusionShape } from "../../load/modelShape.ts";
import { type RopeConfig, unscaled } from "../blocks/attention/rope.ts";
import { requireRopeSections } from "../blocks/attention/ropeSections.ts";
import { classifierHeads } from "../blocks/classifierHeads.ts";
import type { ExpertsOptions } from "../blocks/experts.ts";
import { storedExperts } from "../blocks/openFeedForward.ts";
import type { TransformerTraits } from "../transformer.ts";

type Traits = (file: MetadataReader) => TransformerTraits;

/** Scales that llama.cpp leaves out in some families. */
const [gateScale, fusedScale] = ["blk.*.attn_gate.scale", "blk.*.attn_qkv.scale"];

const unusedFactorsAndBiases = [
  "rope_freqs.weight",
  ...["attn_output", "ffn_gate", "ffn_up", "ffn_down"].map((name) => `blk.*.${name}.bias`),
];

/** Families whose models are Llama's but for some traits, by `general.architecture`. */
export const variants: Readonly<Record<string, Traits>> = {
  /** Trinity: gated heads, norms around both parts, windows in three of four layers, which alone have positions. */
  afmoe: (file) => ({
    ropeType: "neox",
    queryKeyNorm: "head",
    embeddingScale: Math.sqrt(file.requiredSize("embedding_length")),
    window: { period: 4 },
    localRope: withLocalBase(file),
    rotatesInWindows: true,
    attentionGate: "element",
    hasPostNorms: true,
    experts: { ...storedExperts(file), gating: "sigmoid" },
    ignored: [gateScale],
  }),
  /** Arcee Foundation Model. */
  arcee: (file) => ({
    ropeType: "norm",
    attention: { scale: file.positive("attention.scale") },
    feedForward: { kind: "plain", activation: "squaredRelu" },
  }),
  /** Baichuan 1 and 2: the 7B, with 32 layers, rotates; the 13B, with 40, has ALiBi. */
  baichuan: (file) => {
    const layers = file.requiredBlocks();
    return { ropeType: layers === 32 ? "norm" : undefined, attention: { alibi: layers === 40 ? 8 : 0 } };
  },
  /** Ling 1, Bailing. */
  bailingmoe: (file) => ({ ropeType: "norm", experts: storedExperts(file) }),
  /** Ling 2, Ring 2. */
  bailingmoe2: (file) => ({ ropeType: "neox", queryKeyNorm: "head", experts: storedExperts(file) }),
  /** ChatGLM 3 and GLM 4 9B. */
  chatglm: () => ({ ropeType: "norm", feedForward: { kind: "fusedGate" } }),
  /** CodeShell. */
  codeshell: () => ({ norm: "layer", ropeType: "neox", feedForward: { kind: "plain", activation: "gelu" } }),
  /** CogVLM, text alone: further weights are for pictures. llama.cpp leaves out rope's factors. */
  cogvlm: () => ({
    ropeType: "neox",
    ignored: [
      ...["attn_qkv", "attn_output", "gate", "up", "down"].map((name) => `blk.*.vis_${name}.weight`),
      "rope_freqs.weight",
      fusedScale,
    ],
  }),
  /** Command R, and R+, which normalises queries and keys. */
  "command-r": (file) => ({
    norm: "layer",
    isParallel: true,
    ropeType: "norm",
    queryKeyNorm: "perHeadIfPresent",
    logitScale: file.requiredPositive("logit_scale"),
  }),
  /** DeepSeek 1 MoE: a shared expert, the first layer without experts. */
  deepseek: (file) => ({ ropeType: "norm", experts: { scale: file.positive("expert_weights_scale"), shared: "plain" } }),
  /** DeepSeek OCR, text alone: a shared expert, the first layers without experts. */
  "deepseek2-ocr": (file) => ({ ropeType: "neox", experts: { ...storedExperts(file), shared: "plain" } }),
  /** dots.llm1. */
  dots1: (file) => ({ ropeType: "neox", queryKeyNorm: "head", experts: storedExperts(file) }),
  /** Dream 7B: Qwen 2 that fills in masked tokens. llama.cpp leaves out a bias of the logits. */
  dream: (file) => ({ ropeType: "neox", diffusion: readDiffusion(file), ignored: ["output.bias"] }),
  /** ERNIE 4.5, dense. llama.cpp leaves out the bias of the attention's output. */
  ernie4_5: () => ({ ropeType: "norm", ignored: ["blk.*.attn_output.bias"] }),
  /** ERNIE 4.5, mixtures of experts. llama.cpp leaves out the bias of the attention's output. */
  "ernie4_5-moe": (file) => ({ ropeType: "norm", experts: normalizedExperts(file), ignored: ["blk.*.attn_output.bias"] }),
  /** EuroBERT, which embeds texts. */
  eurobert: () => ({ ropeType: "neox", isEncoder: true }),
  /** EXAONE 3 and 3.5. */
  exaone: () => ({ ropeType: "neox" }),
  /** K-EXAONE: windows in three of four layers, which alone have positions. */
  "exaone-moe": (file) => ({
    ropeType: "neox",
    queryKeyNorm: "head",
    window: { period: 4, fallback: 128 },
    rotatesInWindows: true,
    experts: storedExperts(file),
  }),
  /** Gemma 1. */
  gemma: (file) => ({
    ropeType: "neox",
    embeddingScale: Math.sqrt(file.requiredSize("embedding_length")),
    feedForward: { activation: "gelu" },
  }),
  /** GLM 4.5 to 4.7: the first layers are dense. */
  glm4moe: (file) => ({
    ropeType: "neox",
    queryKeyNorm: "headIfPresent",
    feedForwardNorm: "post_attention_norm",
    experts: { ...storedExperts(file), gating: "sigmoid" },
    hasNextn: true,
  }),
  /** GPT-NeoX and Pythia. */
  gptneox: (file) => ({
    norm: "layer",
    isParallel: file.requiredBool("use_parallel_residual"),
    ropeType: "neox",
    feedForward: { kind: "plain", activation: "gelu" },
  }),
  /** Granite 3 and later: multipliers on embeddings, residuals, scores and logits. */
  granite: (file) => ({
    ...graniteScales(file),
    experts: normalizedExperts(file),
    ropeType: file.bool("rope.scaling.finetuned") === false ? undefined : "norm",
  }),
  /** Granite 3 and later, mixtures of experts, with a shared one or without. */
  granitemoe: (file) => ({ ...graniteScales(file), ropeType: "norm", experts: normalizedExperts(file) }),
  /** Hy 3. */
  hy_v3: (file) => ({
    ropeType: "neox",
    queryKeyNorm: "head",
    feedForward: { scales: true },
    experts: { ...storedExperts(file), shared: "plain", gating: "sigmoid", leavesOutDense: true },
    hasNextn: true,
  }),
  /** InternLM 2 and 2.5. */
  internlm2: () => ({ ropeType: "norm" }),
  /** Jais: ALiBi, and scores divided by the length of a head. */
  jais: (file) => ({
    norm: "layer",
    attention: {
      alibi: file.positive("attention.max_alibi_bias") ?? 0,
      scale: file.requiredSize("attention.head_count") / file.requiredSize("embedding_length"),
    },
  }),
  /** Jais 2. */
  jais2: () => ({ norm: "layer", ropeType: "neox", feedForward: { kind: "plain", activation: "squaredRelu" } }),
  /** LLaDA: Llama that fills in masked tokens. llama.cpp leaves out its biases and rope's factors. */
  llada: (file) => ({
    ropeType: "norm",
    diffusion: readDiffusion(file),
    ignored: unusedFactorsAndBiases,
  }),
  /** LLaDA-MoE. */
  "llada-moe": (file) => ({ ropeType: "neox", queryKeyNorm: "head", experts: storedScale(file), diffusion: readDiffusion(file) }),
  /** Llama as an encoder: Llama Embed Nemotron. */
  "llama-embed": () => ({ ropeType: "norm", isEncoder: true }),
  /** Mellum 2, mixtures of experts: windows in three of four layers, whose positions are not scaled. */
  mellum: () => ({
    ropeType: "neox",
    queryKeyNorm: "head",
    window: { period: 4 },
    localRope: unscaled,
    feedForward: { scales: true },
    experts: { normalize: true },
  }),
  /** MiniCPM 1 and 2: multipliers on embeddings, residuals and logits. */
  minicpm: (file) => ({
    ropeType: "norm",
    embeddingScale: file.positive("embedding_scale") ?? 12,
    residualScale: file.positive("residual_scale") ?? 1.4 / Math.sqrt(file.requiredBlocks()),
    logitScale: 1 / (file.positive("logit_scale") ?? 256 / file.requiredSize("embedding_length")),
    experts: { normalize: true },
  }),
  /** MiniMax M2: norms of all heads as one vector. */
  "minimax-m2": () => ({ ropeType: "neox", queryKeyNorm: "all", experts: { normalize: true } }),
  /** Nemotron 3 and 4, Minitron. */
  nemotron: () => ({ norm: "layer", ropeType: "neox", feedForward: { kind: "plain", activation: "squaredRelu" } }),
  /** NeoBERT, which embeds texts. */
  "neo-bert": () => ({
    ropeType: "norm",
    feedForward: { kind: "fusedGate" },
    isEncoder: true,
    outputNorm: "enc.output_norm",
    ignored: classifierHeads,
  }),
  /** OLMoE. */
  olmoe: () => ({ ropeType: "neox", queryKeyNorm: "all", experts: {} }),
  /** Orion 14B. */
  orion: () => ({ norm: "layer", ropeType: "neox" }),
  /** openPangu Embedded. */
  "pangu-embedded": () => ({ ropeType: "neox" }),
  /** Phi 1, 1.5 and 2. */
  phi2: () => ({
    norm: "layer",
    isParallel: true,
    ropeType: "neox",
    feedForward: { kind: "plain", activation: "gelu" },
  }),
  /** Phi 3, 3.5 and 4. Like llama.cpp, this ignores the windows that some files name: the files name them wrongly. */
  phi3: () => ({ ropeType: "neox", feedForward: { kind: "fusedGate" } }),
  /** Phi 3.5 MoE: norms with biases. */
  phimoe: () => ({ ropeType: "neox", experts: { normalize: true } }),
  /** PLaMo 13B: both parts of a layer read its normed input. */
  plamo: () => ({ ropeType: "neox", isParallel: true }),
  /** PLaMo 3: norms around both parts, windows in seven of eight layers. */
  plamo3: (file) => ({
    ropeType: "neox",
    queryKeyNorm: "head",
    window: { period: 8 },
    localRope: withLocalBase(file),
    hasPostNorms: true,
    feedForward: { kind: "fusedGate" },
    ignored: [fusedScale],
  }),
  /** Qwen 1: files state twice the width of the feed-forward layers. */
  qwen: (file) => ({ ropeType: "neox", feedForwardLength: file.requiredWidth("feed_forward_length") / 2 }),
  /** Qwen 1.5, 2 and 2.5: biases on queries, keys and values. */
  qwen2: () => ({ ropeType: "neox" }),
  /** Qwen 1.5 and 2, mixtures of experts. */
  qwen2moe: () => ({ ropeType: "neox", experts: { shared: "gated" } }),
  /** Qwen 2 VL and 2.5 VL, PaddleOCR VL, text alone. llama.cpp leaves out a bias of the logits. */
  qwen2vl: (file) => {
    requireRopeSections(file);
    return { ropeType: "neox", ignored: ["output.bias"] };
  },
  /** Qwen 3, dense. Rerankers have a head `cls.output`. */
  qwen3: () => ({
    ropeType: "neox",
    queryKeyNorm: "head",
    feedForward: { scales: true },
    ignored: ["cls.output.weight"],
  }),
  /** Qwen 3, mixtures of experts. */
  qwen3moe: () => ({ ropeType: "neox", queryKeyNorm: "head", feedForward: { scales: true }, experts: { normalize: true } }),
  /** Qwen 3 VL, text alone. */
  qwen3vl: () => ({ ropeType: "neox", queryKeyNorm: "head", ignored: ["cls.output.weight"] }),
  /** Qwen 3 VL, mixtures of experts. */
  qwen3vlmoe: () => ({ ropeType: "neox", queryKeyNorm: "head", experts: { normalize: true } }),
  /** Refact: ALiBi. llama.cpp leaves out the biases after the values, and rope's factors. */
  refact: () => ({ attention: { alibi: 8 }, ignored: unusedFactorsAndBiases }),
  /** RND1: Qwen 3 MoE that fills in masked tokens. */
  rnd1: (file) => ({
    ropeType: "neox",
    queryKeyNorm: "head",
    experts: { ...storedScale(file), normalize: true },
    diffusion: readDiffusion(file),
  }),
  /** Seed-OSS. */
  seed_oss: (file) => ({
    ropeType: "neox",
    attention: { scale: file.positive("attention.scale") },
    feedForwardNorm: "post_attention_norm",
  }),
  /** Spark 2.5: a gate for each head, windows in some layers. */
  spark2_5: (file) => ({
    ropeType: "neox",
    window: { period: 0 },
    localRope: withLocalBase(file),
    attentionGate: "head",
    feedForward: { activation: "gelu" },
    ignored: [gateScale],
  }),
  /** StableLM 3B and 2: only part of each head is rotated; the 12B normalises queries and keys and is parallel. */
  stablelm: (file) => ({
    norm: "layer",
    isParallel: !file.hasTensor("blk.0.ffn_norm.weight"),
    ropeType: "neox",
    queryKeyNorm: "perHeadIfPresent",
  }),
  /** StarCoder 2. */
  starcoder2: () => ({ norm: "layer", ropeType: "neox", feedForward: { kind: "plain", activation: "gelu" } }),
  /** XVERSE. */
  xverse: () => ({ ropeType: "norm" }),
};

/** The base of the rope that layers with a window have, if the file names one. */
function withLocalBase(file: MetadataReader): (rope: RopeConfig) => RopeConfig {
  const base = file.positive("rope.freq_base_swa");
  return (rope) => ({ ...rope, base: base ?? rope.base });
}

function storedScale(file: MetadataReader): ExpertsOptions {
  return { scale: file.positive("expert_weights_scale") };
}

/** How a file's model fills in masked tokens. The keys lack the architecture's name; the default is llama.cpp's. */
function readDiffusion({ metadata }: MetadataReader): DiffusionShape {
  return {
    maskId: metadata.optionalNumber("tokenizer.ggml.mask_token_id"),
    shiftsLogits: metadata.optionalBool("diffusion.shift_logits") ?? true,
  };
}

/** Granite's multipliers. */
export function graniteScales(file: MetadataReader): TransformerTraits {
  return {
    embeddingScale: file.positive("embedding_scale") ?? 1,
    attention: { scale: file.positive("attention.scale") },
    residualScale: file.positive("residual_scale") ?? 1,
    logitScale: 1 / file.requiredPositive("logit_scale"),
  };
}

/** Experts whose weights are normalised, with a shared one where the file states its width. */
export function normalizedExperts(file: MetadataReader): ExpertsOptions {
  return { normalize: true, shared: file.size("expert_shared_feed_forward_length") === undefined ? undefined : "plain" };
}
