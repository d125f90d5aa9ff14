import { OutOfMemoryError, type Runtime, type Selection } from "@centella/core";
import type { GgufFile } from "@centella/gguf";
import { textsTogether } from "../cache/sequencePool.ts";
import { ModelError } from "../errors.ts";
import type { ActivationMode, ModelDescription, ModelSizes } from "../model/modelBuilder.ts";
import { type RecordedModel, recordModel } from "../model/recordModel.ts";
import type { RunnablePlan } from "../scheduler/batch.ts";
import type { CompiledPlan } from "../scheduler/scheduler.ts";
import { chooseActivations, likelyMode } from "./activations.ts";
import type { Adapters, RecordedAdapters } from "./adapters.ts";
import { contextsToTry } from "./contextSize.ts";
import type { LayerSplit } from "./layersOnGpu.ts";
import type { LoadModelOptions } from "./loadOptions.ts";
import { defaultBatchSize, type ModelPlace, type ReservedMemory } from "./modelPlace.ts";
import type { ModelSamples } from "./modelSamples.ts";
import { attendsAhead } from "./modelShape.ts";
import { placeModel } from "./placeModel.ts";

/** The context "auto" is shortened down to this many tokens so that all layers fit on a GPU. After that, layers move to the CPU. */
const minWholeContext = 4096;
/** Maximum bytes of the logits of one run. More rows take several runs. */
const maxLogitBytes = 2 ** 26;

/** What a model's program is recorded from, and where it is compiled. */
export interface ProgramSource {
  readonly runtime: Runtime;
  readonly file: GgufFile;
  readonly description: ModelDescription;
  readonly adapters: Adapters | undefined;
  /** Memory that is kept free, for a draft model. */
  readonly reserved?: ReservedMemory | undefined;
}

/** A compiled model whose weights are loaded. */
export interface CompiledModel {
  readonly plan: CompiledPlan;
  /** {@link plan}, or with named adapters what chooses between it and one without them. Owns the plan. */
  readonly runnable: RunnablePlan;
  readonly program: RecordedModel;
  readonly sizes: ModelSizes;
  readonly place: ModelPlace;
  /** Reason for the length of the context. */
  readonly contextReason: string;
}

/** Where a model is computed, and why. */
export function chosenFor({ place: { split, reason }, plan: { selection } }: CompiledModel): Selection | LayerSplit {
  return split ?? (reason === undefined ? selection : { ...selection, reason: `${selection.reason}; ${reason}` });
}

/** Sizes that do not depend on where the model is computed. */
type CacheSizes = Pick<ModelSizes, "contextLength" | "sequences" | "cacheType">;

/**
 * Compiles a model with the context that the options ask for and loads its weights. With the context "auto", shorter ones are tried if the
 * device runs out of memory, or would not hold all layers.
 * @throws {OutOfMemoryError | UnsupportedError | ModelError}; the signal's reason
 */
export async function compileModel(source: ProgramSource, samples: ModelSamples, options: LoadModelOptions): Promise<CompiledModel> {
  const { config } = source.description;
  const { sequences = 1, memoryLimit, contextLength: wanted } = options;
  // A text that is computed in a single run keeps no keys and values whose size would matter.
  const cacheType = options.cacheType ?? (attendsAhead(config) ? "f32" : "f16");
  const weightBytes = source.file.tensors.reduce((sum, { bytes }) => sum + bytes, 0);
  const contexts = await contextsToTry({
    wanted,
    config,
    sequences,
    cacheType,
    weightBytes,
    memoryLimit,
    reserved: source.reserved?.bytesFor,
  });
  for (const [i, { contextLength, reason }] of contexts.entries()) {
    const mayShorten = (contexts[i + 1]?.contextLength ?? 0) >= minWholeContext;
    try {
      const compiled = await compileWith(source, { contextLength, sequences, cacheType }, samples, options, mayShorten);
      if (compiled !== undefined) return { ...compiled, contextReason: reason };
    } catch (error) {
      if (!(error instanceof OutOfMemoryError) || i === contexts.length - 1) throw error;
    }
  }
  throw new ModelError("model: expected a context to try, got none; this is a bug, please report it");
}

function runSizes(
  config: ModelDescription["config"],
  { contextLength, sequences }: CacheSizes,
  wantedBatch: number,
): Pick<ModelSizes, "batchSize" | "maxRows" | "sequencesPerRun" | "result"> {
  const { isEncoder, vocabSize } = config;
  if (isEncoder) {
    const sequencesPerRun = sequences * textsTogether(contextLength, false);
    return { batchSize: contextLength, maxRows: contextLength, sequencesPerRun, result: "states" };
  }
  const batchSize = attendsAhead(config) ? contextLength : Math.min(wantedBatch, contextLength);
  return { batchSize, maxRows: Math.max(1, Math.min(batchSize, Math.floor(maxLogitBytes / (2 * 4 * vocabSize)))) };
}

/**
 * Number of runs to queue at once. It is 1 for recurrent models, whose state cannot go back to before a token that is dropped, for models
 * on two backends, whose runs the host takes part in, for encoders and diffusion, whose runs do not choose the next token, and for decoders
 * that attend to an encoder's states, which the host has.
 */
