import type { ParamsOf, TensorSpec } from "@centella/core";
import { alibiSlope, elementAt } from "@centella/core/backend";
import { asValue, type Extent, type F32, type I32, isBelow, times, type U32 } from "@centella/gpu-kernels";
import { bucketElements, bucketShape, fixed, input, type KernelOf, type NamedArguments, output, type Scope } from "../shared/kernel.ts";

export type AttentionParams = ParamsOf<"attention">;

export type AttentionCall = Parameters<KernelOf<"attention">["launches"]>[0];

/** Names of a call's inputs, in order. */
const inputNames = ["q", "cache", "positions", "seqOf", "blockTable", "seqLens", "sinks", "bias"] as const;

/** The inputs that say which keys and values a query reads. */
const indices = ["positions", "seqOf", "blockTable", "seqLens"] as const;

/** The inputs of a call by name. */
type AttentionInputs = Readonly<Record<"q" | "cache" | (typeof indices)[number], TensorSpec>> &
  Readonly<Record<"sinks" | "bias", TensorSpec | undefined>>;

export function attentionInputs({ inputs }: AttentionCall): AttentionInputs {
  const [q, cache, positions, seqOf, blockTable, seqLens, sinks, bias] = inputs;
  return { q, cache, positions, seqOf, blockTable, seqLens, sinks, bias };
}

/** Rows of a matrix product, and positions of its depth. */
export const tileRows = 16;

/** Most elements of a key and of the part of a value that a block takes: the registers of a lane hold its part of a query and of an output. */
const maxElements = 384;
/** The same for caches in blocks, whose conversion takes registers. */
const maxConverted = 320;

/** Warps of a block for few queries. Each puts its part of the values of the block's heads into shared memory. */
export const fewQueriesWarps = 8;

/** Bytes of shared memory that a block takes beside its values or keys, at most. */
export const restBytes = 2048;

/** Tokens from which on those of a sequence are taken together: in all, and for each sequence. */
const promptTokens = 16;
const promptTokensPerSequence = 8;

/** The sizes of a call for the kernels on tensor cores. */
export interface AttentionSizes {
  readonly heads: number;
  readonly kvHeads: number;
  readonly keyWidth: number;
  /** Elements of a value that a block takes, and blocks that a value takes. */
  readonly valueWidth: number;
  readonly valueBlocks: number;
  /** Heads of the queries that read the same head of the cache. */
  readonly group: number;
  /** Heads of a group that a block takes, and blocks that a group takes. */
  readonly blockHeads: number;
  readonly headBlocks: number;
  /** Whether there are many tokens for each sequence. */
  readonly isPrompt: boolean;
}

/** The sizes of a call whose operands may be rounded to f16; undefined if tensor cores do not take its heads, or its bias. */
export function sizesOf(call: AttentionCall, { activations }: AttentionParams): AttentionSizes | undefined {
  const { q, cache, seqLens, bias } = attentionInputs(call);
  const [heads, keyWidth] = [fixed(q.shape[1]), fixed(q.shape[2])];
  const [kvHeads, width] = [fixed(cache.shape[1]), fixed(cache.shape[2])];
  const most = (cache.dtype === "q8_0" ? maxConverted : maxElements) - keyWidth;
  const group = heads / kvHeads;
  const blockHeads = Math.min(group, tileRows);
  const mostShared = (call.gpu.sharedBytes - restBytes) / (4 * fewQueriesWarps * blockHeads);
  const valueBlocks = [1, 2, 4].find((blocks) => {
    const valueWidth = (width - keyWidth) / blocks;
    return valueWidth % tileRows === 0 && valueWidth <= Math.min(most, mostShared);
  });
  if (activations !== "half" || bias !== undefined || keyWidth % tileRows !== 0 || valueBlocks === undefined) return undefined;
  const headBlocks = Math.ceil(group / tileRows);
  const tokens = bucketElements(call, q.shape.slice(0, 1));
  const [sequences] = bucketShape(call, seqLens.shape) as [number];
  return {
    heads,
    kvHeads,
    keyWidth,
    valueWidth: (width - keyWidth) / valueBlocks,
    valueBlocks,
    group,
    blockHeads,
    headBlocks,
    isPrompt: tokens >= Math.max(promptTokens, promptTokensPerSequence * sequences),
  };
}

