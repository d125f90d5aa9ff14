import { CentellaError, createRecorder, type OpRecorder, type SymbolicDim, UnsupportedError, type Value } from "@centella/core";
import type { GgufFile } from "@centella/gguf";
import { blocksOf, blockTokens } from "../cache/prefixCache.ts";
import { stateRowsPerSequence } from "../cache/recurrentStatePool.ts";
import { ModelError } from "../errors.ts";
import type { Adapters } from "../load/adapters.ts";
import type { ModelShape } from "../load/modelShape.ts";
import { type Weight, WeightTable } from "../load/weights.ts";

/**
 * How weights are multiplied that are not f32: "ggml" first rounds activations as ggml's CPU code does, to 8-bit blocks for block types
 * (see the `matmul` op), to the weights' own type for f16 and bf16.
 */
export type ActivationMode = "ggml" | "f32";

/** Element type of the key-value cache; "q8_0" wants heads whose keys and values are together a multiple of 32 wide. */
export type CacheType = "f32" | "f16" | "q8_0";

/** Sizes that a program is recorded for. */
export interface DecoderSizes {
  /** Tokens of a sequence, at most. */
  readonly contextLength: number;
  /** Sequences that the cache holds. */
  readonly sequences: number;
  /** Tokens of a run, at most. */
  readonly batchSize: number;
  /** Rows of a run that logits are computed of, at most. */
  readonly maxRows: number;
  readonly cacheType: CacheType;
  readonly activations: ActivationMode;
  /** GELU is taken and given in f16: ggml's CPU code looks it up in a table of f16 values. */
  readonly isGeluRounded: boolean;
  /** What comes out: logits, or what they would be computed from. Default "logits". */
  readonly result?: "logits" | "states";
}

/** What a model's forward pass is recorded with. */
export interface ModelBuilder {
  readonly program: OpRecorder;
  readonly weights: WeightTable;
  /** Tokens of the run. */
  readonly T: SymbolicDim;
  /** Ids `[T]`. */
  readonly tokens: Value;
  /** Positions in their sequences `[T]`. */
  readonly positions: Value;
  /** Indices `[nOut]` of the tokens whose logits leave the run. */
  readonly outRows: Value;
  /** Tokens of a sequence, at most. */
  readonly contextLength: number;
  /** See {@link DecoderSizes}. */
  readonly isGeluRounded: boolean;
  readonly result: "logits" | "states";
  /** `x [..., k] · w [n, k]ᵀ` in the recording's mode, times a scale where there is one, adapters added. */
  linear(x: Value, w: Value, scale?: Value): Value;
  /** The same of each token with the experts that `ids [T, k]` names: see the `moeMatmul` op. */
  expertLinear(x: Value, experts: Value, ids: Value, scale?: Value): Value;
  /** What a recurrent layer keeps; see {@link ModelShape}. */
  state(name: string): RecurrentState;
  /** Rows `ids` of a table `[V, d]`, adapters included. */
  lookUp(table: Value, ids: Value): Value;
  /** Leaves tensors out that take no part in the result. */
  ignore(...names: readonly string[]): void;
  /** Writes `k [T, Hkv, dK]` and `v [T, Hkv, dV]` to a layer's cache and attends with `q [T, H, dK]`: `[T, H, dV]`. */
  attend(layer: number, q: Value, k: Value, v: Value, options: AttendOptions): Value;
}

/** See the `attention` op; 0 is none. */
export interface AttendOptions {
  readonly scale: number;
  readonly softcap: number;
  readonly window: number;
  /** Bias that grows with distance, of the first head; see the op. */
  readonly alibi?: number;
  readonly causal?: boolean;
  /** A score of each head that nothing is attended with `[H]`. */
  readonly sinks?: Value;
}

/** State of all sequences, and which row of it a token's sequence has. */
export interface RecurrentState {
  /** `[rows, …]` */
  readonly tensor: Value;
  /** `[T]` */
  readonly rows: Value;
}

/** One model of a family. */
export interface ModelDescription {
  readonly config: ModelShape;
  /** Whether logits of the family were compared with those of another implementation. */
  readonly isVerified: boolean;
  /** Records the forward pass, from ids to logits `[nOut, V]` or states `[nOut, d]`. */
  forward(recording: ModelBuilder): Value;
}

/** A recorded model: one program for prompts and for single tokens, and the weights that it wants. */
export interface DecoderProgram {
  readonly program: OpRecorder;
  readonly weights: readonly Weight[];
}

/**
 * Records a model with a cache of blocks of {@link blockTokens} slots: as many as all sequences take when they are full.
 * @throws {ModelError | UnsupportedError}
 */
