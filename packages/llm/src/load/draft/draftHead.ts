import { BlockSequence } from "../../cache/blockSequence.ts";
import { cacheBytes } from "../../cache/cacheBytes.ts";
import type { HeadSequence } from "../../cache/headSequence.ts";
import { NextnSequence } from "../../cache/nextnSequence.ts";
import type { Sequence } from "../../cache/sequence.ts";
import type { KeptStates } from "../../model/keptStates.ts";
import type { DraftBlock, DraftDescription, ModelBuilder, ModelDescription, ModelSizes, Recordable } from "../../model/modelBuilder.ts";
import type { DraftModel } from "../../model/modelContext.ts";
import type { ModelInfo } from "../../model/modelInfo.ts";
import type { RecordedModel } from "../../model/recordModel.ts";
import type { FurtherInputs } from "../../scheduler/runInputs.ts";
import { Scheduler } from "../../scheduler/scheduler.ts";
import type { CompiledModel, ProgramSource } from "../compileModel.ts";
import type { LoadModelOptions } from "../loadOptions.ts";
import type { ReservedMemory } from "../modelPlace.ts";
import type { HeadSizes } from "../modelShape.ts";

/** What drafts a model's tokens by its hidden states, to be opened once the model is compiled. */
export interface DraftHead {
  /** What the model has to keep. */
  readonly keeps: KeptStates<ModelBuilder>;
  /** Memory besides the model's: the head's weights, its keys and values, and the kept states. */
  readonly reserved: ReservedMemory;
  open(source: ProgramSource, compiled: CompiledModel): Promise<OpenedHead>;
}

/** Describes the head of a model. @throws {ModelError | UnsupportedError} for a head that is not the model's */
export type DescribeHead = (description: ModelDescription) => Promise<DraftHead>;

/** A head whose weights are loaded. */
export interface OpenedHead {
  readonly draft: DraftModel;
  /** Describes the head's file, if it has one of its own. */
  readonly info: ModelInfo | undefined;
}

/** Where a head comes from. */
export interface HeadSource {
  readonly description: DraftDescription;
  /** Bytes of the weights that are loaded besides the model's. */
  readonly weightBytes: number;
  /** Records the head's program. */
  record(sizes: ModelSizes): RecordedModel;
  /** Describes the head's file, if it has one of its own, by the weights that are loaded besides the model's. */
  describe?(weights: RecordedModel["weights"], compiled: CompiledModel): ModelInfo;
}

/** Options of a head. */
export type HeadOptions = Pick<DraftModel, "tokens" | "minProbability"> &
  Pick<LoadModelOptions, "cacheType" | "sequences" | "signal" | "onProgress">;

/** What a head's program is recorded from. */
export function draftProgram({ config, forward, keeps }: DraftDescription): Recordable {
  return { config, forward, ...(keeps.width > 0 && { keeps: { width: keeps.width } }) };
}

/** A head that drafts in slots of the model's own sequences. */
export function draftHead(head: HeadSource, options: HeadOptions): DraftHead {
  const { minProbability, cacheType = "f16", sequences = 1 } = options;
  const { config, keeps, block, sharesCache = false } = head.description;
  const tokens = block === undefined ? options.tokens : Math.min(options.tokens, block.size - block.firstRow);
  const cached = {
    ...config,
    ...(sharesCache && { hasCache: (layer: number) => layer === config.layers - 1, headsOf: noHeads }),
    extraCache: { unusedUpTo: 0, elementsOf: () => keeps.width },
  };
  return {
    keeps,
    reserved: {
      bytesFor: (contextLength) => head.weightBytes + cacheBytes(cached, cacheType, contextLength, sequences),
      isShared: true,
    },
    async open(source, compiled) {
      const { scheduler, loaded } = await compileHead(head, source, compiled, { ...options, tokens });
      const newSequence = sequenceMaker(head.description, tokens, scheduler.contextLength);
      const sequencesOf = new WeakMap<Sequence, HeadSequence>();
      const draft: DraftModel = {
        scheduler,
        tokens,
        minProbability,
        async open(text, { target }) {
          const isOver = block !== undefined && text.length + tokens + block.firstRow > scheduler.contextLength + 1;
          if (target.isParked || text.length < 2 || isOver) return undefined;
          const sequence = sequencesOf.get(target) ?? newSequence(target);
          sequencesOf.set(target, sequence);
          return { sequence, ids: sequence.begin(text), firstRow: block?.firstRow, close: () => sequence.end() };
        },
        free: () => undefined,
        dispose: () => scheduler.dispose(),
      };
      return { draft, info: head.describe?.(loaded, compiled) };
    },
  };
}

/** Returns how a head reads a model's sequence. */
function sequenceMaker(
  { block, sharesCache }: DraftDescription,
  tokens: number,
  contextLength: number,
): (target: Sequence) => HeadSequence {
  if (block === undefined) return (target) => new NextnSequence(target, contextLength, sharesCache);
  const masks = new Array<number>(tokens + block.firstRow - 1).fill(block.maskId);
  return (target) => new BlockSequence(target, contextLength, masks);
}

const noHeads = (): HeadSizes => ({ heads: 0, kvHeads: 0, keyLength: 0, valueLength: 0 });

/** Where the drafts of a run's sequences start, for each token. */
const draftStarts: FurtherInputs = (slices) => ({
  data: {
    draftStarts: Int32Array.from(
      slices.flatMap(({ request: { sequence }, count }) => Array(count).fill(sequence instanceof NextnSequence ? sequence.draftStart : 0)),
    ),
  },
  dims: {},
});

/** Sizes of runs of blocks, each in a single run. */
function blockSizes(
  { firstRow, isAlone }: DraftBlock,
  tokens: number,
  { batchSize, maxRows, sequences }: ModelSizes,
): Pick<ModelSizes, "batchSize" | "maxRows"> {
  const size = tokens + firstRow;
  const count = isAlone ? 1 : Math.max(1, Math.min(sequences, Math.floor(Math.min(batchSize, maxRows) / size)));
  return { batchSize: count * size, maxRows: count * size };
}

/** Compiles the head's program over the model's states and tables, and loads the weights that it has besides. */
async function compileHead(
  { description, record }: HeadSource,
  { runtime }: ProgramSource,
  { plan, program: model, sizes }: CompiledModel,
  { tokens, signal, onProgress }: HeadOptions,
): Promise<{ readonly scheduler: Scheduler; readonly loaded: RecordedModel["weights"] }> {
  const { block } = description;
  const own = { ...sizes, runsInFlight: 1, ...(block && blockSizes(block, tokens, sizes)) };
  const { program, weights } = record(own);
  const known = new Set(model.weights.map(({ name }) => name));
  const loaded = weights.filter(({ name }) => !known.has(name));
  const shared = await runtime.compile(program, { shareWith: plan });
  try {
    const total = loaded.reduce((sum, { bytes }) => sum + bytes, 0);
    let done = 0;
    for (const { name, source, bytes } of loaded) {
      await shared.load(name, source, signal && { signal });
      done += bytes;
      onProgress?.(done, total, "load");
    }
  } catch (error) {
    shared.dispose();
    throw error;
  }
  const { vocabSize } = description.config;
  const options = {
    ...own,
    vocabSize,
    isEncoder: block !== undefined,
    isRecurrent: false,
    backends: runtime.backends,
    output: "logits",
    width: vocabSize,
    further: description.sharesCache ? draftStarts : undefined,
  } as const;
  return { scheduler: new Scheduler(shared, plan.selection.backend, options), loaded };
}