/**
 * Whether kernels look at positions, lengths and block tables before they wait for earlier launches. These say where keys and values are, so that
 * they can be on their way to the L2 cache meanwhile.
 */
export function looksAhead({ gpu, isGiven }: AttentionCall): boolean {
  return gpu.dependentLaunch && indices.every((name) => isGiven(inputNames.indexOf(name)));
}

/** The arguments of every kernel of attention. */
export function attentionArgs({ inputs }: AttentionCall): NamedArguments {
  const given = inputNames.flatMap((name, index) => (inputs[index] === undefined ? [] : [[name, input(index)] as const]));
  return { ...Object.fromEntries(given), y: output };
}

interface Query {
  readonly position: I32;
  readonly sequence: U32;
  /** Extents of the block table. */
  readonly sequences: Extent;
  readonly maxBlocks: Extent;
}

/**
 * The positions that a query may see, from `low` to before `high`, and the number of those that its sequence has. None for a sequence that does
 * not exist.
 */
function visible(
  { k }: Scope,
  { causal, window, blockSize }: AttentionParams,
  query: Query,
): { readonly low: U32; readonly high: U32; readonly length: U32 } {
  const { position, sequence, sequences, maxBlocks } = query;
  const found = k.variable("i32", 0);
  k.if(isBelow(k, sequence, sequences), () => {
    const capacity = k.bitcast("i32", asValue(k, times(k, maxBlocks, blockSize)));
    found.set(k.max(k.min(k.loadInteger("seqLens", sequence), capacity), 0));
  });
  const length = found.get();
  const high = causal ? k.max(k.min(length, k.add(position, 1)), 0) : length;
  const low = window === 0 ? k.constant("i32", 0) : k.max(k.add(position, 1 - window), 0);
  return { low: k.bitcast("u32", low), high: k.bitcast("u32", high), length: k.bitcast("u32", length) };
}

/** A token as a query. */
export interface TokenQuery {
  readonly position: I32;
  readonly sequence: U32;
  /** The positions that it sees: from `low` to before `high`. */
  readonly low: U32;
  readonly high: U32;
  /** Number of positions that its sequence has. */
  readonly length: U32;
}

export function tokenQuery(scope: Scope, call: AttentionCall, params: AttentionParams, token: U32): TokenQuery {
  const { k } = scope;
  const { blockTable, seqLens } = attentionInputs(call);
  const position = k.loadInteger("positions", token);
  const sequence = k.bitcast("u32", k.loadInteger("seqOf", token));
  const sequences = scope.extent(elementAt(seqLens.shape, 0));
  const maxBlocks = scope.extent(elementAt(blockTable.shape, 1));
  return { position, sequence, ...visible(scope, params, { position, sequence, sequences, maxBlocks }) };
}

/** ALiBi's slope of a head; undefined without ALiBi. */
export function slopeOf({ k }: Scope, { alibi }: AttentionParams, heads: number, head: U32): F32 | undefined {
  if (alibi === 0) return undefined;
  const slopes = Array.from({ length: heads }, (_, h) => alibiSlope(h, heads, alibi));
  return k.ld("f32", k.at("f32", k.table("f32", slopes), head));
}

/** What ALiBi multiplies its slope by, from the distance of a key after its query: keys after their queries are only seen without `causal`. */
export function alibiDistance({ k }: Scope, { causal }: AttentionParams, after: F32): F32 {
  return causal ? after : k.neg(k.abs(after));
}
