import { elementAt } from "@centella/core/backend";
import {
  type AnchoredCall,
  type Bool,
  type F32,
  factorOfElements,
  laneElements,
  type NormOperands,
  normedElements,
  normValues,
  normWeights,
  type U32,
} from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import type { Scope } from "../shared/kernel.ts";
import { largestOf, numbersWithin, piece, put, type RowLengths, type StagedActivations, type StagingPlan, scaleOf } from "./activations.ts";

/** Most pieces per thread that stay in registers between the search for the largest and the rounding. */
const maxHeld = 8;

/** More than the relative difference between the largest magnitude and the bound that {@link normedPieces} takes for it. */
const boundSlack = 1 + 2 ** -20;

/** One row, whose pieces the threads of a block read. `P` is a piece before it has its values. */
export interface RowSource<P> {
  /** Piece `i` of the thread, which is at `place`. */
  read(place: U32, i: number): P;
  /** The largest magnitude of a piece's values; before {@link ReducedRow.valuesOf}. */
  magnitude(piece: P): F32;
  /** All threads take part. `largest` is the largest magnitude of the thread's pieces. */
  reduce(largest: () => F32): ReducedRow<P>;
}

interface ReducedRow<P> {
  /** Largest magnitude of the row, or little more. */
  readonly largest: () => F32;
  readonly valuesOf: (piece: P) => readonly F32[];
}

/** A row of a tensor; by default its first. */
export function storedPieces(k: PtxEmitter, x: string, plan: RowLengths, row?: U32): RowSource<readonly F32[]> {
  const start = k.pointer(x, "f32");
  const from = row === undefined ? start : k.at("f32", start, k.mul(row, plan.depth));
  const reduce = k.reducer(["f32"]);
  return {
    read: (place) =>
      within(k, plan, place, piece, () => {
        const at = k.atBytes(from, place, 4 * piece);
        return [...k.ldVector("f32", at), ...k.ldVector("f32", at, 4)];
      }),
    magnitude: (values) => largestOf(k, values),
    reduce: (largest) => ({ largest: () => reduce([largest()], ([a], [b]) => [k.max(a, b)])[0], valuesOf: (values) => values }),
  };
}

/** A norm's weights of each of a thread's pieces. */
type PieceWeights = readonly (readonly F32[])[];

/** Reads a norm's weights of the thread's pieces, for {@link normedPieces} in {@link stageRow}. None, where they would take too many registers. */
export function earlyWeights(scope: Scope, plan: RowLengths): PieceWeights {
  const places = piecePlaces(scope.k, plan);
  return places.length <= maxHeld ? places.map((place) => pieceWeights(scope, plan, place)) : [];
}

function pieceWeights(scope: Scope, plan: RowLengths, place: U32): readonly F32[] {
  const { k } = scope;
  return within(k, plan, place, piece, () => normWeights(scope, { first: k.mul(place, piece), count: piece }));
}

/** Places of a thread's pieces of a row that all threads share. */
function piecePlaces(k: PtxEmitter, { padded }: RowLengths): readonly U32[] {
  const perThread = Math.ceil(padded / piece / k.blockThreads);
  return Array.from({ length: perThread }, (_, i) => k.add(k.thread(), i * k.blockThreads));
}

/**
 * A row that a norm computes. Blocks for which `isKeeper` holds store the norm's extra output. A thread reads elements twice: those that it
 * rounds, and, here already, those whose squares it adds up, in the order of the norm's own kernel.
 */
export function normedPieces(
  scope: Scope,
  norm: AnchoredCall,
  plan: RowLengths,
  { row, isKeeper, weights = [] }: { readonly row: U32; readonly isKeeper: Bool | undefined; readonly weights?: PieceWeights },
): RowSource<NormOperands> {
  const { k } = scope;
  const elements = laneElements(scope, norm, { row, isKeeper });
  const reduce = k.reducer(["f32", "f32"]);
  return {
    read(place, i) {
      const values = within(k, plan, place, piece, () => normValues(scope, norm, { row, first: k.mul(place, piece), count: piece }));
      return { values, weights: weights[i] ?? pieceWeights(scope, plan, place) };
    },
    magnitude: ({ values, weights }) =>
      largestOf(
        k,
        values.map((value, i) => k.mul(value, elementAt(weights, i))),
      ),
    reduce(ownLargest) {
      const own = ownLargest();
      let largest = own;
      const factor = factorOfElements(scope, norm, elements, (squares) => {
        const [sum, most] = reduce([squares, own], ([a, b], [c, d]) => [k.add(a, c), k.max(b, d)]);
        largest = most;
        return sum;
      });
      return {
        largest: () => k.mul(k.mul(largest, factor), boundSlack),
        valuesOf: (operands) => normedElements(scope, operands, factor),
      };
    },
  };
}

/**
 * Rounds, scales and sums up one row as `stageRows` does several. All threads share it. A barrier must follow. `meanwhile` runs when the
 * row's loads are under way.
 */
export function stageRow<P>(
  k: PtxEmitter,
  plan: StagingPlan,
  source: RowSource<P>,
  { staged, meanwhile }: { readonly staged: StagedActivations; readonly meanwhile: () => void },
): void {
  const thread = k.thread();
  const pieces = plan.padded / piece;
  const places = piecePlaces(k, plan);
  const { largest, valuesAt } = reducePieces(k, source, places, meanwhile);
  const scale = scaleOf(k, plan, largest);
  for (const [i, place] of places.entries()) {
    const round = (): void => put(k, plan, staged, { place, column: k.constant("u32", 0) }, valuesAt(i), scale?.factor);
    if ((i + 1) * k.blockThreads <= pieces) round();
    else k.if(k.compare("lt", place, pieces), round);
  }
  const { factors } = staged;
  if (scale !== undefined && factors !== undefined) k.if(k.compare("eq", thread, 0), () => k.st("f32", factors, scale.inverse));
}

/** A row after its largest magnitude is known. */
interface ReducedPieces {
  readonly largest: () => F32;
  /** Values of the thread's piece `i`. */
  readonly valuesAt: (i: number) => readonly F32[];
}

/** Reads a thread's pieces of a row, which are at `places`, for its largest magnitude. `meanwhile` runs when the loads are under way. */
export function reducePieces<P>(k: PtxEmitter, source: RowSource<P>, places: readonly U32[], meanwhile?: () => void): ReducedPieces {
  // All loads are under way before the first one is used.
  const held = places.length <= maxHeld ? places.map((place, i) => source.read(place, i)) : undefined;
  meanwhile?.();
  const pieceOf = (i: number): P => held?.[i] ?? source.read(elementAt(places, i), i);
  const { largest, valuesOf } = source.reduce(() => places.map((_, i) => source.magnitude(pieceOf(i))).reduce((a, b) => k.max(a, b)));
  return { largest, valuesAt: (i) => valuesOf(pieceOf(i)) };
}

/** What `load` reads of a piece, `count` numbers; zeros past the depth. */
function within(k: PtxEmitter, plan: RowLengths, place: U32, count: number, load: () => readonly F32[]): readonly F32[] {
  return plan.depth % (piece * k.blockThreads) === 0 ? load() : numbersWithin(k, plan, place, count, load);
}
