import { elementAt } from "@centella/core/backend";
import {
  type AnchoredCall,
  asValue,
  type Extent,
  type F32,
  isBelow,
  normedElements,
  normFactors,
  normOperands,
  type U32,
} from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import type { HalfType } from "../../ptx/matrix.ts";
import { warpReduce } from "../../ptx/reduce.ts";
import type { Shared } from "../../ptx/types.ts";
import { lanes } from "../shared/gpu.ts";
import { halfScale } from "../shared/halfScale.ts";
import type { Scope } from "../shared/kernel.ts";

/** A sum over a group of activations, `low` times the first two of each four and `high` times the others. */
export interface SumKind {
  readonly groupSize: 16 | 32;
  readonly low: number;
  readonly high: number;
}

/** What a block stages of the rows of activations. */
export interface StagingPlan {
  readonly type: HalfType;
  /** Weights of a row, and the same rounded up to whole units. */
  readonly depth: number;
  readonly padded: number;
  /** Rows that are staged: 1, or an even number. */
  readonly columns: number;
  readonly sums: readonly SumKind[];
}

/** Weights of a row, and the same with the zeros that follow them. */
export type RowLengths = Pick<StagingPlan, "depth" | "padded">;

/** Staged activations in shared memory. */
export interface StagedActivations {
  /**
   * Halves of each row, {@link rowBytes} apart. Half `16 j + 4 t + e` of each 32 is at place `8 t + 4 j + e`, so that a lane reads its part
   * as 16 bytes.
   */
  readonly rows: Shared<"u32">;
  /** Sums of each kind: group after group, the rows side by side. */
  readonly sums: readonly Shared<"f32">[];
  /** The factor of each row's results. Undefined if it is 1. */
  readonly factors: Shared<"f32"> | undefined;
}

/** Activations that a thread rounds at a time. */
export const piece = 8;

/** Bytes from one staged row to the next: neighbouring rows are in different banks. */
export function rowBytes({ padded, columns }: StagingPlan): number {
  return 2 * padded + (columns > 1 ? 64 : 0);
}

/** Bytes of {@link allocateStaging}, without its alignment. */
export function stagedBytes(plan: StagingPlan): number {
  const sums = plan.sums.reduce((bytes, { groupSize }) => bytes + (4 * plan.columns * plan.padded) / groupSize, 0);
  return plan.columns * rowBytes(plan) + sums + 4 * plan.columns;
}

export function allocateStaging(k: PtxEmitter, plan: StagingPlan): StagedActivations {
  return {
    rows: k.sharedMemory("u32", (plan.columns * rowBytes(plan)) / 4, 128),
    sums: plan.sums.map(({ groupSize }) => k.sharedMemory("f32", (plan.columns * plan.padded) / groupSize)),
    // The exponents of bf16 are those of f32.
    factors: plan.type === "f16" ? k.sharedMemory("f32", plan.columns) : undefined,
  };
}

/**
 * Rounds rows from `first` on of `[count, depth]`, scaled by a power of two so that the largest magnitude of each is just below 2^15, and
 * sums groups of their elements. All threads take part, and each warp takes rows of its own. A barrier must follow.
 */
export function stageRows(
  k: PtxEmitter,
  plan: StagingPlan,
  row: RowPieces,
  { first, count }: { readonly first: U32; readonly count: Extent },
  staged: StagedActivations,
): void {
  const thread = k.thread();
  const { factors } = staged;
  const last = k.sub(asValue(k, count), 1);
  const lane = k.and(thread, lanes - 1);
  k.for(k.shiftRight(thread, 5), plan.columns, k.blockThreads / lanes, (column) => {
    // Rows past the run's last one repeat it; their results are not stored.
    const from = row(k.min(k.add(first, column), last));
    const scale = scaleOf(k, plan, () => {
      const largest = k.variable("f32", 0);
      k.for(lane, plan.padded / piece, lanes, (place) => largest.set(k.max(largest.get(), largestOf(k, from(place)))));
      return warpReduce(k, [largest.get()] as const, ([a], [b]) => [k.max(a, b)])[0];
    });
    k.for(lane, plan.padded / piece, lanes, (place) => put(k, plan, staged, { place, column }, from(place), scale?.factor));
    if (scale !== undefined && factors !== undefined)
      k.if(k.compare("eq", lane, 0), () => k.st("f32", k.sharedAt("f32", factors, column), scale.inverse));
  });
}

/** Reads pieces of a row; past the depth they are zeros. */
type RowPieces = (row: U32) => (place: U32) => readonly F32[];

