import type { Bool, F32, U32 } from "@centella/gpu-kernels";
import type { Scope } from "../shared/kernel.ts";
import type { CacheHead } from "./pieces.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, tileRows, tokenQuery } from "./problem.ts";
import type { QueryRow } from "./softmax.ts";

/** Tokens from `first` to before `end`. */
export interface Tokens {
  readonly first: U32;
  readonly end: U32;
}

/** Tokens of one sequence, or of the only one and none, and the heads that read a head of the cache. */
export interface QueryBlock extends CacheHead {
  readonly tokens: Tokens;
  /** Index of the sequence's first entry in the block table. */
  readonly tableRow: U32;
  readonly headBlock: U32;
}

/** A row of a block. */
export interface TileRow extends QueryRow {
  /** Whether the row's result is wanted; rows past the last one repeat it. */
  readonly exists: Bool;
}

/** Row `row` of a block: the heads of a token follow each other. */
export function queryRow(
  scope: Scope,
  call: AttentionCall,
  { params, sizes }: { readonly params: AttentionParams; readonly sizes: AttentionSizes },
  { tokens, kvHead, headBlock }: QueryBlock,
  row: U32,
): TileRow {
  const { k } = scope;
  const token = k.add(tokens.first, k.quotient(row, sizes.blockHeads));
  const member = k.mad(headBlock, tileRows, k.remainder(row, sizes.blockHeads));
  const exists = k.both(k.compare("lt", token, tokens.end), k.compare("lt", member, sizes.group));
  const own = k.min(token, k.sub(tokens.end, 1));
  const head = k.mad(kvHead, sizes.group, k.min(member, sizes.group - 1));
  return { ...tokenQuery(scope, call, params, own), token: own, head, exists };
}

/** What the sums of a row's weighed values are multiplied by, given its softmax: 0 if no position was seen. */
export function outputShare(
  { k }: Scope,
  hasSinks: boolean,
  head: U32,
  { maximum, total }: { readonly maximum: F32; readonly total: F32 },
): F32 {
  const one = k.constant("f32", 1);
  if (!hasSinks) return k.select(k.compare("eq", total, 0), k.constant("f32", 0), k.div(one, total));
  const sink = k.mul(k.load("sinks", head), Math.LOG2E);
  const largest = k.max(maximum, sink);
  const kept = k.exp2(k.sub(maximum, largest));
  return k.div(kept, k.fma(total, kept, k.exp2(k.sub(sink, largest))));
}
