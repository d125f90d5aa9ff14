import { alibiSlope, byteLength, tupleOf } from "@centella/core/backend";
import type { BuildContext, Kernel, Run } from "../kernel.ts";
import { attentionArguments, emitAttention } from "./attention/functions.ts";
import { scratchLayout } from "./attention/layout.ts";
import { partBytes } from "./attention/parts.ts";
import { keyBlock } from "./attention/tiles.ts";

/** Maximum multiply-adds of a tile: about ten milliseconds if all positions that fit are visible. */
const workPerTile = 2e8;

/**
 * Maximum queries of a group of heads that share converted keys and values. Conversion is a few percent of the work
 * then.
 */
const maxRows = 128;

/**
 * Maximum bytes of adjacent heads that a thread reads together at each position, so that a block stays in the
 * second-level cache.
 */
const largestStretch = 1024;

/** Tiles per thread, if there is enough work: enough for the threads to finish together. */
const tilesPerThread = 4;

export const attention: Kernel<"attention"> = {
  emit: emitAttention,
  build(context, [q, cache, positions, seqOf, blockTable, seqLens, sinks, bias], params, y) {
    const { max, exports, reserve, maxThreads, threads } = context;
    const { dtype } = cache.spec;
    const [whole, split, join] = [exports(`attention.${dtype}`), exports(`attention.split.${dtype}`), exports("attention.join")];
    const [, heads, dK] = tupleOf(max(q).shape, 3);
    const [, kvHeads, width] = tupleOf(max(cache).shape, 3);
    const dV = width - dK;
    const group = heads / kvHeads;
    const headBytes = byteLength({ dtype, shape: [width] });
    const [, blocksPerSequence] = tupleOf(max(blockTable).shape, 2);
    const maxPositions = blocksPerSequence * params.blockSize;
    const blocks = Math.ceil(maxPositions / keyBlock);
    const maxHeads = Math.min(largestStretch / headBytes, (blocks * kvHeads) / (tilesPerThread * threads));
    const headsTogether = largestDivisor(kvHeads, maxHeads);
    const queries = Math.max(1, Math.min(Math.floor(maxRows / group), Math.floor(workPerTile / Math.max(1, maxPositions * width * group))));
    const layout = scratchLayout(dK, dV, queries * group);
    const partsBytes = blocks > 1 ? blocks * heads * partBytes(dV) : 0;
    reserve(maxThreads * layout.bytes + partsBytes);
    const slopes = params.alibi > 0 ? slopeTable(context, heads, params.alibi) : () => 0;

    const reach = bias === undefined ? 0 : (tupleOf(max(bias).shape, 2)[1] - 1) / 2;

    return function* (run: Run) {
      const [tokens] = tupleOf(run.shape(q), 3);
      const [slots] = tupleOf(run.shape(cache), 3);
      const [sequences, maxBlocks] = tupleOf(run.shape(blockTable), 2);
      const sinksAt = sinks === undefined ? 0 : run.address(sinks);
      // Tokens of different sequences share nothing, so a tile has at most as many as one sequence has on average. With
      // few tokens, tiles get smaller so that all threads have work.
      const shares = Math.ceil((tokens * kvHeads) / threads);
      const together = Math.max(1, Math.min(queries, shares, Math.ceil(tokens / Math.max(1, sequences))));
      const units = Math.ceil(tokens / together) * kvHeads;
      const grain = Math.max(1, Math.floor(Math.min(queries / together, units / (tilesPerThread * threads))));
      // For one token over many positions, threads share the positions as well as the heads.
      const isSplit = tokens === 1 && blocks > 1;
      const parts = run.scratch + maxThreads * layout.bytes;
      const args = attentionArguments({
        q: run.address(q),
        cache: run.address(cache),
        y: run.address(y),
        positions: run.address(positions),
        seqOf: run.address(seqOf),
        blockTable: run.address(blockTable),
        seqLens: run.address(seqLens),
        slopes: slopes(),
        bias: bias === undefined ? 0 : run.address(bias),
        reach,
        sinks: sinksAt,
        tokens,
        heads,
        kvHeads,
        dK,
        dV,
        slots,
        sequences,
        maxBlocks,
        blockSize: params.blockSize,
        causal: params.causal ? 1 : 0,
        window: params.window,
        scale: params.scale,
        softcap: params.softcap,
        threadScratch: run.scratch,
        threadScratchBytes: layout.bytes,
        packed: layout.packed,
        scores: layout.scores,
        zeros: layout.zeros,
        tile: layout.tile,
        parts: isSplit ? parts : layout.parts,
        queries: together,
      });
      if (isSplit) {
        yield { fn: split, args, total: blocks * kvHeads, grain: headsTogether };
        yield { fn: join, args: [run.address(y), parts, heads, dV, blocks, sinksAt], total: heads, grain: 1 };
      } else yield { fn: whole, args, total: units, grain };
    };
  },
};

/** The largest divisor of `n` up to `most`, at least 1. */
function largestDivisor(n: number, most: number): number {
  return Math.max(1, ...Array.from({ length: n }, (_, i) => i + 1).filter((divisor) => divisor <= most && n % divisor === 0));
}

/** ALiBi's slope of each head. */
function slopeTable({ table }: BuildContext, heads: number, alibi: number): () => number {
  return table(4 * heads, (bytes) => {
    new Float32Array(bytes.buffer).set(Array.from({ length: heads }, (_, head) => alibiSlope(head, heads, alibi)));
  });
}
