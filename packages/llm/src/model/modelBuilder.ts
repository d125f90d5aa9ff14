import { type Activations, type ConcreteSpec, createRecorder, type OpRecorder, type SymbolicDim, type Value } from "@centella/core";
import type { GgufFile } from "@centella/gguf";
import { blocksOf, blockTokens } from "../cache/prefixCache.ts";
import { stateRowsPerSequence } from "../cache/recurrentStatePool.ts";
import { ModelError } from "../errors.ts";
import type { AdapterTables, RecordedAdapters } from "../load/adapters.ts";
import { type ModelPart, type Weight, WeightTable } from "../load/weights.ts";
import type { ModelConfig } from "../models/config.ts";
import { ChosenTokens } from "./chosenTokens.ts";
import { type KeptStates, KeptStateTable } from "./keptStates.ts";

/**
 * Arithmetic of products with weights that are not f32, and of attention; see the `matmul` op. "f32" is exact on the dequantised weights,
 * "half" permits the backend to round operands to f16 or bf16, and "ggml" rounds activations as ggml's CPU code does.
 */
export type ActivationMode = Activations;

/** Element type of the key-value cache. "q8_0" requires that the widths of a head's key and value add up to a multiple of 32. */
export type CacheType = "f32" | "f16" | "q8_0";

/** Sizes that a program is recorded for. */
export interface ModelSizes {
  /** Maximum number of tokens in a sequence. */
  readonly contextLength: number;
  /** Number of sequences in the cache. */
  readonly sequences: number;
  /** Maximum number of tokens in a run. */
  readonly batchSize: number;
  /** Maximum number of tokens in a run whose logits are computed. */
  readonly maxRows: number;
  readonly cacheType: CacheType;
  readonly activations: ActivationMode;
  /** Whether GELU's input and output are rounded to f16: ggml's CPU code looks it up in a table of f16 values. */
  readonly isGeluRounded: boolean;
  /** Maximum number of runs that are queued at once. With more than one, tokens may come from the run before, on the device. */
  readonly runsInFlight: number;
  /** Maximum number of sequences in a run. Default: `sequences`. */
  readonly sequencesPerRun?: number;
  /** The program's result: logits, or the states that the output layer reads. Default "logits". */
  readonly result?: "logits" | "states";
}

/** Options of the `attention` op that models differ in; 0 is none. */
export interface AttendOptions {
  /** Factor of q·k before the softmax. */
  readonly scale?: number | undefined;
  readonly softcap?: number;
  /** Tokens that a query sees. */
  readonly window?: number;
  /** Bias that grows with distance, of the first head; see the op. */
  readonly alibi?: number;
  readonly causal?: boolean;
  /** Score `[H]` of each head for attending to nothing. */
  readonly sinks?: Value;
  /** Bias `[H, 2R + 1]` of scores by distance; see the op. */
  readonly bias?: Value;
  /** What queries see: the sum over these tables, of which a query sees keys in one at most. Default: all of its text. */
  readonly tables?: readonly KeyTable[] | undefined;
}

/** Keys of a cache among which queries see some; see the inputs of the op `attention`. */
export interface KeyTable {
  /** Positions of the queries `[T]`, by which they see and weigh keys. */
  readonly positions: Value;
  /** Row of the table `[T]` that has each query's keys. */
  readonly rows: Value;
  /** Numbers of blocks `[rows, blocks]`, and how many keys each row has `[rows]`. */
  readonly blocks: Value;
  readonly lengths: Value;
  readonly blockSize: number;
  /** Whether a query sees all keys of its row. */
  readonly isChosen?: boolean;
}

/** A recurrent layer's state of all sequences, and the row of each token's sequence. */
export interface RecurrentState {
  /** `[rows, …]` */
  readonly tensor: Value;
  /** `[T]` */
  readonly rows: Value;
}

/** How one file's model is computed. */
export interface ModelDescription {
  readonly config: ModelConfig;
  /** Records the forward pass, from ids to logits `[nOut, V]` or states `[nOut, d]`. */
  forward(builder: ModelBuilder): Value;
  /** The block that predicts further tokens, if the file has one and the family computes it: a model of one layer, which reads kept states. */
  readonly nextn?: (() => Promise<DraftDescription>) | undefined;
  /** The states that the model keeps. Default: none. */
  readonly keeps?: KeptStates<ModelBuilder> | undefined;
}

