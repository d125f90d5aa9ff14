import { warpgroupLanes, warpgroupRows } from "../shared/gpu.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, attentionInputs } from "./problem.ts";

/** Positions of a stage of keys and values. */
export const stagePositions = 128;

/** Blocks of the cache are read in boxes of their own, whose positions are this number or a multiple. */
const blockPositions = 32;

/** Warpgroups of a block that multiply. */
const consumers = 2;

/** A block of warpgroups: some multiply, and the one after them prepares what they read. */
export interface WarpgroupShape {
  /** Warpgroups that multiply. */
  readonly consumers: number;
  readonly threads: number;
  /** Rows of queries of a block. */
  readonly rows: number;
  /** Stages of keys, and of values. */
  readonly depth: number;
  /** Positions of a box. */
  readonly boxRows: number;
  /** Registers of a thread that prepares, and of one that multiplies. */
  readonly prepareRegisters: number;
  readonly productRegisters: number;
}

export function warpgroupShape({ keyWidth, valueWidth }: AttentionSizes, { blockSize }: AttentionParams): WarpgroupShape {
  return {
    consumers,
    threads: (consumers + 1) * warpgroupLanes,
    rows: consumers * warpgroupRows,
    depth: keyWidth + valueWidth <= 128 ? 4 : 2,
    boxRows: [128, 64].find((rows) => blockSize % rows === 0) ?? blockPositions,
    prepareRegisters: 56,
    productRegisters: 224,
  };
}

/** Whether warpgroups take a call: halves, whole rows of swizzled pieces, and blocks of the cache that boxes cover. */
export function takesWarpgroups(
  call: AttentionCall,
  { blockSize, softcap, alibi }: AttentionParams,
  { keyWidth, valueWidth, valueBlocks }: AttentionSizes,
): boolean {
  const isWhole = valueBlocks === 1 && [keyWidth, valueWidth].every((width) => width === 64 || width === 128);
  const { cache } = attentionInputs(call);
  const [slots] = cache.shape;
  const isTiled = blockSize % blockPositions === 0 && typeof slots === "number" && slots % blockSize === 0;
  // Both together take more registers than there are.
  const isSimple = softcap === 0 || alibi === 0;
  return call.gpu.target === "sm_90a" && cache.dtype === "f16" && isWhole && isTiled && isSimple;
}
