import type { Selection } from "@centella/core";
import { formatRejection } from "@centella/core/backend";
import { fileTypeById, type GgufFile } from "@centella/gguf";
import { cacheBytes } from "../cache/cacheBytes.ts";
import { chatTemplateKey } from "../errors.ts";
import type { LayerSplit } from "../load/layersOnGpu.ts";
import { architectureStatus } from "../models/index.ts";
import type { SamplingOptions } from "../sampling/options.ts";
import type { ActivationMode, CacheType, ModelDescription, ModelSizes } from "./modelBuilder.ts";
import type { RecordedModel } from "./recordModel.ts";

/** Bytes that a model takes, in stored form; a backend may add padding and scratch space (`runtime.backends[…].memory()`). */
export interface ModelMemory {
  readonly weights: number;
  readonly cache: number;
}

/** What was loaded and where it runs. Plain data. */
export interface ModelInfo {
  /** `general.name`, or "unnamed". */
  readonly name: string;
  readonly architecture: string;
  /** Whether logits of the architecture were compared with those of another implementation. */
  readonly isVerified: boolean;
  /** The file's recipe, e.g. `Q4_K_M`; where it names none, the type of most of its weights. */
  readonly quantization: string;
  /** Weights in all. */
  readonly parameters: number;
  readonly vocabSize: number;
  /** Whether a string prompt is a turn of a chat by default. */
  readonly hasChatTemplate: boolean;
  /** Sampling options that the file recommends (`general.sampling.*`): defaults of every generation. */
  readonly sampling: SamplingOptions;
  /** Tokens that a sequence can hold. */
  readonly contextLength: number;
  /** Why it is as long as it is. */
  readonly contextReason: string;
  /** Tokens that the model was trained on at a time. */
  readonly trainedContextLength: number;
  readonly batchSize: number;
  readonly sequences: number;
  readonly cacheType: CacheType;
  /** How weights in block types are multiplied. */
  readonly activations: ActivationMode;
  /** Two of them, joined by " + ", where layers are split. */
  readonly backend: string;
  /** As the backend's device names itself. */
  readonly device: string;
  /** That the backend computes with, where it is one that has threads. */
  readonly threads: number | undefined;
  readonly backendReason: string;
  /** For each backend that was not taken, why. */
  readonly rejected: readonly string[];
  /** What should be known: an unverified architecture, weights that the backend had to dequantise. */
  readonly warnings: readonly string[];
  readonly memory: ModelMemory;
}

export function describeModel(
  file: GgufFile,
  { config }: ModelDescription,
  sizes: ModelSizes,
  { weights }: RecordedModel,
  chosen: Selection | LayerSplit,
  warnings: readonly string[],
  contextReason: string,
  sampling: SamplingOptions,
): ModelInfo {
  const backends = "gpu" in chosen ? [chosen.gpu, chosen.cpu] : [chosen.backend];
  const { architecture } = config;
  const isVerified = architectureStatus(architecture) === "verified";
  const unverified = `architecture ${architecture} is unverified: its logits were never compared with those of another implementation`;
  return {
    name: file.metadata.optionalString("general.name") ?? "unnamed",
    architecture,
    isVerified,
    quantization: quantization(file),
    parameters: file.tensors.reduce((sum, { elements }) => sum + elements, 0),
    vocabSize: config.vocabSize,
    hasChatTemplate: file.metadata.has(chatTemplateKey),
    sampling,
    contextLength: sizes.contextLength,
    contextReason,
    trainedContextLength: config.contextLength,
    batchSize: sizes.batchSize,
    sequences: sizes.sequences,
    cacheType: sizes.cacheType,
    activations: sizes.activations,
    backend: backends.map(({ name }) => name).join(" + "),
    device: backends.map(({ device }) => device.name).join(" + "),
    threads: backends.find(({ device }) => device.threads !== undefined)?.device.threads,
    backendReason: chosen.reason,
    rejected: "rejected" in chosen ? chosen.rejected.map(formatRejection) : [],
    warnings: [...(isVerified ? [] : [unverified]), ...fallbackWarnings(chosen), ...warnings],
    memory: {
      weights: weights.reduce((sum, { bytes }) => sum + bytes, 0),
      cache: cacheBytes(config, sizes.cacheType, sizes.contextLength, sizes.sequences),
    },
  };
}

/** The scalar reference is for checking: nobody means to generate with it where another backend was wanted. */
function fallbackWarnings(chosen: Selection | LayerSplit): readonly string[] {
  if ("gpu" in chosen || chosen.backend.name !== "reference" || chosen.rejected.length === 0) return [];
  return [
    `computed by the scalar reference, which is many times slower than WASM, because no other backend runs: ${chosen.rejected.map(formatRejection).join("; ")}`,
  ];
}

function quantization({ metadata, tensors }: GgufFile): string {
  const id = metadata.optionalCount("general.file_type");
  const known = id === undefined ? undefined : fileTypeById(id);
  if (known !== undefined) return known.name;
  const elements = new Map<string, number>();
  for (const tensor of tensors) elements.set(tensor.type, (elements.get(tensor.type) ?? 0) + tensor.elements);
  const [most] = [...elements].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? "none";
}
