import { elementAt } from "@centella/core/backend";
import { asValue, type Bool, type F32, isBelow, times, type U32, unflatten } from "@centella/gpu-kernels";
import { lanes } from "../shared/gpu.ts";
import { bucketElements, bucketShape, type Scope } from "../shared/kernel.ts";
import type { CacheHead } from "./pieces.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, attentionInputs, tileRows, tokenQuery } from "./problem.ts";
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
interface RowPlace {
  readonly token: U32;
  readonly head: U32;
  /** Whether the row's result is wanted; rows past the last one repeat it. */
  readonly exists: Bool;
}

/** A row of a block with the positions that it sees. */
export interface TileRow extends QueryRow, RowPlace {}

/** Where row `row` of a block is: the heads of a token follow each other. */
export function rowPlace({ k }: Scope, sizes: AttentionSizes, { tokens, kvHead, headBlock }: QueryBlock, row: U32): RowPlace {
  const token = k.add(tokens.first, k.quotient(row, sizes.blockHeads));
  const member = k.mad(headBlock, tileRows, k.remainder(row, sizes.blockHeads));
  const exists = k.both(k.compare("lt", token, tokens.end), k.compare("lt", member, sizes.group));
  const own = k.min(token, k.sub(tokens.end, 1));
  const head = k.mad(kvHead, sizes.group, k.min(member, sizes.group - 1));
  return { token: own, head, exists };
}

/** Row `row` of a block. */
export function queryRow(
  scope: Scope,
  call: AttentionCall,
  { params, sizes }: { readonly params: AttentionParams; readonly sizes: AttentionSizes },
  block: QueryBlock,
  row: U32,
): TileRow {
  const place = rowPlace(scope, sizes, block, row);
  return { ...tokenQuery(scope, call, params, place.token), ...place };
}

/** How the tokens of a call are shared by blocks of `blockTokens` tokens, if each takes one sequence. */
interface BlockGrid {
  readonly blockTokens: number;
  readonly tokenBlocks: number;
  /** Tokens of a block that may be the first one of a sequence. */
  readonly starts: number;
  readonly blocks: number;
}

export function blockGrid(call: AttentionCall, { kvHeads, headBlocks, valueBlocks, blockHeads }: AttentionSizes, rows: number): BlockGrid {
  const { q, seqLens } = attentionInputs(call);
  const blockTokens = Math.floor(rows / blockHeads);
  const tokenBlocks = Math.ceil(bucketElements(call, q.shape.slice(0, 1)) / blockTokens);
  const [sequences] = bucketShape(call, seqLens.shape) as [number];
  const starts = sequences <= 1 ? 1 : blockTokens;
  return { blockTokens, tokenBlocks, starts, blocks: tokenBlocks * starts * kvHeads * headBlocks * valueBlocks };
}

/** Runs `body` with what the block takes, unless that is nothing. The last tokens see the most: they come first. */
export function forQueryBlock(
  scope: Scope,
  call: AttentionCall,
  { kvHeads, headBlocks, valueBlocks, valueWidth }: AttentionSizes,
  { blockTokens, tokenBlocks, starts }: BlockGrid,
  body: (block: QueryBlock) => void,
): void {
  const { k } = scope;
  const { q, blockTable } = attentionInputs(call);
  const places = unflatten(k, k.block(), [0, starts, kvHeads, headBlocks, valueBlocks]);
  const [turn, start, kvHead, headBlock, valueBlock] = places.map((each) => asValue(k, each)) as [U32, U32, U32, U32, U32];
  const valueFirst = valueBlocks === 1 ? undefined : k.mul(valueBlock, valueWidth);
  const firstOfBlock = k.mul(k.sub(k.constant("u32", tokenBlocks - 1), turn), blockTokens);
  const end = k.min(k.add(firstOfBlock, blockTokens), asValue(k, scope.extent(elementAt(q.shape, 0))));
  const first = k.add(firstOfBlock, start);
  k.ifUniform(k.compare("lt", first, end), () => {
    const run = (tokens: Tokens): void => {
      // Tokens that do not belong to the only sequence see nothing.
      const sequence = starts === 1 ? k.constant("u32", 0) : k.bitcast("u32", k.loadInteger("seqOf", tokens.first));
      const tableRow = asValue(k, times(k, sequence, scope.extent(elementAt(blockTable.shape, 1))));
      body({ tokens, kvHead, headBlock, valueFirst, tableRow });
    };
    if (starts === 1) run({ first, end });
    else k.ifUniform(startsSequence(scope, first, start), () => run({ first, end: endOfSequence(scope, first, end, blockTokens) }));
  });
}

function startsSequence({ k }: Scope, token: U32, start: U32): Bool {
  const before = k.loadInteger("seqOf", k.select(k.compare("eq", token, 0), token, k.sub(token, 1)));
  return k.either(k.compare("eq", start, 0), k.compare("ne", before, k.loadInteger("seqOf", token)));
}

/** The end of the tokens that belong to the sequence of token `first`. */
function endOfSequence({ k }: Scope, first: U32, end: U32, most: number): U32 {
  const sequence = k.loadInteger("seqOf", first);
  const found = k.variable("u32", end);
  k.for(k.and(k.thread(), lanes - 1), most, lanes, (i) => {
    const token = k.add(first, i);
    k.if(isBelow(k, token, end), () => {
      const isOther = k.compare("ne", k.loadInteger("seqOf", token), sequence);
      found.set(k.select(isOther, k.min(found.get(), token), found.get()));
    });
  });
  return extreme(k, "min", found.get(), 1);
}

/** The smallest or largest number of the lanes whose numbers differ in bits from `step` on. */
export function extreme(k: Scope["k"], which: "min" | "max", value: U32, step: number): U32 {
  for (let mask = step; mask < lanes; mask *= 2) {
    const other = k.shuffleXor(value, mask);
    value = which === "min" ? k.min(value, other) : k.max(value, other);
  }
  return value;
}

/** A position after all others. */
export const noPosition: number = 2 ** 31 - 1;

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
