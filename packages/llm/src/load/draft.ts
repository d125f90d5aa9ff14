import { UnsupportedError } from "@centella/core";
import type { LocateOptions, Metadata } from "@centella/gguf";
import { anything, checkOptions, type Kinds, whole, within } from "@centella/quant/checks";
import { cacheBytes } from "../cache/cacheBytes.ts";
import { TokenizerError } from "../errors.ts";
import { ModelContext, type ModelParts } from "../model/modelContext.ts";
import type { ModelConfig } from "../models/config.ts";
import { describeArchitecture } from "../models/index.ts";
import { loadTokenizer } from "../tokenizer/loadTokenizer.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { requireSameVocabulary } from "./draftVocabulary.ts";
import { type DraftOptions, type LoadModelOptions, loadKinds } from "./loadOptions.ts";
import { type OpenedFile, openModelFile } from "./modelFiles.ts";
import { attendsAhead } from "./modelShape.ts";

/** Memory that is kept free while a model is loaded. */
export interface ReservedMemory {
  /** Bytes by the length of the context. */
  readonly bytesFor: (contextLength: number) => number;
  /** Whether they are on the model's own devices. */
  readonly isShared: boolean;
}

/** Loads an opened file, and closes it if that fails. */
export type LoadFile = (opened: OpenedFile, options: LoadModelOptions, reserved?: ReservedMemory) => Promise<ModelParts>;

type DraftedOptions = LoadModelOptions & { readonly draft: DraftOptions };

const defaultTokens = 3;

const draftKinds: Kinds<DraftOptions> = { source: anything, tokens: whole(1), minProbability: within(0, 1), runtime: loadKinds.runtime };

/**
 * Loads a model and its draft model. Only headers are read before the vocabularies are compared.
 * @throws as `loadModel`, for both models; {ModelError} if the vocabularies differ
 */
export async function loadWithDraft(
  opened: OpenedFile,
  options: DraftedOptions,
  locate: LocateOptions,
  loadFile: LoadFile,
): Promise<ModelParts> {
  const { draft, ...own } = options;
  const drafting = await openDraft(opened, options, locate).catch(async (error) => {
    await opened.close();
    throw error;
  });
  const { tokens = defaultTokens, minProbability = 0, runtime = own.runtime } = draft;
  const reports = sharedProgress(own.onProgress, drafting.weightBytes);
  let target: ModelContext | undefined;
  try {
    const parts = await loadFile(
      { ...opened, tokenizer: drafting.modelTokenizer },
      { ...own, onProgress: reports.model },
      drafting.reserved,
    );
    target = new ModelContext(parts, parts.info);
    const { contextLength, sequences, cacheType } = parts.info;
    const draftParts = await loadFile(drafting.opened, {
      runtime,
      contextLength: Math.min(contextLength, drafting.trainedContextLength),
      sequences,
      cacheType,
      signal: own.signal,
      onProgress: reports.draft,
    });
    const { info } = draftParts;
    return {
      ...parts,
      info: { ...parts.info, draft: info },
      draft: { context: new ModelContext(draftParts, info), tokens, minProbability },
    };
  } catch (error) {
    await target?.dispose();
    await drafting.opened.close();
    throw error;
  }
}

/** An open draft model whose vocabulary is the model's. */
interface OpenedDraft {
  readonly opened: OpenedFile;
  readonly modelTokenizer: Tokenizer;
  readonly weightBytes: number;
  readonly trainedContextLength: number;
  readonly reserved: ReservedMemory;
}

async function openDraft({ file }: OpenedFile, { draft, ...own }: DraftedOptions, locate: LocateOptions): Promise<OpenedDraft> {
  const { source, runtime = own.runtime } = checkOptions("loadModel.draft", draft, draftKinds);
  const opened = await openModelFile(source, locate);
  try {
    const [modelTokenizer, tokenizer] = [await loadTokenizer(file.metadata), await draftTokenizer(opened.file.metadata)];
    requireSameVocabulary({ metadata: file.metadata, tokenizer: modelTokenizer }, { metadata: opened.file.metadata, tokenizer });
    const [{ config: modelConfig }, { config }] = [await describeArchitecture(file), await describeArchitecture(opened.file)];
    requireSuccessive(modelConfig);
    requireSuccessive(config);
    const weightBytes = opened.file.tensors.reduce((sum, { bytes }) => sum + bytes, 0);
    const { sequences = 1, cacheType = "f16" } = own;
    return {
      opened: { ...opened, tokenizer },
      modelTokenizer,
      weightBytes,
      trainedContextLength: config.contextLength,
      reserved: {
        bytesFor: (contextLength) => weightBytes + cacheBytes(config, cacheType, Math.min(contextLength, config.contextLength), sequences),
        isShared: runtime === own.runtime,
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** @throws {TokenizerError} that says that the draft model has no tokenizer which can be used */
async function draftTokenizer(metadata: Metadata): Promise<Tokenizer> {
  try {
    return await loadTokenizer(metadata);
  } catch (error) {
    throw error instanceof TokenizerError ? new TokenizerError(`draft: ${error.message}`, { cause: error }) : error;
  }
}

/** @throws {UnsupportedError} for encoders, decoders after encoders, and models that fill in masked tokens */
function requireSuccessive(config: ModelConfig): void {
  if (attendsAhead(config) || config.decoderStart !== undefined)
    throw new UnsupportedError("draft", `models of ${config.architecture} do not continue a text one token after another`);
}

/** Reports the bytes of both models as one load. */
function sharedProgress(
  onProgress: LoadModelOptions["onProgress"],
  draftBytes: number,
): Readonly<Record<"model" | "draft", LoadModelOptions["onProgress"]>> {
  let modelBytes = 0;
  return {
    model(done, total, stage) {
      if (stage === "load") modelBytes = total;
      onProgress?.(done, stage === "load" ? total + draftBytes : total, stage);
    },
    draft(done, total, stage) {
      onProgress?.(modelBytes + Math.round((draftBytes * done) / Math.max(1, total)), modelBytes + draftBytes, stage);
    },
  };
}
