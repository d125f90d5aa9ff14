import { elementAt } from "@centella/core/backend";
import { asValue, isBelow, times, type U32, unflatten } from "@centella/gpu-kernels";
import { laneOf } from "../products/unitDecoder.ts";
import { lanes } from "../shared/gpu.ts";
import { bucketElements, bucketShape, type Launch, launch, type Scope, waitForEarlier } from "../shared/kernel.ts";
import { PartMerge, partArgs } from "./merge.ts";
import { CacheRows, keyPieces, valuePieces } from "./pieces.ts";
import {
  type AttentionCall,
  type AttentionParams,
  type AttentionSizes,
  attentionArgs,
  attentionInputs,
  fewQueriesWarps,
  looksAhead,
  type TokenQuery,
  tileRows,
  tokenQuery,
} from "./problem.ts";
import { hasWholeTexts, QueryTile } from "./queryTile.ts";
import type { QueryRow } from "./softmax.ts";
import { TileSlots, TileStream } from "./tileStream.ts";

/** Positions up to which one block takes all of them: a merge of parts costs more than it saves. */
const wholePart = 512;

/** Fewest positions of a block, a tile for each warp. */
const minPart = fewQueriesWarps * tileRows;

/** Elements of a key and a value up to which a multiprocessor has room for two blocks. */
const maxOfTwo = 128;

/** Whether texts spill registers if ptxas starts all loads of a tile's keys at once. Which ones of wide heads do differs by target. */
function isTight(call: AttentionCall, params: AttentionParams, { keyWidth, valueWidth, group }: AttentionSizes): boolean {
  const { cache, sinks } = attentionInputs(call);
  const { window, softcap, alibi } = params;
  if (cache.dtype !== "q8_0") return false;
  const isBiased = window !== 0 || alibi !== 0;
  if (call.gpu.target === "sm_80") return keyWidth >= 256 && (isBiased || softcap !== 0);
  return valueWidth === 128 && (keyWidth > 128 || isBiased || sinks !== undefined || group >= 8);
}

/**
 * For few tokens of a sequence. A block takes a token, the heads that read the same head of the cache, and a part of the positions. Its warps take
 * tiles of 16 positions in turn, whose keys and values they read straight into the operands of matrix products. How many blocks share the
 * positions depends on the device and the bucket alone; how many positions a block takes, on the length in memory. The last block to end
 * merges the parts.
 */