export function recordDecoder(
  { config, forward }: ModelDescription,
  file: GgufFile,
  sizes: DecoderSizes,
  adapters?: Adapters,
): DecoderProgram {
  const program = createRecorder();
  const T = program.dim("T", sizes.batchSize);
  const nOut = program.dim("nOut", sizes.maxRows);
  const nSeq = program.dim("nSeq", sizes.sequences);
  const tokens = program.input("tokens", "i32", [T]);
  const positions = program.input("positions", "i32", [T]);
  const slots = program.input("slots", "i32", [T]);
  const seqOf = program.input("seqOf", "i32", [T]);
  const blockTable = program.input("blockTable", "i32", [nSeq, blocksOf(sizes.contextLength)]);
  const seqLens = program.input("seqLens", "i32", [nSeq]);
  const outRows = program.input("outRows", "i32", [nOut]);

  const cacheShape = [sizes.sequences * blocksOf(sizes.contextLength) * blockTokens, config.kvHeads, config.keyLength + config.valueLength];
  const caches = Array.from({ length: config.layers }, (_, layer) =>
    config.hasCache(layer)
      ? program.persistent(`cache.${layer}`, { dtype: sizes.cacheType, shape: cacheShape }, { init: "zeros" })
      : undefined,
  );
  const states = new Map(
    config.states.map(({ name, shape }) => [
      name,
      program.persistent(name, { dtype: "f32", shape: [sizes.sequences * stateRowsPerSequence, ...shape] }, { init: "zeros" }),
    ]),
  );
  const stateRows = states.size === 0 ? undefined : program.input("stateRows", "i32", [T]);
  const weights = new WeightTable(program, file);
  const adapted = adapters?.record(program);
  const { activations } = sizes;
  const roundedFor = ({ spec: { dtype } }: Value, x: Value): Value => {
    if (activations === "f32" || (dtype !== "f16" && dtype !== "bf16")) return x;
    return program.cast(program.cast(x, { dtype }), { dtype: "f32" });
  };
  const multiply = (x: Value, w: Value): Value => program.matmul(roundedFor(w, x), w, { transposeB: true, activations });
  const scaled = (y: Value, scale: Value | undefined): Value => (scale === undefined ? y : program.mul(y, scale));
  // The table's own adapter is one of its rows, not of the output layer that it may be as well.
  const tables = new Set<Value>();
  const recording: ModelBuilder = {
    program,
    weights,
    T,
    tokens,
    positions,
    outRows,
    contextLength: sizes.contextLength,
    isGeluRounded: sizes.isGeluRounded,
    result: sizes.result ?? "logits",
    linear(x, w, scale) {
      const y = scaled(multiply(x, w), scale);
      const origin = tables.has(w) ? undefined : weights.originOf(w);
      return adapted === undefined || origin === undefined ? y : adapted.addTo(y, x, origin, multiply);
    },
    lookUp(table, ids) {
      tables.add(table);
      const y = program.embedding(table, ids);
      const origin = weights.originOf(table);
      return adapted === undefined || origin === undefined ? y : adapted.addToRows(y, ids, origin, multiply);
    },
    ignore(...names) {
      weights.ignore(...names);
      adapted?.ignore(...names);
    },
    expertLinear(x, experts, ids, scale) {
      const multiplyBy = (z: Value, w: Value): Value => program.moeMatmul(roundedFor(w, z), w, ids, { activations });
      const y = scaled(multiplyBy(x, experts), scale);
      const origin = adapted === undefined ? undefined : weights.expertsOriginOf(experts);
      return origin === undefined ? y : adapted!.addToExperts(y, x, origin, multiplyBy);
    },
    state: (name) => ({ tensor: states.get(name)!, rows: stateRows! }),
    attend(layer, q, k, v, options) {
      const cache = program.kvWrite(caches[layer]!, k, v, slots);
      return program.attention(q, cache, positions, seqOf, blockTable, seqLens, { ...options, blockSize: blockTokens });
    },
  };
  const result = explained([weights, adapted], () => forward(recording));
  if (recording.result === "states") program.output("states", result);
  else {
    // Rows of logits leave the run only where they are asked for: a greedy choice is two numbers.
    program.output("logits", program.embedding(result, program.input("readRows", "i32", [program.dim("nRead", sizes.maxRows)])));
    program.output("greedyTokens", program.argmax(result));
    program.output("maxLogits", program.max(result, { axis: -1 }));
  }
  return { program, weights: [...weights.finish(), ...(adapted?.finish() ?? [])] };
}

/**
 * Runs a recording. Stand-ins for missing and misshapen tensors, and sizes that contradict one another, upset an op before the tensors are
 * compared with what the model asks for: the tensors are the better explanation.
 * @throws {ModelError | UnsupportedError}
 */
function explained(tables: readonly ({ readonly problems: ModelError | undefined } | undefined)[], record: () => Value): Value {
  try {
    return record();
  } catch (error) {
    if (!(error instanceof CentellaError) || error instanceof ModelError) throw error;
    const problem = tables.map((table) => table?.problems).find((found) => found !== undefined);
    if (problem !== undefined) throw problem;
    if (error instanceof UnsupportedError) throw error;
    throw new ModelError(
      `model: expected metadata that goes with the tensors, got a contradiction (${error.message}); the file is broken`,
      {
        cause: error,
      },
    );
  }
}
