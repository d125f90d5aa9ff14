import { CentellaError } from "@centella/core";
import type { GgufFile, GgufInput, LocateOptions, Metadata } from "@centella/gguf";
import { checkOptions, checkValue } from "@centella/quant/checks";
import { CacheCopier } from "../cache/cacheCopier.ts";
import type { CacheTransfer } from "../cache/cacheTransfer.ts";
import { textsTogether } from "../cache/sequencePool.ts";
import type { ChatTemplate } from "../chat/chatTemplate.ts";
import { chatTemplateKey } from "../errors.ts";
import { Model } from "../model/model.ts";
import type { ModelParts } from "../model/modelContext.ts";
import { describeModel } from "../model/modelInfo.ts";
import { type RecordedModel, recordChoice, recordModel } from "../model/recordModel.ts";
import { describeArchitecture } from "../models/index.ts";
import type { ModelSampling } from "../sampling/modelSampling.ts";
import { yieldToEventLoop } from "../scheduler/eventLoop.ts";
import { maxWaitingOf } from "../scheduler/queueOptions.ts";
import type { FurtherInputs } from "../scheduler/runInputs.ts";
import { Scheduler } from "../scheduler/scheduler.ts";
import { loadTokenizer } from "../tokenizer/loadTokenizer.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { Adapters, RecordedAdapters } from "./adapters.ts";
import { type CompiledModel, chosenFor, compileModel, type ProgramSource } from "./compileModel.ts";
import type { DescribeHead } from "./draft/draftHead.ts";
import type { LoadFile } from "./draft/drafting.ts";
import type { LoadModelOptions } from "./loadOptions.ts";
import { loadKinds } from "./loadOptions.ts";
import { locateOptions, openModelFile } from "./modelFiles.ts";
import { ModelSamples } from "./modelSamples.ts";
import { attendsAhead } from "./modelShape.ts";

/**
 * Loads a model from a GGUF file: a path (Node) or URL, a model on a hub (`hf:owner/repo:Q4_K_M`), a Blob or File, bytes, or any
 * `ByteSource`. For a split model, pass the path or URL of its first part, or a list of all parts, such as the `input` that `pull` returns.
 * `placeOf` of `@centella/gguf` is the rule for strings.
 *
 * The weights are streamed into the backend that the runtime selects for the model's program. A source that is handed in stays open until
 * the model is disposed of, and its owner must close it.
 * @throws {GgufError | ModelError | UnsupportedArchitectureError | UnsupportedError | ArgumentError | OutOfMemoryError}
 */
export async function loadModel(source: GgufInput | readonly GgufInput[], options: LoadModelOptions): Promise<Model> {
  const { runtime } = checkOptions("loadModel", options, loadKinds);
  checkValue("loadModel", runtime, loadKinds.runtime, "pass await createRuntime(…)");
  const locate = locateOptions(options);
  const opened = await openModelFile(source, locate);
  const { draft } = options;
  if (draft === undefined) return new Model(await loadFile(opened, options));
  if (draft.source === undefined) {
    const describeHead: DescribeHead = async (description) =>
      (await import("./draft/nextnDraft.ts")).describeNextn(description, opened.file, options);
    return new Model(await loadFile(opened, options, { describeHead }));
  }
  const { loadWithDraft } = await import("./draft/loadDraft.ts");
  return new Model(await loadWithDraft(opened, { ...options, draft: { ...draft, source: draft.source } }, locate, loadFile));
}

/** Loads an opened file, and closes it if that fails. */
const loadFile: LoadFile = async (opened, options, { reserved, describeHead } = {}) => {
  const { file } = opened;
  const { runtime, signal } = options;
  const locate = locateOptions(options);
  let adapters: Adapters | undefined;
  let compiled: CompiledModel | undefined;
  const close = async (): Promise<void> => {
    await adapters?.close();
    await opened.close();
  };
  try {
    const maxWaiting = maxWaitingOf(options.queue);
    const family = await describeArchitecture(file);
    const head = await describeHead?.(family);
    const description = { ...family, keeps: head?.keeps };
    adapters = await openAdaptersOf(file, options, locate);
    const files = [file, ...(adapters?.files ?? [])];
    const samples = new ModelSamples(files);
    const programSource = { runtime, file, description, adapters, reserved: head?.reserved ?? reserved };
    // Made while kernels are compiled elsewhere. A failure is reported once the weights are loaded.
    const tokenizer = Promise.resolve(opened.tokenizer ?? yieldToEventLoop().then(() => tryTokenizer(file.metadata)));
    tokenizer.catch(() => undefined);
    compiled = await compileModel(programSource, samples, options);
    await samples.complete(signal);
    const loaded = compiled;
    const schedulers = await createSchedulers(programSource, compiled);
    const { sampling, warnings } = await samplingOf(file.metadata);
    const drafting = await head?.open(programSource, compiled);
    return {
      ...schedulers,
      ...(await openTransfers(programSource, compiled)),
      openRankHead: async () => (await import("./openRankHead.ts")).openRankHead(programSource, loaded),
      ChatTemplate: await chatTemplateOf(file.metadata),
      tokenizer: await tokenizer,
      info: {
        ...describeModel({
          file,
          config: description.config,
          sizes: compiled.sizes,
          weights: compiled.program.weights,
          chosen: chosenFor(compiled),
          warnings: [...files.flatMap((one) => one.warnings), ...compiled.plan.warnings, ...warnings],
          contextReason: compiled.contextReason,
          sampling,
        }),
        ...(adapters !== undefined && { adapters: adapters.names }),
        ...(drafting?.info && { draft: drafting.info }),
      },
      diffusion: description.config.diffusion,
      decoderStart: description.config.decoderStart,
      metadata: file.metadata,
      applyAdapters: adapters?.apply,
      async identify(names) {
        const { fingerprint } = await import("./fingerprint.ts");
        return fingerprint([file, ...(adapters?.filesOf(names) ?? [])], samples);
      },
      close,
      draft: drafting?.draft,
      maxWaiting,
    };
  } catch (error) {
    compiled?.runnable.dispose();
    await close();
    throw error;
  }
};