function runsInFlightFor(config: ModelDescription["config"], { backend, split }: ModelPlace, options: LoadModelOptions): number {
  if (config.states.length > 0 || attendsAhead(config) || config.decoderStart !== undefined || split !== undefined) return 1;
  return options.runsInFlight ?? backend.runsInFlight ?? 1;
}

/** A model that was recorded to choose its place. */
interface DraftedModel {
  readonly draft: RecordedModel;
  readonly sizes: ModelSizes;
  readonly place: ModelPlace;
}

/** Compiles and loads a model. Undefined if a shorter context should be tried first, because some layers do not fit on the GPU. */
async function compileWith(
  { runtime, file, description, adapters, reserved }: ProgramSource,
  cacheSizes: CacheSizes,
  samples: ModelSamples,
  options: LoadModelOptions,
  mayShorten: boolean,
): Promise<Omit<CompiledModel, "contextReason"> | undefined> {
  const { config } = description;
  const sizesFor = (activations: ActivationMode, batchSize: number, runsInFlight: number): ModelSizes => ({
    ...cacheSizes,
    ...runSizes(config, cacheSizes, options.batchSize ?? batchSize),
    activations,
    runsInFlight,
    isGeluRounded: activations !== "half" && options.activations !== "f32",
  });
  const record = (sizes: ModelSizes, recorded: RecordedAdapters | undefined = adapters): RecordedModel =>
    recordModel(description, file, sizes, recorded);
  // The program decides which backend is selected, and the backend how many tokens a run has.
  const likely = likelyMode(runtime, file, options.activations);
  const drafted = async (mode: ActivationMode): Promise<DraftedModel> => {
    const sizes = sizesFor(mode, defaultBatchSize, 1);
    const draft = record(sizes);
    const reservedBytes = reserved?.isShared ? reserved.bytesFor(cacheSizes.contextLength) : 0;
    return { draft, sizes, place: await placeModel(options, draft, config.layers, reservedBytes) };
  };
  const first = await drafted(likely?.activations ?? "f32");
  // A mode never changes which backend is selected.
  const isPlaced = likely === undefined || first.place.backend === likely.backend;
  const { draft, sizes: draftSizes, place } = isPlaced ? first : await drafted("f32");
  if (mayShorten && place.split !== undefined && (options.layersOnGpu ?? "auto") === "auto") return undefined;
  const { batchSize } = place;
  const runsInFlight = runsInFlightFor(config, place, options);
  const recordIn = (mode: ActivationMode): RecordedModel => {
    const sizes = sizesFor(mode, batchSize, runsInFlight);
    const isDraft = mode === draftSizes.activations && sizes.batchSize === draftSizes.batchSize && runsInFlight === 1;
    return isDraft ? draft : record(sizes);
  };
  const { program, activations } = chooseActivations(runtime, place, options.activations, draft, recordIn);
  const plan = await runtime.compile(program.program, {
    background: true,
    ...(options.signal && { signal: options.signal }),
    ...(place.split && { placement: place.split.place(program) }),
  });
  const sizes = sizesFor(activations, batchSize, runsInFlight);
  try {
    // The extents of what a decoder attends to are not known.
    const prepared = config.decoderStart === undefined ? prepareOn(plan, sizes) : Promise.resolve();
    // A kernel's failure is reported once the weights are loaded.
    prepared.catch(() => undefined);
    await loadWeights(plan, program, samples, options);
    await prepared;
    const runnable = await runnableOf({ runtime, adapters }, plan, sizes, (recorded) => record(sizes, recorded));
    options.signal?.throwIfAborted();
    return { plan, runnable, program, sizes, place };
  } catch (error) {
    plan.dispose();
    throw error;
  }
}

/** The plan, with another one for runs that use none of the named adapters, if there are any. */
async function runnableOf(
  { runtime, adapters }: Pick<ProgramSource, "runtime" | "adapters">,
  adapted: CompiledPlan,
  sizes: ModelSizes,
  record: (adapters: RecordedAdapters) => RecordedModel,
): Promise<RunnablePlan> {
  if (adapters === undefined || adapters.names.length === 0) return adapted;
  const { adaptedPlan } = await import("./adaptedPlan.ts");
  return adaptedPlan({ runtime, adapters, adapted, record, prepare: (plan) => prepareOn(plan, sizes) });
}

/** Where kernels are compiled for extents, as on GPUs, has those of the model's runs compiled. */
async function prepareOn(plan: Pick<CompiledPlan, "prepare">, sizes: ModelSizes): Promise<void> {
  if (plan.prepare === undefined) return;
  const { prepareRuns } = await import("./prepareRuns.ts");
  await prepareRuns(plan, sizes);
}

async function loadWeights(
  plan: CompiledPlan,
  { weights }: RecordedModel,
  samples: ModelSamples,
  { signal, onProgress }: LoadModelOptions,
): Promise<void> {
  const total = weights.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  let reported = 0;
  const report = (bytes: number): void => {
    if (bytes > reported) onProgress?.(bytes, total, "load");
    reported = bytes;
  };
  for (const weight of weights) {
    signal?.throwIfAborted();
    const before = done;
    await plan.load(weight.name, samples.watch(weight), { ...(signal && { signal }), onProgress: (part) => report(before + part) });
    done += weight.bytes;
    report(done);
  }
}
