import { CentellaError, OutOfMemoryError, type Runtime, UnsupportedError } from "@centella/core";
import { formatRejection, isQuantized } from "@centella/core/backend";
import {
  type ByteSource,
  type GgufFile,
  type GgufInput,
  hasFileSystem,
  type LocateOptions,
  type Metadata,
  openSource,
  readGguf,
} from "@centella/gguf";
import { checkOptions, checkValue } from "@centella/quant/checks";
import { chatTemplateKey, ModelError } from "../errors.ts";
import { Model } from "../model/model.ts";
import {
  type ActivationMode,
  type DecoderProgram,
  type DecoderSizes,
  type ModelDescription,
  recordDecoder,
} from "../model/modelBuilder.ts";
import { describeModel } from "../model/modelInfo.ts";
import { describeArchitecture } from "../models/index.ts";
import type { ModelSampling } from "../sampling/modelSampling.ts";
import { maxWaitingOf } from "../scheduler/queueOptions.ts";
import { type CompiledPlan, Scheduler } from "../scheduler/scheduler.ts";
import { loadTokenizer } from "../tokenizer/loadTokenizer.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { Adapters } from "./adapters.ts";
import { contextsToTry } from "./contextSize.ts";
import type { LayerSplit } from "./layersOnGpu.ts";
import type { LoadModelOptions } from "./loadOptions.ts";
import { loadKinds } from "./loadOptions.ts";
import { ModelSamples } from "./modelSamples.ts";

const defaultBatchSize = 512;
/** Logits of a run are at most this large; more rows take several runs. */
const maxLogitBytes = 2 ** 26;

/**
 * Loads a model from a GGUF file: a path (Node) or URL, a model on a hub (`hf:owner/repo:Q4_K_M`), a Blob or File, bytes, or any
 * `ByteSource`; of a split one, the path or URL of its first part, or a list of all parts, such as the `input` that `pull` gives.
 * `placeOf` of `@centella/gguf` is the rule for strings. The weights are streamed into the backend that the runtime selects for the
 * model's program. A source that is handed in stays open until the model is disposed of, and its owner must close it.
 * @throws {GgufError | ModelError | UnsupportedArchitectureError | UnsupportedError | ArgumentError | OutOfMemoryError}
 */