export function fewQueries(call: AttentionCall, params: AttentionParams, sizes: AttentionSizes): Launch {
  const { gpu } = call;
  const { q, cache, blockTable, sinks } = attentionInputs(call);
  const { heads, kvHeads, keyWidth, group, blockHeads, headBlocks, valueBlocks } = sizes;
  const items = bucketElements(call, q.shape.slice(0, 1)) * kvHeads * headBlocks * valueBlocks;
  const [maxBlocks] = bucketShape(call, blockTable.shape.slice(1)) as [number];
  const mostParts = Math.ceil((maxBlocks * params.blockSize) / minPart);
  const isNarrow = keyWidth + sizes.valueWidth <= maxOfTwo;
  // Where not all blocks fit at once, smaller ones leave room for two: one starts or ends while the other one reads.
  const isSmall = !isNarrow && items > gpu.multiprocessors;
  const warps = isSmall ? fewQueriesWarps / 2 : fewQueriesWarps;
  const perMultiprocessor = isNarrow || isSmall ? 2 : 1;
  const parts = Math.max(1, Math.min(Math.floor((perMultiprocessor * gpu.multiprocessors) / items), mostParts));
  const args = { ...attentionArgs(call), ...partArgs(sizes, items, parts) };
  const isAhead = looksAhead(call);
  const form = [sizes, items, parts, warps, perMultiprocessor];
  const options = { threads: warps * lanes, blocks: items * parts, args, waitsInBody: isAhead, form, isWhole: hasWholeTexts(call) };
  return launch(call, `attentionFew_${cache.dtype}`, options, (scope) => {
    const { k } = scope;
    const wait = (): void => {
      if (isAhead) waitForEarlier(scope, call);
    };
    k.blocksPerMultiprocessor = perMultiprocessor;
    const places = unflatten(k, k.block(), [0, kvHeads, headBlocks, valueBlocks, parts]);
    const [token, kvHead, headBlock, valueBlock, part] = places.map((each) => asValue(k, each)) as [U32, U32, U32, U32, U32];
    const valueFirst = valueBlocks === 1 ? undefined : k.mul(valueBlock, sizes.valueWidth);
    const attend = (): void => {
      const query = tokenQuery(scope, call, params, token);
      const range = partOf(scope, query, part, parts);
      const attendPart = (): void => {
        const thread = k.thread();
        const place = laneOf(k, thread, []);
        const warp = k.shiftRight(thread, 5);
        const firstHead = k.mad(headBlock, tileRows, k.mul(kvHead, group));
        const blockEnd = k.mul(k.add(kvHead, 1), group);
        const rowOf = (row: U32): QueryRow => ({ ...query, token, head: k.min(k.add(firstHead, row), k.sub(blockEnd, 1)) });
        const pieces = { keys: keyPieces(keyWidth, false), values: valuePieces(sizes.valueWidth) };
        const half = tileRows / 2;
        // Where rows of the cache are converted, texts with one row of queries per lane spill registers, since ptxas starts more loads at once.
        const hasOneRow = blockHeads <= half && cache.dtype === "f16";
        const rows = hasOneRow ? [rowOf(place.row)] : [rowOf(place.row), rowOf(k.add(place.row, half))];
        const tableRow = asValue(k, times(k, query.sequence, scope.extent(elementAt(blockTable.shape, 1))));
        const slots = new TileSlots(scope, call, params, { tableRow, lane: place, last: k.sub(range.end, 1) });
        const tiles = { first: k.mad(warp, tileRows, range.first), end: range.end, step: warps * tileRows };
        const cacheRows = new CacheRows(scope, cache.dtype, sizes, { kvHead, valueFirst });
        const source = { slots, rows: cacheRows, pieces, sizes, lane: place, isTight: isTight(call, params, sizes) };
        const stream = new TileStream(scope, source, tiles);
        stream.lookUp(isAhead);
        wait();
        // Keys and values are under way while the query is read.
        stream.start();
        const tile = new QueryTile(scope, { params, sizes }, { lane: place, rows }, pieces);
        stream.addTo(tile);
        const outputRow = k.mad(token, heads, firstHead);
        const rowCount = k.min(k.sub(blockEnd, firstHead), blockHeads);
        const merge = new PartMerge(
          scope,
          { sizes, warps, parts, items, hasSinks: sinks !== undefined },
          { activeParts: range.parts, firstHead, rowCount, outputRow, valueFirst },
        );
        merge.run(tile, warp, place);
      };
      k.ifUniform(isBelow(k, part, range.parts), attendPart, wait);
    };
    k.ifUniform(isBelow(k, token, scope.extent(elementAt(q.shape, 0))), attend, wait);
  });
}

/** The positions of a block. */
interface Range {
  /** Number of blocks that share the positions of the query. */
  readonly parts: U32;
  readonly first: U32;
  readonly end: U32;
}

function partOf({ k }: Scope, { low, high }: TokenQuery, part: U32, parts: number): Range {
  const start = k.and(low, -tileRows >>> 0);
  const count = k.sub(k.max(high, start), start);
  const even = k.and(k.add(k.quotient(k.add(count, parts - 1), parts), tileRows - 1), -tileRows >>> 0);
  const size = k.select(k.compare("gt", count, wholePart), k.max(even, minPart), wholePart);
  const used = k.max(k.quotient(k.sub(k.add(count, size), 1), size), 1);
  const first = k.mad(part, size, start);
  return { parts: used, first, end: k.min(k.max(high, start), k.add(first, size)) };
}