/** Rows in memory. */
export function storedRow(k: PtxEmitter, x: string, plan: RowLengths): RowPieces {
  return (row) => {
    const from = k.at("f32", k.pointer(x, "f32"), k.mul(row, plan.depth));
    return (place) =>
      numbersWithin(k, plan, place, piece, () => {
        const at = k.atBytes(from, place, 4 * piece);
        return [...k.ldVector("f32", at), ...k.ldVector("f32", at, 4)];
      });
  };
}

/** Rows that a norm computes. All threads take part in `normFactors`, whose order is that of the norm's own kernel. */
export function normedRow(
  scope: Scope,
  norm: AnchoredCall,
  plan: StagingPlan,
  { rows, isFirst }: { readonly rows: Extent; readonly isFirst: boolean },
): RowPieces {
  const { k } = scope;
  const factors = k.sharedMemory("f32", plan.columns);
  const isKeeper = isFirst ? k.compare("eq", k.block(), 0) : undefined;
  normFactors(scope, norm, { rows, isKeeper, store: (row, factor) => k.st("f32", k.sharedAt("f32", factors, row), factor) });
  return (row) => (place) =>
    numbersWithin(k, plan, place, piece, () => {
      const factor = k.ld("f32", k.sharedAt("f32", factors, row));
      const first = k.mul(place, piece);
      return normedElements(scope, normOperands(scope, norm, { row, first, count: piece }), factor);
    });
}

/** What `load` reads of a piece that is within the depth, `count` numbers; zeros past it. */
export function numbersWithin(
  k: PtxEmitter,
  { depth, padded }: RowLengths,
  place: U32,
  count: number,
  load: () => readonly F32[],
): readonly F32[] {
  const values = Array.from({ length: count }, () => k.variable("f32", 0));
  k.if(isBelow(k, place, Math.min(depth, padded) / piece), () => {
    const loaded = load();
    for (const [i, value] of values.entries()) value.set(elementAt(loaded, i));
  });
  return values.map((value) => value.get());
}

/** The largest magnitude. */
export function largestOf(k: PtxEmitter, values: readonly F32[]): F32 {
  return values.map((value) => k.abs(value)).reduce((a, b) => k.max(a, b));
}

interface Scale {
  readonly factor: F32;
  readonly inverse: F32;
}

/** The power of two that a row is multiplied by before it is rounded to f16, and its inverse. Undefined for bf16. */
export function scaleOf(k: PtxEmitter, { type }: Pick<StagingPlan, "type">, largest: () => F32): Scale | undefined {
  return type === "bf16" ? undefined : halfScale(k, largest());
}

/** Rounds and stores a piece of row `column`, and adds it to the sums of its groups with the neighbouring lanes. */
export function put(
  k: PtxEmitter,
  plan: StagingPlan,
  staged: StagedActivations,
  { place, column }: { readonly place: U32; readonly column: U32 },
  values: readonly F32[],
  scale: F32 | undefined,
): void {
  const scaled = scale === undefined ? values : values.map((value) => k.mul(value, scale));
  const words = [0, 2, 4, 6].map((i) => k.roundPair(plan.type, elementAt(scaled, i), elementAt(scaled, i + 1)));
  const within = k.and(place, 3);
  const offset = k.mad(k.shiftRight(place, 2), 64, k.mad(k.and(within, 1), 32, k.shiftLeft(k.shiftRight(within, 1), 3)));
  const to: Shared<"u32"> = k.sharedAtBytes(staged.rows, plan.columns === 1 ? offset : k.mad(column, rowBytes(plan), offset));
  k.stVector("u32", to, words.slice(0, 2));
  k.stVector("u32", to, words.slice(2), 4);
  if (plan.sums.length === 0) return;
  const pairs = words.map((word) => k.halfPair(word)).map(([a, b]) => k.add(a, b));
  const fold = (value: F32, mask: number): F32 => k.add(value, k.shuffleXor(value, mask));
  const of16 = [k.add(elementAt(pairs, 0), elementAt(pairs, 2)), k.add(elementAt(pairs, 1), elementAt(pairs, 3))].map((sum) =>
    fold(sum, 1),
  );
  const of32 = plan.sums.some(({ groupSize }) => groupSize === 32) ? of16.map((sum) => fold(sum, 2)) : of16;
  for (const [i, { groupSize, low, high }] of plan.sums.entries()) {
    const [first, second] = (groupSize === 16 ? of16 : of32) as [F32, F32];
    const perGroup = groupSize / piece;
    k.if(k.compare("eq", k.and(place, perGroup - 1), 0), () => {
      const group = k.shiftRight(place, Math.log2(perGroup));
      const index = plan.columns === 1 ? group : k.mad(group, plan.columns, column);
      k.st("f32", k.sharedAt("f32", elementAt(staged.sums, i), index), k.fma(first, low, k.mul(second, high)));
    });
  }
}
