import type { ParamsOf } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import type { Bool, F32, U32 } from "./emitter.ts";
import { asValue, type Extent, times, timesPlus } from "./extent.ts";
import type { AnchoredCall } from "./fused.ts";
import { type GpuArgument, type GpuArguments, type GpuScope, input } from "./kernel.ts";
import { factorOf, normedElement, normFactor } from "./kernels/rmsNorm.ts";
import { type RoundedType, roundStaged } from "./roundActivations.ts";
import { dimAt, laneWidth, rowAt, rowsOf, visitsOf } from "./rows/rows.ts";
import { roundedTo } from "./shared/dtypes.ts";
import { groupSum } from "./shared/groups.ts";

/** The index of the norm's weight among the inputs of the whole group. */
export function normWeightInput(norm: AnchoredCall): number {
  return norm.inputOf(1);
}

/** The arguments that {@link stageNorm} reads and writes, as those of the whole group. */
export function stagedNormArgs(norm: AnchoredCall): GpuArguments {
  const own: GpuArguments = { ...(norm.prologue?.args ?? { x: input(norm, 0) }), w: input(norm, 1) };
  const moved = (argument: GpuArgument): GpuArgument =>
    argument.kind === "input" ? { ...argument, index: norm.inputOf(argument.index) } : argument;
  return Object.fromEntries(Object.entries(own).map(([name, argument]) => [name, moved(argument)]));
}

/** Memory that the lanes of a group share, for rows one after the other. */
export interface StagedRows {
  get(index: U32): F32;
  /** Two lanes never write elements of the same aligned four, unless `width` is 1. */
  set(index: U32, value: F32): void;
  /** Elements that a lane stores at once: a divisor of the rows' length. */
  readonly width: 1 | 4;
  /** Stores as many elements from `index` on. */
  store(index: U32, values: readonly F32[]): void;
}

/** What {@link normFactors} computes. */
interface Factors {
  /** Number of rows. */
  readonly rows: Extent;
  /** Whether the group of lanes stores the norm's extra output. Undefined: another launch does. */
  readonly isKeeper: Bool | undefined;
  /** Stores a row's factor, in one lane. */
  store(row: U32, factor: F32): void;
}

/** A row of a norm. */
interface NormRow {
  readonly row: U32;
  /** Whether the group of lanes stores the norm's extra output. Undefined: another launch does. */
  readonly isKeeper: Bool | undefined;
}

/** What a row is multiplied by before the weight. A group with as many lanes as that of the norm's own kernel returns the same bits. */
function rowFactor(scope: GpuScope, norm: AnchoredCall, { row, isKeeper }: NormRow, add: (own: F32) => F32): F32 {
  const { k } = scope;
  const { eps } = norm.params as ParamsOf<"rmsNorm">;
  const read = (at: U32): F32 => elementOf(scope, norm, at);
  const visit = visitsOf(scope, rowAt(scope, rowsOf(norm.output, -1), row), { first: read, again: read });
  const factor = normFactor(scope, { visit, count: scope.extent(dimAt(norm.output, -1)), eps }, add);
  if (isKeeper !== undefined && keeps(norm)) k.if(isKeeper, () => visit((value, at) => k.store("kept", at, value)));
  return factor;
}

/** Whether the elements before the norm are a result, too. */
function keeps({ prologue }: AnchoredCall): boolean {
  return prologue !== undefined && "kept" in prologue.args;
}

/**
 * Reads the elements of a row of fixed length whose squares the lane adds up, in the order of {@link normFactors}; zeros past the row's end.
 */
export function laneElements(scope: GpuScope, norm: AnchoredCall, { row, isKeeper }: NormRow): readonly F32[] {
  const { k } = scope;
  const each = rowAt(scope, rowsOf(norm.output, -1), row);
  const { fixedLength: length } = each;
  if (length === undefined) throw new RangeError("expected a norm of rows of fixed length; this is a bug, please report it");
  const width = laneWidth(k, each);
  const visit = (at: U32, body: (at: U32) => void): void => {
    if (width === 1) body(at);
    else k.neighbours([at], ([index = at]) => body(index));
  };
  const read = (at: U32): readonly F32[] => {
    const values: F32[] = [];
    visit(at, (index) => values.push(elementOf(scope, norm, index)));
    const left = [...values];
    if (isKeeper !== undefined && keeps(norm))
      k.if(isKeeper, () => visit(at, (index) => void k.store("kept", index, elementAt(left.splice(0, 1), 0))));
    return values;
  };
  const step = width * k.lanes;
  return Array.from({ length: Math.ceil(length / step) }, (_, i) => {
    const place = k.add(k.mul(k.lane(), width), i * step);
    if ((i + 1) * step <= length) return read(each.at(place));
    const elements = Array.from({ length: width }, () => k.variable("f32", 0));
    k.if(k.compare("lt", place, length), () => read(each.at(place)).forEach((value, j) => void elements[j]?.set(value)));
    return elements.map((element) => element.get());
  }).flat();
}

/**
 * The factor of a row whose elements the lanes have read, see {@link laneElements}; the bits are those of {@link normFactors}. `add` adds up a
 * value of each lane.
 */