/** What a program is recorded from. */
export interface Recordable extends Pick<ModelDescription, "config" | "forward" | "keeps"> {
  /** Prefix of the weights' names in the program, for a file besides the model's: its owner's name and a dot. Default: none. */
  readonly prefix?: string;
}

/** How the next tokens of a model are drafted: by layers after the model's own, which read the states that the model keeps. */
export interface DraftDescription extends Pick<ModelDescription, "config" | "forward"> {
  /** What the model has to keep. */
  readonly keeps: KeptStates<ModelBuilder>;
  /**
   * Whether it attends to the model's keys and values alone. Then it computes only the newest token of a text and those of the draft. The input
   * `draftStarts [T]` has the position of the token before the newest one.
   */
  readonly sharesCache?: boolean;
  /** Set if it predicts all tokens of a draft at once: in a run of the newest token and masked ones, with logits of each. */
  readonly block?: DraftBlock;
}

/** The tokens that a draft is predicted from at once. */
export interface DraftBlock {
  /** Maximum number of tokens, the newest one of the text included. */
  readonly size: number;
  /** The token that stands for one that is not known. */
  readonly maskId: number;
  /** The first row that predicts a token of the draft: that of the newest token, 0, or that of the first masked one, 1. */
  readonly firstRow: 0 | 1;
  /** Whether a run has the tokens of one text alone. */
  readonly isAlone: boolean;
}

/**
 * Records a model's forward pass: the run's inputs, the cache and states, and products that know the activation mode and the adapters.
 * The cache has blocks of {@link blockTokens} slots: as many as all sequences need when they are full.
 */
export class ModelBuilder {
  readonly program: OpRecorder;
  readonly config: ModelConfig;
  readonly weights: WeightTable;
  readonly adapters: AdapterTables | undefined;
  /** Tokens of the run. */
  readonly T: SymbolicDim;
  /** Ids `[T]`. */
  readonly tokens: Value;
  /** Positions in their sequences `[T]`. */
  readonly positions: Value;
  /** Indices `[nOut]` of the tokens whose logits leave the run. */
  readonly outRows: Value;
  /** See {@link ModelSizes}. */
  readonly contextLength: number;
  /** See {@link ModelSizes}. */
  readonly isGeluRounded: boolean;
  readonly result: "logits" | "states";
  /** Specs of the persistents that hold the layers' caches, by name. */
  readonly cacheSpecs: Map<string, ConcreteSpec> = new Map();
  /** Specs of the persistents that hold the recurrent layers' states, by name. */
  readonly stateSpecs: Map<string, ConcreteSpec> = new Map();
  /** See {@link ModelSizes}. */
  readonly activations: ActivationMode;
  /** The keys of each sequence, in order of position. */
  readonly texts: KeyTable;
  /** Slots of the caches that the tokens' keys are written to `[T]`. */
  readonly slots: Value;
  /** What the model keeps for its drafts. */
  readonly kept: KeptStateTable<ModelBuilder>;
  /** Tensors of other files. */
  readonly #otherWeights = new Map<GgufFile, WeightTable>();
  readonly #caches: ReadonlyMap<number, Value>;
  /** The newest versions of the layers' caches. */
  readonly #written = new Map<number, Value>();
  readonly #states: ReadonlyMap<string, RecurrentState>;
  readonly #parts = new Map<string, ModelPart>();
  readonly #chosen: ChosenTokens | undefined;
  /** Embedding tables. A table's own adapter is one of its rows, not of the output layer that it may be as well. */
  readonly #tables = new Set<Value>();

