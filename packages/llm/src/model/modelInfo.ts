import type { Rejection, Selection } from "@centella/core";
import { formatRejection } from "@centella/core/backend";
import { fileTypeById, type GgufFile } from "@centella/gguf";
import { cacheBytes } from "../cache/cacheBytes.ts";
import { chatTemplateKey } from "../errors.ts";
import type { LayerSplit } from "../load/layersOnGpu.ts";
import type { ModelConfig } from "../models/config.ts";
import { architectureStatus } from "../models/index.ts";
import type { SamplingOptions } from "../sampling/options.ts";
import type { ActivationMode, CacheType, ModelSizes } from "./modelBuilder.ts";
import { filePooling } from "./pooling.ts";
import type { RecordedModel } from "./recordModel.ts";

/** Memory of a model in bytes, in stored form. A backend may add padding and scratch space (`runtime.backends[…].memory()`). */
export interface ModelMemory {
  readonly weights: number;
  readonly cache: number;
}

/** "generate": the model writes texts. "embed": its states are vectors of texts. "rerank": it scores documents. */
export type ModelTask = "generate" | "embed" | "rerank";

/** Describes a loaded model and where it runs. Plain data. */
export interface ModelInfo {
  /** `general.name`, or "unnamed". */
  readonly name: string;
  readonly architecture: string;
  /** Whether logits of the architecture were compared with those of another implementation. */
  readonly isVerified: boolean;
  /** The file's quantization recipe, such as `Q4_K_M`; if the file names none, the type of most of its weights. */
  readonly quantization: string;
  /** Total number of weights. */
  readonly parameters: number;
  readonly vocabSize: number;
  /** Number of elements of a vector of `embed`. */
  readonly embeddingLength: number;
  /** What the model was made for. */
  readonly tasks: readonly ModelTask[];
  /** Whether a string prompt is a turn of a chat by default. */
  readonly hasChatTemplate: boolean;
  /** Sampling options that the file recommends (`general.sampling.*`): defaults of every generation. */
  readonly sampling: SamplingOptions;
  /** Maximum number of tokens in a sequence. */
  readonly contextLength: number;
  /** The reason for {@link contextLength}. */
  readonly contextReason: string;
  /** Context length in training, in tokens. */
  readonly trainedContextLength: number;
  readonly batchSize: number;
  readonly sequences: number;
  readonly cacheType: CacheType;
  /** Arithmetic of products with weights that are not f32. */
  readonly activations: ActivationMode;
  /** Name of the backend; two names joined by " + " if layers are split. */
  readonly backend: string;
  /** Name of the backend's device. */
  readonly device: string;
  /** Number of threads, if the backend has threads. */
  readonly threads: number | undefined;
  readonly backendReason: string;
  /** For each backend that was not chosen, its name and the reason, with the op that it cannot compute if there is one. */
  readonly rejected: readonly Rejection[];
  /** Messages for the user, such as an unverified architecture or weights that the backend had to dequantise. */
  readonly warnings: readonly string[];
  readonly memory: ModelMemory;
  /** Names of the adapters that sessions and calls choose, if the model was loaded with any. */
  readonly adapters?: readonly string[];
  /** The draft model, if there is one. Its memory is not part of {@link memory}. */
  readonly draft?: ModelInfo;
}

/** The parts that {@link ModelInfo} describes. */
export interface LoadedParts {
  readonly file: GgufFile;
  readonly config: ModelConfig;
  readonly sizes: ModelSizes;
  readonly weights: RecordedModel["weights"];
  readonly chosen: Selection | LayerSplit;
  readonly warnings: readonly string[];
  readonly contextReason: string;
  readonly sampling: SamplingOptions;
}

export function describeModel({ file, config, sizes, weights, chosen, warnings, contextReason, sampling }: LoadedParts): ModelInfo {
  const backends = "gpu" in chosen ? [chosen.gpu, chosen.cpu] : [chosen.backend];
  const { architecture } = config;
  const isVerified = architectureStatus(architecture) !== "unverified";
  const unverified = `architecture ${architecture} is unverified: its logits were never compared with those of another implementation`;
  return {
    name: file.metadata.optionalString("general.name") ?? "unnamed",
    architecture,
    isVerified,
    quantization: quantization(file),
    parameters: file.tensors.reduce((sum, { elements }) => sum + elements, 0),
    vocabSize: config.vocabSize,
    embeddingLength: config.embeddingLength,
    tasks: tasksOf(file, config),
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
    rejected: "rejected" in chosen ? chosen.rejected : [],
    warnings: [...(isVerified ? [] : [unverified]), ...fallbackWarnings(chosen), ...warnings],
    memory: {
      weights: weights.reduce((sum, { bytes }) => sum + bytes, 0),
      cache: cacheBytes(config, sizes.cacheType, sizes.contextLength, sizes.sequences),
    },
  };
}

function tasksOf({ metadata }: GgufFile, { isEncoder }: ModelConfig): readonly ModelTask[] {
  return [...(isEncoder ? [] : ["generate" as const]), filePooling(metadata) === "rank" ? "rerank" : "embed"];
}

/** Warns of the scalar reference, which is meant for checking results, if other backends were tried first. */
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