/** Opens the adapters that the options name. Few models are loaded with adapters, so their code is loaded on demand. */
async function openAdaptersOf(
  { metadata }: GgufFile,
  { adapters }: LoadModelOptions,
  locate: LocateOptions,
): Promise<Adapters | undefined> {
  if (adapters === undefined) return undefined;
  const { openAdapters } = await import("./adapters.ts");
  return openAdapters(adapters, metadata.string("general.architecture"), locate);
}

/** The scheduler that generates, and one over the same weights and cache that outputs hidden states. For an encoder, both are the same. */
async function createSchedulers(
  source: ProgramSource,
  compiled: CompiledModel,
): Promise<Pick<ModelParts, "scheduler" | "openEmbeddingScheduler">> {
  const { runtime, file, description, adapters } = source;
  const { plan, runnable, sizes } = compiled;
  const { vocabSize, embeddingLength, isEncoder, states, ngrams } = description.config;
  const { backend } = plan.selection;
  const hasDecoder = description.config.decoderStart !== undefined;
  const encoded = hasDecoder
    ? (await import("../scheduler/encodedInputs.ts")).encodedInputs({ width: embeddingLength, contextLength: sizes.contextLength })
    : undefined;
  const hashed = ngrams && (await import("../scheduler/ngramInputs.ts")).ngramInputs(ngrams);
  const named = adapters !== undefined && adapters.names.length > 0 ? { adapters, ...(await import("./adaptedPlan.ts")) } : undefined;
  const withScales = (others?: FurtherInputs): FurtherInputs | undefined => named?.adapterInputs(named.adapters, others) ?? others;
  const further = withScales(hashed);
  const common = { ...sizes, vocabSize, isEncoder, isRecurrent: states.length > 0, backends: runtime.backends, further };
  const hiddenStates = { output: "states", width: embeddingLength } as const;
  const logits = { output: "logits", width: vocabSize } as const;
  const scheduler = new Scheduler(runnable, backend, {
    ...common,
    ...(isEncoder ? hiddenStates : logits),
    ...(encoded && { further: withScales(encoded) }),
    ...(sizes.runsInFlight > 1 && {
      openDeferred: async () => (await import("./openDeferred.ts")).openDeferred(source, compiled, { recordModel, recordChoice }),
    }),
  });
  return {
    scheduler,
    async openEmbeddingScheduler() {
      if (isEncoder) return scheduler;
      const sequencesPerRun = sizes.sequences * textsTogether(sizes.contextLength, common.isRecurrent);
      // An encoder computes a text in a single run.
      const batchSize = hasDecoder ? sizes.contextLength : sizes.batchSize;
      const own = { batchSize, maxRows: batchSize, runsInFlight: 1, sequencesPerRun };
      const record = (recorded: RecordedAdapters | undefined): RecordedModel =>
        recordModel(description, file, { ...sizes, ...own, result: "states" }, recorded);
      const shared = await runtime.compile(record(adapters).program, { shareWith: plan });
      const chosen = (await named?.adaptedPlan({ runtime, adapters: named.adapters, adapted: shared, record })) ?? shared;
      return new Scheduler(chosen, backend, {
        ...common,
        ...own,
        ...hiddenStates,
        isEncoder: hasDecoder || attendsAhead(description.config),
      });
    },
  };
}

/** Opens what moves recurrent states, and on demand what moves keys and values. */
async function openTransfers(
  { runtime, description }: ProgramSource,
  { plan, program: { caches, states } }: CompiledModel,
): Promise<Pick<ModelParts, "stateTransfer" | "slotCopier" | "openCacheTransfer">> {
  const isRecurrent = description.config.states.length > 0;
  const slotCopier = caches.size > 0 ? new CacheCopier(runtime, plan, caches) : undefined;
  // A state is of no use without the keys and values of its whole text, which may end within a block.
  if (isRecurrent) await slotCopier?.open();
  return {
    slotCopier,
    stateTransfer: isRecurrent
      ? await (await import("../cache/recurrentStateTransfer.ts")).RecurrentStateTransfer.open(runtime, plan, states)
      : undefined,
    async openCacheTransfer(): Promise<CacheTransfer> {
      const { CacheTransfer } = await import("../cache/cacheTransfer.ts");
      return new CacheTransfer(runtime, plan, caches);
    },
  };
}

async function chatTemplateOf(metadata: Metadata): Promise<typeof ChatTemplate | undefined> {
  if (!metadata.has(chatTemplateKey)) return undefined;
  return (await import("../chat/chatTemplate.ts")).loadChatTemplate(metadata);
}

/** Sampling defaults that the file recommends. Most files have none, so the code that reads them is loaded on demand. */
async function samplingOf(metadata: Metadata): Promise<ModelSampling> {
  if (![...metadata.keys()].some((key) => key.startsWith("general.sampling."))) return { sampling: {}, warnings: [] };
  return (await import("../sampling/modelSampling.ts")).modelSampling(metadata);
}

/** A file's tokenizer, or the reason if it cannot be used. */
async function tryTokenizer(metadata: Metadata): Promise<Tokenizer | CentellaError> {
  try {
    return await loadTokenizer(metadata);
  } catch (error) {
    if (error instanceof CentellaError) return error;
    throw error;
  }
}