  constructor({ config, keeps, prefix }: Recordable, file: GgufFile, sizes: ModelSizes, adapters: RecordedAdapters | undefined) {
    const program = createRecorder();
    this.program = program;
    this.config = config;
    this.contextLength = sizes.contextLength;
    this.isGeluRounded = sizes.isGeluRounded;
    this.result = sizes.result ?? "logits";
    this.activations = sizes.activations;
    this.T = program.dim("T", sizes.batchSize);
    const nSeq = program.dim("nSeq", sizes.sequencesPerRun ?? sizes.sequences);
    const tokens = program.input("tokens", "i32", [this.T]);
    this.positions = program.input("positions", "i32", [this.T]);
    this.slots = program.input("slots", "i32", [this.T]);
    this.texts = {
      positions: this.positions,
      rows: program.input("seqOf", "i32", [this.T]),
      blocks: program.input("blockTable", "i32", [nSeq, blocksOf(sizes.contextLength)]),
      lengths: program.input("seqLens", "i32", [nSeq]),
      blockSize: blockTokens,
    };
    this.outRows = program.input("outRows", "i32", [program.dim("nOut", sizes.maxRows)]);
    this.#chosen = sizes.runsInFlight > 1 ? new ChosenTokens(program, sizes) : undefined;
    this.tokens = this.#chosen?.read(tokens) ?? tokens;
    this.#caches = new Map([config, keeps?.joined?.cached].flatMap((of) => (of === undefined ? [] : this.#declareCaches(of, sizes))));
    this.#states = this.#declareStates(sizes);
    this.kept = new KeptStateTable(this, keeps, this.#declareKeptStates(sizes, keeps?.width ?? 0));
    this.weights = new WeightTable(program, file, prefix);
    this.adapters = adapters?.record(this);
  }

  /** The part of the model that each persistent belongs to. */
  get parts(): ReadonlyMap<string, ModelPart> {
    const others = [...this.#otherWeights.values()].flatMap(({ parts }) => [...parts]);
    return new Map([...this.#parts, ...this.weights.parts, ...others, ...(this.adapters?.parts ?? [])]);
  }

  /** Tensors of another file, some of which the program uses. Their persistents have names with the prefix. */
  weightsOf(file: GgufFile, prefix: string): WeightTable {
    const table = this.#otherWeights.get(file) ?? new WeightTable(this.program, file, prefix);
    this.#otherWeights.set(file, table);
    return table;
  }

  /** Weights of other files that the program uses. */
  get otherWeights(): readonly Weight[] {
    return [...this.#otherWeights.values()].flatMap((table) => table.requested());
  }

  /** `x [..., k] · w [n, k]ᵀ` in the recording's mode, times a scale if there is one, adapters added. */
  linear(x: Value, w: Value, scale?: Value): Value {
    const product = this.#multiply(x, w);
    const y = scale === undefined ? product : this.program.mul(product, scale);
    const origin = this.#tables.has(w) ? undefined : this.weights.originOf(w);
    return this.adapters === undefined || origin === undefined ? y : this.adapters.addTo(y, x, origin, (z, v) => this.#multiply(z, v));
  }

  /** Rows `ids` of a table `[V, d]`, adapters included. */
  lookUp(table: Value, ids: Value): Value {
    this.#tables.add(table);
    const y = this.program.embedding(table, ids);
    const origin = this.weights.originOf(table);
    if (this.adapters === undefined || origin === undefined) return y;
    return this.adapters.addToRows(y, ids, origin, (x, w) => this.#multiply(x, w));
  }

  /** The mode of products with a weight. Products with f32 weights are exact in every mode. */
  activationsFor({ spec: { dtype } }: Value): ActivationMode {
    return dtype === "f32" ? "f32" : this.activations;
  }

  /** Writes `k [T, Hkv, dK]` and `v [T, Hkv, dV]` to a layer's cache and attends with `q [T, H, dK]`: `[T, H, dV]`. */
  attend(layer: number, q: Value, k: Value, v: Value, options: AttendOptions & { readonly scale: number }): Value {
    this.writeCache(layer, k, v);
    return this.attendTo(layer, q, options);
  }

  /** Writes `k [T, Hkv, dK]` and `v [T, Hkv, dV]` to a layer's cache: its newest version `[slots, Hkv, dK + dV]`. */
  writeCache(layer: number, k: Value, v: Value): Value {
    const cache = this.program.kvWrite(declared(this.#caches, layer), k, v, this.slots);
    this.#written.set(layer, cache);
    return cache;
  }

  /** Attends with `q [T, H, dK]` to what an earlier layer, or an earlier program, has written to its cache: `[T, H, dV]`. */
  attendTo(layer: number, q: Value, { tables = [this.texts], ...options }: AttendOptions & { readonly scale: number }): Value {
    const { program } = this;
    const cache = this.#written.get(layer) ?? declared(this.#caches, layer);
    const activations = this.activations === "half" ? "half" : "f32";
    return tables
      .map(({ positions, rows, blocks, lengths, blockSize, isChosen = false }) => {
        const params = { ...options, blockSize, activations, ...(isChosen && { causal: false }) } as const;
        return program.attention(q, cache, positions, rows, blocks, lengths, params);
      })
      .reduce((sum, y) => program.add(sum, y));
  }

  /** Declares a tensor that is saved and restored with the tokens of its slots. */
  declareCache(name: string, layer: number, spec: ConcreteSpec): Value {
    this.cacheSpecs.set(name, spec);
    return this.#declareState(name, layer, spec);
  }

  /** Keeps the tokens `[nOut]` that follow the output rows on the device, for the next run. */
  keepChosen(tokens: Value): void {
    this.#chosen?.write(tokens);
  }

  /** The requested rows `[nOut, …]` of `x [T, …]`. */
  pick(x: Value): Value {
    const { program, outRows } = this;
    return x.spec.shape.length === 2 ? program.embedding(x, outRows) : program.gather(x, outRows, { axis: 0 });
  }

  /** A state of a recurrent layer; see {@link ModelConfig.states}. */
  state(name: string): RecurrentState {
    return declared(this.#states, name);
  }

  /** `x · by` */
  scale(x: Value, by: number): Value {
    return by === 1 ? x : this.program.scale(x, { by });
  }

  /** Leaves out tensors that take no part in the result, and their adapters. `*` in a name stands for every layer. */
  ignore(...names: readonly string[]): void {
    const layers = Array.from({ length: this.config.layers }, (_, layer) => String(layer));
    const all = names.flatMap((name) => (name.includes("*") ? layers.map((layer) => name.replace("*", layer)) : [name]));
    this.weights.ignore(...all);
    this.adapters?.ignore(...all);
  }

  #multiply(x: Value, w: Value): Value {
    return this.program.matmul(x, w, { transposeB: true, activations: this.activationsFor(w) });
  }

  #declareCaches(
    { layers, hasCache, headsOf }: Pick<ModelConfig, "layers" | "hasCache" | "headsOf">,
    { sequences, contextLength, cacheType }: ModelSizes,
  ): readonly (readonly [layer: number, cache: Value])[] {
    const indices = Array.from({ length: layers }, (_, layer) => layer).filter((layer) => hasCache(layer));
    return indices.map((layer) => {
      const { kvHeads, keyLength, valueLength } = headsOf(layer);
      const slots = sequences * blocksOf(contextLength) * blockTokens;
      return [layer, this.declareCache(`cache.${layer}`, layer, { dtype: cacheType, shape: [slots, kvHeads, keyLength + valueLength] })];
    });
  }

  #declareKeptStates({ sequences, contextLength, cacheType }: ModelSizes, width: number): Value | undefined {
    if (width === 0) return undefined;
    const dtype = cacheType === "q8_0" ? "f16" : cacheType;
    const shape = [sequences * blocksOf(contextLength) * blockTokens, 1, width];
    return this.declareCache("cache.states", Math.max(0, this.config.layers - 1), { dtype, shape });
  }

  #declareStates({ sequences }: ModelSizes): ReadonlyMap<string, RecurrentState> {
    const tensors = this.config.states.map(({ name, layer, shape }) => {
      const spec = { dtype: "f32", shape: [sequences * stateRowsPerSequence, ...shape] } as const;
      this.stateSpecs.set(name, spec);
      return [name, this.#declareState(name, layer, spec)] as const;
    });
    if (tensors.length === 0) return new Map();
    const rows = this.program.input("stateRows", "i32", [this.T]);
    return new Map(tensors.map(([name, tensor]) => [name, { tensor, rows }]));
  }

  #declareState(name: string, layer: number, spec: ConcreteSpec): Value {
    this.#parts.set(name, layer);
    return this.program.persistent(name, spec, { init: "zeros" });
  }
}

/** The value of a key. @throws {ModelError} if the family's config declares no such cache or state */
function declared<K, V>(values: ReadonlyMap<K, V>, key: K): V {
  const value = values.get(key);
  if (value === undefined)
    throw new ModelError(`model: expected a cache or state ${String(key)}, got none; declare it in the family's config`);
  return value;
}
