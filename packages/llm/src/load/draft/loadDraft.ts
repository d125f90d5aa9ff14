import { ArgumentError, UnsupportedError } from "@centella/core";
import type { GgufFile, LocateOptions, Metadata } from "@centella/gguf";
import { checkOptions } from "@centella/quant/checks";
import { cacheBytes } from "../../cache/cacheBytes.ts";
import { TokenizerError } from "../../errors.ts";
import { type DraftModel, ModelContext, type ModelParts } from "../../model/modelContext.ts";
import type { ModelConfig } from "../../models/config.ts";
import { architectureStatus, describeArchitecture } from "../../models/index.ts";
import { loadTokenizer } from "../../tokenizer/loadTokenizer.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { type OpenedFile, openModelFile } from "../modelFiles.ts";
import { attendsAhead } from "../modelShape.ts";
import {
  type DraftedOptions,
  defaultTokens,
  draftKinds,
  type LoadFile,
  type OpenedDraft,
  type SmallerModel,
  sharedProgress,
} from "./drafting.ts";
import { requireSameVocabulary } from "./draftVocabulary.ts";

/**
 * Loads a model and its draft model, or the head that drafts for it. Only headers are read before the vocabularies are compared.
 * @throws as `loadModel`, for both models; {ModelError} if the vocabularies differ, or the head is not for this model
 */
export async function loadWithDraft(
  opened: OpenedFile,
  options: DraftedOptions,
  locate: LocateOptions,
  loadFile: LoadFile,
): Promise<ModelParts> {
  const drafting = await openDraft(opened, options, locate).catch(async (error) => {
    await opened.close();
    throw error;
  });
  const target = { ...opened, tokenizer: drafting.modelTokenizer };
  try {
    if (drafting.model !== undefined) return await loadBoth(target, { ...drafting, model: drafting.model }, options, loadFile);
    const { loadWithHead } = await import("./loadHead.ts");
    return await loadWithHead(target, drafting, options, loadFile);
  } catch (error) {
    await drafting.opened.close();
    throw error;
  }
}

/** Loads a model and its draft model, which keeps a cache of its own. */
async function loadBoth(
  opened: OpenedFile,
  drafting: OpenedDraft & { readonly model: SmallerModel },
  { draft, ...own }: DraftedOptions,
  loadFile: LoadFile,
): Promise<ModelParts> {
  const { runtime = own.runtime } = draft;
  const reports = sharedProgress(own.onProgress, drafting.weightBytes);
  let target: ModelContext | undefined;
  try {
    const parts = await loadFile(opened, { ...own, onProgress: reports.model }, { reserved: drafting.model.reserved });
    target = new ModelContext(parts, parts.info);
    const { contextLength, sequences, cacheType } = parts.info;
    const draftParts = await loadFile(drafting.opened, {
      runtime,
      contextLength: Math.min(contextLength, drafting.model.trainedContextLength),
      sequences,
      cacheType,
      signal: own.signal,
      onProgress: reports.draft,
    });
    const { info } = draftParts;
    return {
      ...parts,
      info: { ...parts.info, draft: info },
      draft: draftModel(new ModelContext(draftParts, info), drafting),
    };
  } catch (error) {
    await target?.dispose();
    throw error;
  }
}

/** A model that drafts tokens of texts in its own cache. */
function draftModel(context: ModelContext, { tokens, minProbability }: Pick<DraftModel, "tokens" | "minProbability">): DraftModel {
  return {
    tokens,
    minProbability,
    scheduler: context.scheduler,
    async open(text, { owner, signal }) {
      const sequence = await context.pool.acquire(owner, text.slice(0, -1), { signal });
      return { sequence, ids: text.slice(sequence.ids.length), close: () => context.pool.release(sequence) };
    },
    free: (owner) => context.free(owner),
    dispose: () => context.dispose(),
  };
}

async function openDraft({ file }: OpenedFile, options: DraftedOptions, locate: LocateOptions): Promise<OpenedDraft> {
  const { draft } = options;
  const { tokens = defaultTokens, minProbability = 0 } = checkOptions("loadModel.draft", draft, draftKinds);
  const opened = await openModelFile(draft.source, locate);
  try {
    const [modelTokenizer, tokenizer] = [await loadTokenizer(file.metadata), await draftTokenizer(opened.file.metadata)];
    requireSameVocabulary({ metadata: file.metadata, tokenizer: modelTokenizer }, { metadata: opened.file.metadata, tokenizer });
    requireSuccessive((await describeArchitecture(file)).config);
    const weightBytes = opened.file.tensors.reduce((sum, { bytes }) => sum + bytes, 0);
    const architecture = opened.file.metadata.string("general.architecture");
    const isHead = architectureStatus(architecture) === "draft";
    if (isHead && draft.runtime !== undefined && draft.runtime !== options.runtime)
      throw new ArgumentError(
        "loadModel.draft",
        `the model's runtime for a draft of the architecture ${architecture}`,
        "another one",
        "it reads the model's states",
      );
    const model = isHead ? undefined : await describeSmaller(opened.file, weightBytes, options);
    return { opened: { ...opened, tokenizer }, modelTokenizer, weightBytes, model, tokens, minProbability };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function describeSmaller(file: GgufFile, weightBytes: number, { draft, ...own }: DraftedOptions): Promise<SmallerModel> {
  const { config } = await describeArchitecture(file);
  requireSuccessive(config);
  const { sequences = 1, cacheType = "f16" } = own;
  return {
    trainedContextLength: config.contextLength,
    reserved: {
      bytesFor: (contextLength) => weightBytes + cacheBytes(config, cacheType, Math.min(contextLength, config.contextLength), sequences),
      isShared: (draft.runtime ?? own.runtime) === own.runtime,
    },
  };
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