export async function loadModel(source: GgufInput | readonly GgufInput[], options: LoadModelOptions): Promise<Model> {
  const { runtime, signal } = checkOptions("loadModel", options, loadKinds);
  checkValue("loadModel", runtime, loadKinds.runtime, "pass await createRuntime(…)");
  const maxWaiting = maxWaitingOf(options.queue);
  const locate = locateOptions(options);
  const { file, closeFile } = await openFile(source, locate);
  let adapters: Adapters | undefined;
  const closeAll = async (): Promise<void> => {
    await adapters?.close();
    await closeFile();
  };
  try {
    const description = await describeArchitecture(file);
    // What few models are loaded with is code of its own, which a page need not have.
    if (options.adapters !== undefined) {
      const { openAdapters } = await import("./adapters.ts");
      adapters = await openAdapters(options.adapters, file.metadata.string("general.architecture"), locate);
    }
    let split: LayerSplit | undefined;
    if (options.layersOnGpu !== undefined) {
      const { splitLayers } = await import("./layersOnGpu.ts");
      split = splitLayers(runtime, options.layersOnGpu, description.config.layers);
    }
    const files = [file, ...(adapters?.files ?? [])];
    const samples = new ModelSamples(files);
    const open = async (sizes: Sizes): Promise<OpenedPlan> => {
      const { decoder, activations } = chooseActivations(runtime, split, options.activations, (mode) =>
        recordDecoder(description, file, { ...sizes, activations: mode }, adapters),
      );
      const plan = await runtime.compile(decoder.program, {
        ...(signal && { signal }),
        ...(split && { placement: split.place(decoder.program) }),
      });
      try {
        await loadWeights(plan, decoder, samples, options);
      } catch (error) {
        plan.dispose();
        throw error;
      }
      return { plan, decoder, sizes, activations };
    };
    const { opened, contextReason } = await openFitting(options, description, file, open);
    await samples.complete(signal);
    const { plan, decoder, sizes, activations } = opened;
    const { vocabSize, embeddingLength, isEncoder } = description.config;
    const { backend } = plan.selection;
    const states = { vocabSize, isEncoder, output: "states", width: embeddingLength } as const;
    const scheduler = new Scheduler(plan, backend, {
      ...sizes,
      ...(isEncoder ? states : { vocabSize, isEncoder, output: "logits" as const, width: vocabSize }),
    });
    const stateTransfer = scheduler.isRecurrent
      ? await (await import("../cache/recurrentStateTransfer.ts")).RecurrentStateTransfer.open(runtime, plan)
      : undefined;
    const ChatTemplate = file.metadata.has(chatTemplateKey)
      ? await (await import("../chat/chatTemplate.ts")).loadChatTemplate(file.metadata)
      : undefined;
    const { sampling, warnings } = await samplingOf(file.metadata);
    return new Model({
      ChatTemplate,
      tokenizer: await tryTokenizer(file.metadata),
      scheduler,
      async openEmbeddingScheduler() {
        if (isEncoder) return scheduler;
        const wider = { ...sizes, activations, maxRows: sizes.batchSize, result: "states" } as const;
        const { program } = recordDecoder(description, file, wider, adapters);
        return new Scheduler(await runtime.compile(program, { shareWith: plan }), backend, { ...wider, ...states });
      },
      info: describeModel(
        file,
        description,
        { ...sizes, activations },
        decoder,
        split ?? plan.selection,
        [...files.flatMap((one) => one.warnings), ...plan.warnings, ...warnings],
        contextReason,
        sampling,
      ),
      stateTransfer,
      async openCacheTransfer() {
        const { CacheTransfer, cacheLayers } = await import("../cache/cacheTransfer.ts");
        return new CacheTransfer(runtime, plan, cacheLayers(decoder.program.persistents.values()));
      },
      metadata: file.metadata,
      async identify() {
        const { fingerprint } = await import("./fingerprint.ts");
        return fingerprint(files, samples);
      },
      close: closeAll,
      maxWaiting,
    });
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** How files are opened that are not on this machine: pages keep what they download. */
function locateOptions({ signal, cache = hasFileSystem() ? undefined : true, onProgress }: LoadModelOptions): LocateOptions {
  const onDownload: LocateOptions["onDownload"] = (done, total) => {
    if (total !== undefined) onProgress?.(done, total, "download");
  };
  return { signal, cache, onDownload };
}

/** Opens what a path or URL names, which `closeFile` closes; a source handed in stays its owner's to close. */
async function openFile(
  source: GgufInput | readonly GgufInput[],
  options: LocateOptions,
): Promise<{ readonly file: GgufFile; readonly closeFile: () => Promise<void> }> {
  const inputs = isList(source) ? source : [source];
  if (inputs.every(isPlace)) {
    const file = await readGguf(source, options);
    return { file, closeFile: () => file.close() };
  }
  const signal = options.signal && { signal: options.signal };
  const opened: ByteSource[] = [];
  const closeFile = async (): Promise<void> => {
    for (const one of opened) await one.close?.();
  };
  try {
    const parts: GgufInput[] = [];
    for (const input of inputs) {
      if (!isPlace(input)) {
        parts.push(input);
        continue;
      }
      const part = await openSource(input, signal);
      opened.push(part);
      parts.push(part);
    }
    return { file: await readGguf(parts, signal), closeFile };
  } catch (error) {
    await closeFile();
    throw error;
  }
}

/** Sampling defaults that the file recommends. Most files have none, so the code that reads them is loaded on demand. */
async function samplingOf(metadata: Metadata): Promise<ModelSampling> {
  if (![...metadata.keys()].some((key) => key.startsWith("general.sampling."))) return { sampling: {}, warnings: [] };
  return (await import("../sampling/modelSampling.ts")).modelSampling(metadata);
}

function isList(source: GgufInput | readonly GgufInput[]): source is readonly GgufInput[] {
  return Array.isArray(source);
}

function isPlace(input: GgufInput): input is string | URL {
  return typeof input === "string" || input instanceof URL;
}

/** A file's tokenizer, or why there is none. */
async function tryTokenizer(metadata: Metadata): Promise<Tokenizer | CentellaError> {
  try {
    return await loadTokenizer(metadata);
  } catch (error) {
    if (error instanceof CentellaError) return error;
    throw error;
  }
}

type Sizes = Omit<DecoderSizes, "activations">;

/** A model's program, compiled and with its weights. */
interface OpenedPlan {
  readonly plan: CompiledPlan;
  readonly decoder: DecoderProgram;
  readonly sizes: Sizes;
  readonly activations: ActivationMode;
}

/** Opens a model with the context that the options ask for; "auto" makes do with a shorter one where the device runs out of memory. */
async function openFitting(
  options: LoadModelOptions,
  { config }: ModelDescription,
  file: GgufFile,
  open: (sizes: Sizes) => Promise<OpenedPlan>,
): Promise<{ readonly opened: OpenedPlan; readonly contextReason: string }> {
  const { sequences = 1 } = options;
  // An encoder computes a text in one run, and nothing is kept for later that would have to be small.
  const cacheType = options.cacheType ?? (config.isEncoder ? "f32" : "f16");
  const { memoryLimit, contextLength: wanted } = options;
  const weightBytes = file.tensors.reduce((sum, { bytes }) => sum + bytes, 0);
  const contexts = await contextsToTry({ wanted, config, sequences, cacheType, weightBytes, memoryLimit });
  for (const [i, { contextLength, reason }] of contexts.entries()) {
    const wantedBatch = options.batchSize ?? defaultBatchSize;
    const batchSize = config.isEncoder ? contextLength : Math.min(wantedBatch, contextLength);
    const fewerRows = Math.max(1, Math.min(batchSize, Math.floor(maxLogitBytes / (2 * 4 * config.vocabSize))));
    const rest = config.isEncoder ? ({ maxRows: contextLength, result: "states" } as const) : { maxRows: fewerRows };
    const isGeluRounded = options.activations !== "f32";
    try {
      const opened = await open({ contextLength, batchSize, sequences, cacheType, isGeluRounded, ...rest });
      return { opened, contextReason: reason };
    } catch (error) {
      if (!(error instanceof OutOfMemoryError) || i === contexts.length - 1) throw error;
    }
  }
  throw new ModelError("model: expected a context to try, got none; this is a bug, please report it");
}

/**
 * The program in the wanted mode. The mode never changes which backend is taken: that is the one selected for exact
 * arithmetic, which all of them have.
 * @throws {UnsupportedError} if the wanted mode is one that this backend, or one of a split's, does not have
 */
function chooseActivations(
  runtime: Runtime,
  split: LayerSplit | undefined,
  wanted: ActivationMode | undefined,
  record: (mode: ActivationMode) => DecoderProgram,
): { readonly decoder: DecoderProgram; readonly activations: ActivationMode } {
  const exact = record("f32");
  const isPlain = [...exact.program.persistents.values()].every(({ spec }) => !isQuantized(spec.dtype));
  if (wanted === "f32" || (isPlain && wanted === undefined)) return { decoder: exact, activations: "f32" };
  const rounded = record("ggml");
  if (split !== undefined) {
    const reason = split.unsupported(rounded.program);
    if (reason === undefined) return { decoder: rounded, activations: "ggml" };
    if (wanted === undefined) return { decoder: exact, activations: "f32" };
    throw new UnsupportedError('activations "ggml"', `${reason}; use "f32", or other backends`);
  }
  const { backend } = runtime.select(exact.program);
  const selection = runtime.select(rounded.program);
  if (selection.backend === backend) return { decoder: rounded, activations: "ggml" };
  if (wanted === undefined) return { decoder: exact, activations: "f32" };
  const rejection = selection.rejected.find((rejected) => rejected.backend === backend.name);
  const reason = rejection === undefined ? backend.name : formatRejection(rejection);
  throw new UnsupportedError('activations "ggml"', `${reason}; use "f32", or another backend`);
}

async function loadWeights(
  plan: CompiledPlan,
  { weights }: DecoderProgram,
  samples: ModelSamples,
  { signal, onProgress }: LoadModelOptions,
): Promise<void> {
  const total = weights.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  let last = 0;
  const report = (now: number): void => {
    if (now > last) onProgress?.(now, total, "load");
    last = now;
  };
  for (const weight of weights) {
    signal?.throwIfAborted();
    const before = done;
    await plan.load(weight.name, samples.watch(weight), { ...(signal && { signal }), onProgress: (part) => report(before + part) });
    done += weight.bytes;
    report(done);
  }
}