export function factorOfElements(scope: GpuScope, norm: AnchoredCall, elements: readonly F32[], add: (own: F32) => F32): F32 {
  const { k } = scope;
  const { eps } = norm.params as ParamsOf<"rmsNorm">;
  const own = elements.reduce((sum, x) => k.fma(x, x, sum), k.constant("f32", 0));
  return factorOf(scope, add(own), { count: scope.extent(dimAt(norm.output, -1)), eps });
}

/**
 * Computes what each row is multiplied by before the weight; all lanes of the group may read it afterwards. A group with as many lanes as that
 * of the norm's own kernel returns the same bits.
 */
export function normFactors(scope: GpuScope, norm: AnchoredCall, { rows, isKeeper, store }: Factors): void {
  const { k } = scope;
  const add = groupSum(k);
  k.forUniform(0, asValue(k, rows), 1, (row) => {
    const factor = rowFactor(scope, norm, { row, isKeeper }, add);
    k.if(k.compare("eq", k.lane(), 0), () => store(row, factor));
  });
  k.sync();
}

/** An element of the norm's first tensor. */
function elementOf(scope: GpuScope, { prologue }: AnchoredCall, at: U32): F32 {
  return prologue === undefined ? scope.k.load("x", at) : prologue.apply(scope, at);
}

/** Some elements of a row that is to be normed. */
export interface NormOperands {
  readonly values: readonly F32[];
  readonly weights: readonly F32[];
}

/** Elements from `first` on of a row before it is normed, and their weights. If their number is a multiple of 4, so are `first` and the row's length. */
export function normOperands(
  scope: GpuScope,
  norm: AnchoredCall,
  { row, first, count }: { readonly row: U32; readonly first: U32; readonly count: number },
): NormOperands {
  return { values: normValues(scope, norm, { row, first, count }), weights: normWeights(scope, { first, count }) };
}

/** The values of {@link normOperands}. */
export function normValues(
  scope: GpuScope,
  norm: AnchoredCall,
  { row, first, count }: { readonly row: U32; readonly first: U32; readonly count: number },
): readonly F32[] {
  const { k } = scope;
  const at = asValue(k, timesPlus(k, row, scope.extent(dimAt(norm.output, -1)), first));
  if (norm.prologue === undefined) return loaded(scope, "x", at, count);
  return placesFrom(scope, at, count, 1).map((i) => elementOf(scope, norm, i));
}

/** The weights of {@link normOperands}. */
export function normWeights(scope: GpuScope, { first, count }: { readonly first: U32; readonly count: number }): readonly F32[] {
  return loaded(scope, "w", first, count);
}

function loaded(scope: GpuScope, name: string, from: U32, count: number): readonly F32[] {
  const { k } = scope;
  return count % 4 === 0
    ? placesFrom(scope, from, count, 4).flatMap((i) => k.loadVector(name, i))
    : placesFrom(scope, from, count, 1).map((i) => k.load(name, i));
}

function placesFrom({ k }: GpuScope, from: U32, count: number, step: number): readonly U32[] {
  return Array.from({ length: count / step }, (_, i) => k.add(from, i * step));
}

/** Elements of a normed row, given its factor. */
export function normedElements({ k }: GpuScope, { values, weights }: NormOperands, factor: F32): readonly F32[] {
  return values.map((value, i) => normedElement(k, value, factor, elementAt(weights, i)));
}

/** What {@link stageNorm} computes. */
interface Stage {
  /** Number of rows, and the most of any run. */
  readonly rows: Extent;
  readonly most: number;
  /** What the results are rounded to. */
  readonly rounding: RoundedType | undefined;
  readonly staged: StagedRows;
  /** Whether the group of lanes stores the norm's extra output. */
  readonly isKeeper: Bool;
}

/**
 * Norms rows, and rounds them where products do, in memory that the lanes of a group share, for products that read them there: every
 * group norms all rows; see {@link normFactors}.
 */
export function stageNorm(scope: GpuScope, norm: AnchoredCall, { rows, most, rounding, staged, isKeeper }: Stage): void {
  const { k } = scope;
  const dim = dimAt(norm.output, -1);
  const length = scope.extent(dim);
  const rounded = (value: F32): F32 => (rounding === "f16" || rounding === "bf16" ? roundedTo(k, rounding, value) : value);
  const factors = k.shared("f32", most);
  normFactors(scope, norm, { rows, isKeeper, store: (row, factor) => factors.set(row, factor) });
  k.forUniform(0, asValue(k, rows), 1, (row) => {
    const factor = factors.get(row);
    k.for(k.mul(k.lane(), staged.width), asValue(k, length), k.lanes * staged.width, (first) => {
      const values = normedElements(scope, normOperands(scope, norm, { row, first, count: staged.width }), factor);
      staged.store(asValue(k, timesPlus(k, row, length, first)), values.map(rounded));
    });
  });
  k.sync();
  if (rounding !== undefined && rounding !== "f16" && rounding !== "bf16")
    roundStaged(scope, rounding, { staged, count: times(k, rows, length), capacity: most * (dim as number) });
}
