import type { DType, Shape } from "@centella/core";
import { elementAt, layoutOf } from "@centella/core/backend";
import type { Bool, Emitter, U32 } from "../emitter.ts";
import { divide, type Extent, product, times } from "../extent.ts";
import type { GpuArguments, GpuScope, GpuStep } from "../kernel.ts";

/** Bytes that a lane moves at once where it can. */
const pieceBytes = 16;

/** What a lane moves: the four words of a piece of 16 bytes, or the bits of one element. */
export type Moved = readonly U32[];

/** The number of elements of a shape as one of 16-byte pieces; undefined where it may be no whole number of these. */
export function inPieces(dtype: DType, shape: Shape): Shape | undefined {
  const perPiece = pieceBytes / layoutOf(dtype).bytes;
  const fixed = fixedPart(shape);
  return fixed % perPiece === 0 ? [...symbolicPart(shape), fixed / perPiece] : undefined;
}

/** A shape of as many elements in which fixed extents are one. */
export function joined(shape: Shape): Shape {
  return [...symbolicPart(shape), fixedPart(shape)];
}

/** The extents in which runs differ. */
function symbolicPart(shape: Shape): Shape {
  return shape.filter((dim) => typeof dim !== "number");
}

/** Product of the extents that all runs share. */
function fixedPart(shape: Shape): number {
  return shape.reduce<number>((count, dim) => (typeof dim === "number" ? count * dim : count), 1);
}

/** Numbers of elements that become numbers of pieces, if all of them are whole; otherwise they stay. */
export interface Units<N extends string> {
  readonly arePieces: boolean;
  /** Factors of each number. */
  readonly counts: Readonly<Record<N, Shape>>;
}

/** The largest unit, a piece or an element, of which all these numbers of elements are whole numbers. */
export function unitsOf<N extends string>(dtype: DType, elements: Readonly<Record<N, Shape>>): Units<N> {
  const names = Object.keys(elements) as N[];
  const pieces = names.map((name) => [name, inPieces(dtype, elements[name])] as const);
  const arePieces = pieces.every(([, count]) => count !== undefined);
  return { arePieces, counts: arePieces ? (Object.fromEntries(pieces) as Record<N, Shape>) : elements };
}

/** The number that factors of {@link Units} give in a run. */
export function countOf(scope: GpuScope, factors: Shape): Extent {
  const { k } = scope;
  return times(k, product(k, scope.extents(symbolicPart(factors))), scope.whole(fixedPart(factors)));
}

/** The row that has unit `index`, and the unit's place there, for a row of `width` units at each index of `outer`. */
export function rowAndPlace(k: Emitter, index: U32, outer: Shape, width: Extent): readonly [row: Extent, place: Extent] {
  return outer.every((dim) => dim === 1) ? [0, index] : divide(k, index, width);
}

/** A result whose elements are moved from other tensors unchanged. */
interface Move {
  readonly name: string;
  /** What `from` reads, and the result `y`. */
  readonly args: GpuArguments;
  /** Shape of the result in units. */
  readonly shape: Shape;
  readonly arePieces: boolean;
  /** Unit `index` of the result. `load` reads a unit of an argument. */
  readonly from: (scope: GpuScope, index: U32, load: (name: string, at: U32 | number) => Moved) => Moved;
}

/** A step in which each lane moves one unit of a result `y`. */
export function moveStep({ name, args, shape, arePieces, from }: Move): GpuStep {
  const common = { name: arePieces ? `${name}_pieces` : name, args, shape, to: "y" };
  if (arePieces) {
    const load = (scope: GpuScope, index: U32): Moved => from(scope, index, (each, at) => scope.k.loadPiece(each, at));
    return { kind: "pieces", ...common, body: (scope, index) => ({ at: index, words: load(scope, index) }) };
  }
  const load = (scope: GpuScope, index: U32): Moved => from(scope, index, (each, at) => [scope.k.loadBits(each, at)]);
  return { kind: "map", ...common, body: (scope, index) => elementAt(load(scope, index), 0) };
}

/** What `then` returns where the condition holds, elsewhere `otherwise`. */
export function movedIf(k: Emitter, condition: Bool, then: () => Moved, otherwise: Moved): Moved {
  const words = otherwise.map((word) => k.variable("u32", word));
  k.if(condition, () => then().forEach((word, i) => void elementAt(words, i).set(word)));
  return words.map((word) => word.get());
}

/** A unit of zeros. */
export function zeroUnit(k: Emitter, arePieces: boolean): Moved {
  return Array.from({ length: arePieces ? pieceBytes / 4 : 1 }, () => k.constant("u32", 0));
}
