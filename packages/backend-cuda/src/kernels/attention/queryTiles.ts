import { elementAt } from "@centella/core/backend";
import { asValue, times, type U32, unflatten } from "@centella/gpu-kernels";
import type { Shared } from "../../ptx/types.ts";
import type { Scope } from "../shared/kernel.ts";
import { type AttentionCall, type AttentionSizes, attentionInputs } from "./problem.ts";
import type { QueryBlock, Tokens } from "./queryBlock.ts";

/** What a block takes, one after the other. */
export interface QueryTiles {
  readonly count: U32;
  at(turn: U32): QueryBlock;
}

/**
 * The tiles of all tokens, shared by all blocks. The last tokens see the most, and come first; the heads of the cache are neighbours, so that
 * what they read stays in the L2 cache. Every second turn runs backwards, so that all blocks get about the same work.
 */
export function sharedTiles(scope: Scope, call: AttentionCall, { kvHeads, headBlocks }: AttentionSizes, blockTokens: number): QueryTiles {
  const { k } = scope;
  const tokens = asValue(k, scope.extent(elementAt(attentionInputs(call).q.shape, 0)));
  const tokenBlocks = k.quotient(k.add(tokens, blockTokens - 1), blockTokens);
  const tiles = k.mul(tokenBlocks, kvHeads * headBlocks);
  // The number of blocks is read where it is needed: products leave no register for it.
  const placeOf = (turn: U32): U32 => k.select(k.compare("eq", k.and(turn, 1), 0), k.block(), k.sub(k.sub(k.blocks(), 1), k.block()));
  const turns = k.quotient(tiles, k.blocks());
  const hasMore = k.compare("lt", placeOf(turns), k.sub(tiles, k.mul(turns, k.blocks())));
  return {
    count: k.ofFirstLane(k.select(hasMore, k.add(turns, 1), turns)),
    at(turn) {
      const tile = k.mad(turn, k.blocks(), placeOf(turn));
      const tokenBlock = k.sub(k.sub(tokenBlocks, 1), k.quotient(tile, kvHeads * headBlocks));
      const first = k.mul(tokenBlock, blockTokens);
      const end = k.min(k.add(first, blockTokens), tokens);
      const kvHead = k.remainder(tile, kvHeads);
      const headBlock = k.remainder(k.quotient(tile, kvHeads), headBlocks);
      // Tokens that do not belong to the only sequence see nothing.
      return { tokens: { first, end }, kvHead, headBlock, tableRow: k.constant("u32", 0) };
    },
  };
}

/**
 * The tiles of a block of tokens, one for each sequence that the tokens belong to in turn. As many blocks share them as there are sequences, so that
 * each takes one if the tokens of a sequence follow each other. Both numbers are those of the run, so all buckets have the same text: blocks for more
 * tokens or sequences have no tiles. All threads must come here.
 */
export function sequenceTiles(scope: Scope, call: AttentionCall, { kvHeads, headBlocks }: AttentionSizes, blockTokens: number): QueryTiles {
  const { k } = scope;
  const { q, blockTable, seqLens } = attentionInputs(call);
  const [tokens, sequences] = [q, seqLens].map(({ shape }) => asValue(k, scope.extent(elementAt(shape, 0)))) as [U32, U32];
  const shares = k.min(sequences, blockTokens);
  const tokenBlocks = k.quotient(k.add(tokens, blockTokens - 1), blockTokens);
  const places = unflatten(k, k.block(), [0, shares, kvHeads, headBlocks]);
  const [turn, share, kvHead, headBlock] = places.map((each) => asValue(k, each)) as [U32, U32, U32, U32];
  // The last tokens see the most: they come first.
  const isUsed = k.compare("lt", turn, tokenBlocks);
  const first = k.select(isUsed, k.mul(k.sub(k.sub(tokenBlocks, 1), turn), blockTokens), tokens);
  const end = k.min(k.add(first, blockTokens), tokens);
  const { count, runs } = shareRuns(scope, { first, end }, { blockTokens, share, shares });
  return {
    count: k.ofFirstLane(k.ld("u32", count)),
    at(turn) {
      const words = k.ldVector("u32", k.sharedAt("u32", runs, k.mul(turn, 2)), 0, 2);
      const [first, end] = words.map((word) => k.ofFirstLane(word)) as [U32, U32];
      const sequence = k.bitcast("u32", k.loadInteger("seqOf", first));
      const tableRow = asValue(k, times(k, sequence, scope.extent(elementAt(blockTable.shape, 1))));
      return { tokens: { first, end }, kvHead, headBlock, tableRow };
    },
  };
}

/** Finds the runs of tokens of one sequence, and lists those of a share: their number, and the first token and the end of each. */
function shareRuns(
  { k }: Scope,
  tokens: Tokens,
  { blockTokens, share, shares }: { readonly blockTokens: number; readonly share: U32; readonly shares: U32 },
): { readonly count: Shared<"u32">; readonly runs: Shared<"u32"> } {
  const starts = k.sharedMemory("u32", blockTokens);
  const [runs, count] = [k.sharedMemory("u32", 2 * blockTokens), k.sharedMemory("u32", 1)];
  const own = k.thread();
  const all = k.sub(tokens.end, tokens.first);
  const startsRun = k.variable("u32", 0);
  k.if(k.compare("eq", own, 0), () => k.st("u32", count, k.constant("u32", 0)));
  k.if(k.compare("lt", own, all), () => {
    const token = k.add(tokens.first, own);
    const isFirst = k.compare("eq", own, 0);
    const before = k.loadInteger("seqOf", k.select(isFirst, token, k.sub(token, 1)));
    const isNew = k.either(isFirst, k.compare("ne", before, k.loadInteger("seqOf", token)));
    startsRun.set(k.select(isNew, k.constant("u32", 1), 0));
    k.st("u32", k.sharedAt("u32", starts, own), startsRun.get());
  });
  k.sync();
  k.if(k.compare("ne", startsRun.get(), 0), () => {
    const [number, end, total] = [k.variable("u32", 0), k.variable("u32", all), k.variable("u32", 0)];
    k.for(0, all, 1, (i) => {
      const isStart = k.ld("u32", k.sharedAt("u32", starts, i));
      total.set(k.add(total.get(), isStart));
      number.set(k.select(k.compare("lt", i, own), k.add(number.get(), isStart), number.get()));
      const isNext = k.both(k.compare("ne", isStart, 0), k.compare("gt", i, own));
      end.set(k.select(isNext, k.min(end.get(), i), end.get()));
    });
    k.if(k.compare("eq", k.remainder(number.get(), shares), share), () => {
      const to = k.sharedAt("u32", runs, k.mul(k.quotient(number.get(), shares), 2));
      k.stVector("u32", to, [k.add(tokens.first, own), k.add(tokens.first, end.get())]);
    });
    k.if(k.compare("eq", own, 0), () => {
      const others = k.sub(k.max(total.get(), share), share);
      k.st("u32", count, k.quotient(k.add(others, k.sub(shares, 1)), shares));
    });
  });
  k.sync();
  return { count, runs };
}
