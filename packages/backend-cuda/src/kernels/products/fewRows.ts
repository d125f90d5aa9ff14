import { elementAt } from "@centella/core/backend";
import {
  type AnchoredCall,
  isBelow,
  normWeightInput,
  product as productOf,
  type SiblingResult,
  stagedNormArgs,
  type U32,
} from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import { isPlain } from "../../weights/unitFormat.ts";
import { type Gpu, hasBulkCopies, lanes } from "../shared/gpu.ts";
import {
  type Argument,
  argumentsOf,
  bucketElements,
  epilogueArgs,
  input,
  type KernelCall,
  type Launch,
  launch,
  type Parameter,
  waitForEarlier,
} from "../shared/kernel.ts";
import { allocateStaging, normedRow, type StagingPlan, stagedBytes, stageRows, storedRow } from "./activations.ts";
import type { ResultWriter } from "./resultWriter.ts";
import { ringOf } from "./ring.ts";
import { partialBytes, Rounds, warps } from "./rounds.ts";
import { earlyWeights, normedPieces, stageRow, storedPieces } from "./rowStaging.ts";
import { formatsOf, itemsOf, kindsOf, UnitCursor, type UnitResult, type Work, weightName, workOf } from "./segments.ts";
import { halfType, sumsOf } from "./tile.ts";
import { type Lane, laneOf } from "./unitDecoder.ts";

export const threads: number = warps * lanes;

/** Rows of activations that a block stages, from the most. More rows take more blocks, which read the weights again. */
const columnCounts = [16, 8, 4, 2];

/** Most slots of a warp's ring. With more, copies delay what later launches read first. */
const maxDepth = 3;

/** How a block uses its shared memory. */
interface Spending {
  /** Bytes for the partial sums of a round of items. */
  readonly roundBytes: number;
  /** Most units of a copy. */
  readonly together: number;
  /** Fewest slots of a warp's ring. */
  readonly minDepth: number;
}

/** The first spending that fits is taken. The others are for devices whose blocks have less memory than an H100's. */
const spendings: readonly Spending[] = [
  { roundBytes: 16 * 1024, together: 4, minDepth: 2 },
  { roundBytes: 8 * 1024, together: 2, minDepth: 2 },
  { roundBytes: 4 * 1024, together: 1, minDepth: 2 },
  { roundBytes: 4 * 1024, together: 1, minDepth: 1 },
];

/**
 * Most and fewest bytes of a block's copies that are under way before the activations are read: they keep the memory busy. Loads wait behind
 * copies that began before them, so the rest of the rings follows the loads. In between, a third of what the block copies was best.
 */
const maxEarlyBytes = 76 * 1024;
const minEarlyBytes = 40 * 1024;

/** Most bytes of early copies and of a row of activations together. */
const maxUnderWay = 92 * 1024;

/** A block that copies no more lets the next launch start first of all. If it is not {@link isSmall}, it starts all copies before it reads activations. */
const fewBytes = 64 * 1024;

/** Most bytes that a small block copies. */
const smallBytes = 80 * 1024;

/** Bytes of shared memory for activations, partial sums and rings: the rest is for barriers, norms and alignment. */
function roomOf(gpu: Gpu): number {
  return hasBulkCopies(gpu) ? 224 * 1024 - 8 * warps * maxDepth - 1536 : gpu.sharedBytes - 384;
}

/**
 * Least shared memory of a block. A second block does not fit: blocks that start while an earlier launch still has some multiprocessors would
 * otherwise share the others in pairs.
 */
export function overHalfOfShared({ sharedBytes }: Gpu): number {
  return (sharedBytes + 5 * 1024) / 2;
}

/** The sizes of a launch. */
export interface Shape {
  /** Groups of rows, each with blocks of its own. */
  readonly rowGroups: number;
  readonly staging: StagingPlan;
  readonly work: Work;
  /** Slots of a warp's ring. */
  readonly depth: number;
  readonly slotBytes: number;
}

/** Products of one tensor that a launch computes. */
export interface UnitProducts {
  /** Extent of the tensor's last axis. */
  readonly depth: number;
  readonly results: readonly SiblingResult[];
  /** Where the tensor is. Default: input 0 of the call. */
  readonly from?: Parameter;
  /** Computes the tensor where it is staged. Its extra output is stored by the first launch. */
  readonly norm?: AnchoredCall;
  /** Store results in place of {@link SiblingResult.y}. */
  readonly writers?: ReadonlyMap<SiblingResult, ResultWriter>;
}

