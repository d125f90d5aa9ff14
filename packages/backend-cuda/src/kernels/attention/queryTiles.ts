import { elementAt } from "@centella/core/backend";
import { asValue, type U32 } from "@centella/gpu-kernels";
import type { Scope } from "../shared/kernel.ts";
import type { AttentionCall, AttentionSizes } from "./problem.ts";
import type { QueryBlock } from "./queryBlock.ts";

/** What a block takes, one after the other. */
export interface QueryTiles {
  readonly count: U32;
  at(turn: U32): QueryBlock;
}

/**
 * The tiles of all tokens, shared by `blocks` blocks. The last tokens see the most, and come first; the heads of the cache are neighbours, so that
 * what they read stays in the L2 cache. Every second turn runs backwards, so that all blocks get about the same work.
 */
export function sharedTiles(
  scope: Scope,
  call: AttentionCall,
  { kvHeads, headBlocks }: AttentionSizes,
  { blockTokens, blocks }: { readonly blockTokens: number; readonly blocks: number },
): QueryTiles {
  const { k } = scope;
  const tokens = asValue(k, scope.extent(elementAt(call.inputs[0].shape, 0)));
  const tokenBlocks = k.quotient(k.add(tokens, blockTokens - 1), blockTokens);
  const tiles = k.mul(tokenBlocks, kvHeads * headBlocks);
  const [own, mirrored] = [k.block(), k.sub(k.constant("u32", blocks - 1), k.block())];
  const placeOf = (turn: U32): U32 => k.select(k.compare("eq", k.and(turn, 1), 0), own, mirrored);
  const turns = k.quotient(tiles, blocks);
  const hasMore = k.compare("lt", placeOf(turns), k.sub(tiles, k.mul(turns, blocks)));
  return {
    count: k.ofFirstLane(k.select(hasMore, k.add(turns, 1), turns)),
    at(turn) {
      const tile = k.mad(turn, blocks, placeOf(turn));
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
