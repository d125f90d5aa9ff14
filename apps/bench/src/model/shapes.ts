/** Sizes and tokenizer of a known model, which determine speed and memory. */
export interface ModelShape {
  readonly architecture: "llama" | "qwen2";
  readonly layers: number;
  readonly embedding: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  readonly vocabulary: number;
  readonly context: number;
  readonly ropeBase: number;
  readonly epsilon: number;
  /** Whether the embedding is also the output matrix. */
  readonly isTied: boolean;
  /** Whether q, k and v have biases. */
  readonly hasBias: boolean;
  /** Llama 3's frequency scaling, which files carry as a tensor of factors. */
  readonly ropeScaling?: { readonly factor: number; readonly low: number; readonly high: number; readonly original: number };
  /** Pre-tokenizer as GGUF names it. */
  readonly preTokenizer: string;
}

/** Sources: the `config.json` of each model. */
export const shapes: Readonly<Record<string, ModelShape>> = {
  "qwen2.5-0.5b": {
    architecture: "qwen2",
    layers: 24,
    embedding: 896,
    feedForward: 4864,
    heads: 14,
    kvHeads: 2,
    headSize: 64,
    vocabulary: 151936,
    context: 32768,
    ropeBase: 1_000_000,
    epsilon: 1e-6,
    isTied: true,
    hasBias: true,
    preTokenizer: "qwen2",
  },
  "smollm2-135m": {
    architecture: "llama",
    layers: 30,
    embedding: 576,
    feedForward: 1536,
    heads: 9,
    kvHeads: 3,
    headSize: 64,
    vocabulary: 49152,
    context: 8192,
    ropeBase: 100_000,
    epsilon: 1e-5,
    isTied: true,
    hasBias: false,
    preTokenizer: "smollm",
  },
  "llama-3.2-1b": {
    architecture: "llama",
    layers: 16,
    embedding: 2048,
    feedForward: 8192,
    heads: 32,
    kvHeads: 8,
    headSize: 64,
    vocabulary: 128256,
    context: 131072,
    ropeBase: 500_000,
    epsilon: 1e-5,
    isTied: true,
    hasBias: false,
    ropeScaling: { factor: 32, low: 1, high: 4, original: 8192 },
    preTokenizer: "llama-bpe",
  },
  "llama-3.2-3b": {
    architecture: "llama",
    layers: 28,
    embedding: 3072,
    feedForward: 8192,
    heads: 24,
    kvHeads: 8,
    headSize: 128,
    vocabulary: 128256,
    context: 131072,
    ropeBase: 500_000,
    epsilon: 1e-5,
    isTied: true,
    hasBias: false,
    ropeScaling: { factor: 32, low: 1, high: 4, original: 8192 },
    preTokenizer: "llama-bpe",
  },
  "llama-3.1-8b": {
    architecture: "llama",
    layers: 32,
    embedding: 4096,
    feedForward: 14336,
    heads: 32,
    kvHeads: 8,
    headSize: 128,
    vocabulary: 128256,
    context: 131072,
    ropeBase: 500_000,
    epsilon: 1e-5,
    isTied: false,
    hasBias: false,
    ropeScaling: { factor: 8, low: 1, high: 4, original: 8192 },
    preTokenizer: "llama-bpe",
  },
};