/**
 * Launches of products with weights in units, fast for few rows of activations; undefined if one of the products is of another kind, or if a norm
 * has more rows than a block stages.
 */
export function fewRowsLaunches(call: KernelCall, products: UnitProducts): readonly Launch[] | undefined {
  return fewRowsShapes(call, products)?.map((shape, i) => fewRows(call, shape, products, i === 0));
}

/** The sizes of the launches for each kind of results; undefined if {@link fewRowsLaunches} has none. */
export function fewRowsShapes(call: KernelCall, { depth, results, norm, writers }: UnitProducts): readonly Shape[] | undefined {
  const rows = bucketElements(call, elementAt(results, 0).shape.slice(0, -1));
  const kinds = rows === 0 ? undefined : kindsOf(call, results, writers);
  const shapes = kinds?.map((each) => {
    const fitting = columnsOf(rows).map((columns) => shapeOf(call.gpu, depth, { rows, columns }, each));
    return fitting.find((shape) => shape !== undefined && (norm === undefined || shape.rowGroups === 1));
  });
  return shapes?.every((shape) => shape !== undefined) ? shapes : undefined;
}

/** Numbers of rows that a block may stage, from the most: 1, or even numbers because a lane has results of two neighbouring rows. */
function columnsOf(rows: number): readonly number[] {
  if (rows === 1) return [1];
  const even = 2 * Math.ceil(rows / 2);
  return [...new Set(columnCounts.map((count) => Math.min(count, even)))];
}

interface RowCounts {
  readonly rows: number;
  /** Rows that a block stages. */
  readonly columns: number;
}

/** The sizes of a launch; undefined if they do not fit into shared memory. */
export function shapeOf(gpu: Gpu, depth: number, counts: RowCounts, results: readonly UnitResult[]): Shape | undefined {
  const fitting = hasBulkCopies(gpu) ? spendings.slice(0, 1) : spendings;
  for (const spending of fitting) {
    const shape = shapeWith(gpu, depth, counts, results, spending);
    if (shape !== undefined) return shape;
  }
  return undefined;
}

function shapeWith(
  gpu: Gpu,
  depth: number,
  { rows, columns }: RowCounts,
  results: readonly UnitResult[],
  { roundBytes, together, minDepth }: Spending,
): Shape | undefined {
  const sumBytes = partialBytes(columns);
  const workWith = (most: number): Work => workOf(results, gpu.multiprocessors, { roundBytes, sumBytes, together: most });
  const single = workWith(1);
  const work = columns > 1 || isSmall(gpu, single) ? single : workWith(together);
  const formats = formatsOf(work);
  const format = elementAt(formats, 0);
  const staging: StagingPlan = {
    type: halfType(format),
    depth,
    padded: work.copies * work.together * format.width,
    columns,
    sums: sumsOf(formats),
  };
  const perBlock = Math.ceil(work.items / work.blocks);
  const slotBytes = copyBytes(work);
  const fixedBytes = stagedBytes(staging) + work.roundItems * work.products * sumBytes;
  const perWarp = Math.ceil((perBlock * work.products * work.copies) / warps);
  const slots = Math.min(maxDepth, perWarp, Math.floor((roomOf(gpu) - fixedBytes) / (warps * slotBytes)));
  if (slots < Math.min(minDepth, perWarp)) return undefined;
  return { rowGroups: Math.ceil(rows / columns), staging, work, depth: slots, slotBytes };
}

/** Slots of a warp that are filled before the activations are read. */
export function earlySlots(gpu: Gpu, shape: Shape): number {
  const { depth, slotBytes, staging, work } = shape;
  const copied = copiedBytes(work);
  if (staging.columns === 1 && isSmall(gpu, work)) return 1;
  if (copied <= fewBytes) return depth;
  // Without bulk copies, memory is slow enough for one slot per warp to keep it busy.
  if (!hasBulkCopies(gpu)) return 1;
  const most = Math.min(maxEarlyBytes, maxUnderWay - 4 * staging.depth);
  return Math.max(1, Math.floor(Math.min(most, Math.max(minEarlyBytes, copied / 3)) / (warps * slotBytes)));
}

/** Most bytes that a block copies. */
function copiedBytes(work: Work): number {
  return Math.ceil(work.items / work.blocks) * work.products * work.copies * copyBytes(work);
}

/** Whether a block of one row takes units one at a time, and fills one slot of each warp before it reads the row: it has few units, and decodes them. */
function isSmall(gpu: Gpu, work: Work): boolean {
  return hasBulkCopies(gpu) && copiedBytes(work) <= smallBytes && !formatsOf(work).some(isPlain);
}

/** Most bytes of a copy. */
function copyBytes(work: Work): number {
  return work.together * Math.max(...formatsOf(work).map(({ bytes }) => bytes));
}

function fewRows(call: KernelCall, shape: Shape, { from = input(0), norm }: UnitProducts, isFirst: boolean): Launch {
  const { rowGroups, work, staging, depth, slotBytes } = shape;
  const args = Object.fromEntries<Argument>([
    ...(norm === undefined ? [["a", from] as const] : Object.entries(argumentsOf(call, stagedNormArgs(norm)))),
    ...work.results.flatMap(({ result, products, writer }, i) => [
      ...products.map(
        ({ product }, j) => [weightName(i, j), { kind: "input", index: product.input, dtype: product.weight.dtype }] as const,
      ),
      ...(writer === undefined ? [[`y${i}`, result.y] as const] : Object.entries(writer.args)),
      ...Object.entries(epilogueArgs(call, result.epilogue)),
    ]),
  ]);
  const types = formatsOf(work).map(({ dtype }) => dtype);
  const entry = `matmulFew_${[...types, ...(norm === undefined ? [] : ["normed"])].join("_")}`;
  const options = {
    threads,
    blocks: work.blocks * rowGroups,
    args,
    waitsInBody: true,
    startsNextInBody: true,
    form: [isFirst, shape, work, staging],
  };
  return launch(call, entry, options, (scope, startNext) => {
    const { k } = scope;
    const hasFewBytes = copiedBytes(work) <= fewBytes;
    if (hasFewBytes) startNext();
    k.blocksPerMultiprocessor = 1;
    const { result } = elementAt(work.results, 0);
    const rows = productOf(k, scope.extents(result.shape.slice(0, -1)));
    const isAlone = rowGroups === 1;
    const block = isAlone ? k.block() : k.remainder(k.block(), work.blocks);
    const firstRow = isAlone ? k.constant("u32", 0) : k.mul(k.quotient(k.block(), work.blocks), staging.columns);
    const wait = (): void => waitForEarlier(scope, call);
    const multiply = (): void => {
      const { place, warp } = placeOfThread(k, work);
      // Loads wait behind copies that began before them.
      const readsEarly = norm !== undefined && staging.columns === 1 && call.isGiven(normWeightInput(norm));
      const weights = readsEarly ? earlyWeights(scope, staging) : [];
      const items = itemsOf(k, work, block);
      const cursor = new UnitCursor(k, work, { items, warp, warps });
      const sizes = { depth, early: earlySlots(call.gpu, shape), slotBytes, warp, warps, areReadOnce: isAlone };
      const ring = ringOf(k, call.gpu, cursor, sizes);
      // Copies of weights are under way while earlier launches end.
      wait();
      const staged = allocateStaging(k, staging);
      const partials = k.sharedMemory("f32", (work.roundItems * work.products * partialBytes(staging.columns)) / 4);
      const rounds = new Rounds(scope, { work, staging }, { lane: place, warp, items, firstRow, ring, staged, partials });
      rounds.loadEarly();
      if (staging.columns === 1) {
        const options = { staged, meanwhile: () => ring.fill() };
        if (norm === undefined) stageRow(k, staging, storedPieces(k, "a", staging), options);
        else {
          const isKeeper = isFirst ? k.compare("eq", k.block(), 0) : undefined;
          stageRow(k, staging, normedPieces(scope, norm, staging, { row: k.constant("u32", 0), isKeeper, weights }), options);
        }
      } else {
        ring.fill();
        const row = norm === undefined ? storedRow(k, "a", staging) : normedRow(scope, norm, staging, { rows, isFirst });
        stageRows(k, staging, row, { first: firstRow, count: rows }, staged);
      }
      k.sync();
      // Blocks of the next launch that started before would only take time from this one, for whose end they wait.
      if (!hasFewBytes) startNext();
      k.reserveShared(overHalfOfShared(call.gpu));
      rounds.run();
    };
    // Copies do not wait for the number of rows where there is one group of them.
    if (isAlone) multiply();
    else k.ifUniform(isBelow(k, firstRow, rows), multiply, wait);
  });
}

/** A thread's place in its warp, and the number of the warp. */
export function placeOfThread(k: PtxEmitter, work: Work): { readonly place: Lane; readonly warp: U32 } {
  const thread = k.thread();
  return { place: laneOf(k, thread, formatsOf(work)), warp: k.shiftRight(thread, 5) };
}
