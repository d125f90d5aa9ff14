import type { Dim, Shape, TensorSpec } from "@centella/core";
import { elementAt, tupleOf } from "@centella/core/backend";
import { type Emitter, type F32, neighbourCount, type U32 } from "../emitter.ts";
import { asValue, divide, type Extent, isBelow, plus, product, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuArguments, type GpuScope, type GpuStep, mostElements } from "../kernel.ts";

/** One run of elements along an axis, handled by one group. */
export interface Row {
  /** Number of the row, in the order of the shape without the axis. */
  readonly row: U32;
  readonly length: Extent;
  /** Flat index of element `i` of the row. */
  at(i: Extent): U32;
  /** Whether the row's elements follow one another, as do the rows. */
  readonly isDense: boolean;
  /** The length if all runs have the same. */
  readonly fixedLength: number | undefined;
}

/** The axes that rows run along, and those before and after them. */
export interface Rows {
  readonly outer: Shape;
  readonly along: Shape;
  readonly inner: Shape;
}

/** The rows of a tensor along an axis; for null, the tensor is one row. */
export function rowsOf({ shape }: TensorSpec, axis: number | null): Rows {
  if (axis === null || shape.length === 0) return { outer: [], along: shape, inner: [] };
  const at = axis < 0 ? axis + shape.length : axis;
  return { outer: shape.slice(0, at), along: shape.slice(at, at + 1), inner: shape.slice(at + 1) };
}

/** The extent of an axis; a negative axis counts from the end. */
export function dimAt({ shape }: TensorSpec, axis: number): Dim {
  return elementAt(shape, axis < 0 ? axis + shape.length : axis);
}

/** The row of a number. */
export function rowAt(scope: GpuScope, { along, inner }: Rows, row: U32): Row {
  const { k } = scope;
  const length = product(k, scope.extents(along));
  const between = product(k, scope.extents(inner));
  const [before, after] = unflatten(k, row, [1, between]);
  const start = timesPlus(k, times(k, before, length), between, after);
  return {
    row,
    length,
    at: (i) => asValue(k, plus(k, times(k, i, between), start)),
    isDense: between === 1,
    fixedLength: along.every((dim) => typeof dim === "number") ? mostElements(along) : undefined,
  };
}

/** A step over rows. */
interface RowStep {
  readonly rows: Rows;
  readonly args: GpuArguments;
  /** Lanes of a group. */
  readonly lanes?: number;
}

/** One group per row. */
export function perRow(name: string, { rows, args, lanes }: RowStep, body: (scope: GpuScope, row: Row) => void): GpuStep {
  return {
    kind: "groups",
    name,
    args,
    shape: [...rows.outer, ...rows.inner],
    ...(lanes !== undefined && { lanes }),
    body: (scope, row) => body(scope, rowAt(scope, rows, row)),
  };
}

/** Runs `body` for every element of a row, spread over the group's lanes. */
export function forEachOf({ k }: GpuScope, length: Extent, body: (i: U32) => void): void {
  k.for(k.lane(), length, k.lanes, body);
}

/** Whether lanes of a group are to access several elements of a row at once. */
function isWide(k: Emitter, { fixedLength = 0, isDense }: Row): boolean {
  return isDense && fixedLength % neighbourCount === 0 && fixedLength >= k.lanes * neighbourCount;
}

/** Neighbouring elements of a row that a lane of a group accesses together: lane `i` begins with the `i`-th of such runs. */
export function laneWidth(k: Emitter, row: Row): number {
  return isWide(k, row) ? neighbourCount : 1;
}

/** Number of elements or vectors whose loads overlap, in a lane's loop over a long row. */
const inFlight = 4;

/**
 * Runs `body` for the elements from place `from` to `to` of a row, with the flat index and the place of each, spread over the group's lanes.
 * Both ends are multiples of {@link neighbourCount} if the row's length is one.
 */
export function forEachBetween({ k }: GpuScope, row: Row, from: Extent, to: Extent, body: (at: U32, i: U32) => void): void {
  if (!isWide(k, row)) {
    k.for(asValue(k, plus(k, k.lane(), from)), to, k.lanes, (i) => body(row.at(i), i));
    return;
  }
  forVectorsBetween(k, from, to, (places) => {
    for (const i of places) {
      const first = i();
      k.neighbours([row.at(first), first], (indices) => body(elementAt(indices, 0), elementAt(indices, 1)));
    }
  });
}

/**
 * Reads the elements from place `from` to `to` of a row, spread over the group's lanes, and runs `body` for a few of them at a time. The ends are
 * those of {@link forEachBetween}.
 */
export function forChunksBetween(
  { k }: GpuScope,
  row: Row,
  from: Extent,
  to: Extent,
  read: (at: U32) => F32,
  body: (values: readonly F32[]) => void,
): void {
  if (!isWide(k, row)) {
    k.for(asValue(k, plus(k, k.lane(), from)), to, k.lanes, (i) => body([read(row.at(i))]));
    return;
  }
  forVectorsBetween(k, from, to, (places) => {
    const values: F32[] = [];
    for (const i of places) k.neighbours([row.at(i())], ([at]) => values.push(read(at as U32)));
    body(values);
  });
}

/** Runs `body` for the first places of vectors, of several vectors whose loads overlap or of one, spread over the group's lanes. */
function forVectorsBetween(k: Emitter, from: Extent, to: Extent, body: (places: readonly (() => U32)[]) => void): void {
  const step = k.lanes * neighbourCount;
  const first = asValue(k, timesPlus(k, k.lane(), neighbourCount, from));
  const count = typeof from === "number" && typeof to === "number" ? to - from : k.sub(asValue(k, to), from);
  const [turns] = divide(k, count, step * inFlight);
  const end = plus(k, times(k, turns, step * inFlight), from);
  if (end !== from)
    k.for(first, end, step * inFlight, (i) => {
      body(Array.from({ length: inFlight }, (_, u) => () => (u === 0 ? i : k.add(i, u * step))));
    });
  if (end !== to) lastTurns(k, asValue(k, plus(k, k.mul(k.lane(), neighbourCount), end)), to, step, (i) => body([() => i]));
}

/** A lane's places in a range from `from` to `to`, at least `from`: from `first` on, each `step` after the one before. */
interface Places {
  readonly first: U32;
  readonly from: Extent;
  readonly to: Extent;
  readonly step: Extent;
}

/** Runs `body` for a lane's places, several in each turn of its loop, so that their loads overlap. */
export function forTurns(k: Emitter, places: Places, body: (i: U32) => void): void {
  const { first, to, step } = places;
  const rest = forWholeTurns(k, places, (turns) => {
    for (const i of turns) body(i());
  });
  if (rest !== undefined) lastTurns(k, asValue(k, plus(k, first, rest)), to, step, body);
}

/** Runs `body` for several of a lane's places at a time, then for single ones. `most` is the largest number of places of a lane. */
export function forChunks(k: Emitter, places: Places, most: number, body: (places: readonly (() => U32)[]) => void): void {
  const { first, to, step } = places;
  const rest = most < inFlight ? 0 : forWholeTurns(k, places, body);
  if (rest !== undefined) k.for(asValue(k, plus(k, first, rest)), to, step, (i) => body([() => i]));
}

/**
 * Runs `body` for {@link inFlight} of a lane's places at a time, as long as all lanes have as many. Returns the distance from the first place to the
 * first one that is left; undefined if there is none.
 */
function forWholeTurns(k: Emitter, { first, from, to, step }: Places, body: (places: readonly (() => U32)[]) => void): Extent | undefined {
  const count = typeof from === "number" && typeof to === "number" ? to - from : k.sub(asValue(k, to), asValue(k, from));
  const together = times(k, step, inFlight);
  const [turns] = divide(k, count, together);
  const whole = times(k, turns, together);
  if (whole !== 0)
    k.for(first, asValue(k, plus(k, whole, from)), together, (i) => {
      body(Array.from({ length: inFlight }, (_, u) => () => asValue(k, timesPlus(k, step, u, i))));
    });
  return whole === count ? undefined : whole;
}

/** Fewer than {@link inFlight} turns of a lane's loop. They have no loop, in which each would wait for the load of the one before. */
function lastTurns(k: Emitter, first: U32, to: Extent, step: Extent, body: (i: U32) => void): void {
  for (let u = 0; u < inFlight; u++) {
    const i = asValue(k, timesPlus(k, step, u, first));
    k.if(isBelow(k, i, to), () => body(i));
  }
}

/** {@link forEachBetween} for all elements of a row. */
export function forEachIn(scope: GpuScope, row: Row, body: (at: U32, i: U32) => void): void {
  forEachBetween(scope, row, 0, row.length, body);
}

/** Most elements of a row that a lane keeps in registers. */
const mostHeld = 32;

/** Visits every element of a row, with its value, its flat index and its place, spread over the group's lanes. */
export interface RowVisit {
  (body: (value: F32, at: U32, i: U32) => void): void;
  /** Whether lanes have their elements in registers: a visit calls its body for each of them, always in the same order. */
  readonly isHeld: boolean;
}

/**
 * Visits of a row's elements, which `first` reads for the first visit and `again` for later ones. Lanes keep the elements of rows of up to
 * {@link mostHeld} elements per lane in registers: each is then read once.
 */
export function visitsOf(scope: GpuScope, row: Row, { first, again }: { first(at: U32): F32; again(at: U32): F32 }): RowVisit {
  const { k } = scope;
  const { fixedLength = 0 } = row;
  const step = k.lanes * neighbourCount;
  const isHeld = isWide(k, row) && fixedLength % step === 0 && fixedLength <= k.lanes * mostHeld;
  let held: F32[] | undefined;
  const visit: (...args: Parameters<RowVisit>) => void = (body) => {
    const known = held;
    const values: F32[] = [];
    held = values;
    if (!isHeld) {
      const read = known === undefined ? first : again;
      forEachIn(scope, row, (at, i) => body(read(at), at, i));
      return;
    }
    const own = k.mul(k.lane(), neighbourCount);
    for (let start = 0; start < fixedLength; start += step) {
      const place = start === 0 ? own : k.add(own, start);
      k.neighbours([row.at(place), place], (indices) => {
        const [at, i] = tupleOf(indices, 2);
        const value = known?.[values.length] ?? first(at);
        values.push(value);
        body(value, at, i);
      });
    }
  };
  return Object.assign(visit, { isHeld });
}

/** Lanes that share a row along some axes which they visit several times: many for a long one. The order in which values are added up depends on them. */
export function visitLanes(along: Shape): { readonly lanes?: number } {
  return along.every((dim) => typeof dim === "number") && mostElements(along) >= 1024 ? { lanes: 256 } : {};
}

/** Adds up `value(i)` over a row; every lane gets the sum. */
export function sumOf(scope: GpuScope, length: Extent, add: (own: F32) => F32, value: (i: U32) => F32): F32 {
  const { k } = scope;
  const own = k.variable("f32", 0);
  forEachOf(scope, length, (i) => own.set(k.add(own.get(), value(i))));
  return add(own.get());
}

/** Adds up the squares of `value(i)` over a row; every lane gets the sum. */
export function squaresOf(scope: GpuScope, length: Extent, add: (own: F32) => F32, value: (i: U32) => F32): F32 {
  const { k } = scope;
  const own = k.variable("f32", 0);
  const addSquares = (places: readonly U32[]): void => {
    for (const x of places.map(value)) own.set(k.fma(x, x, own.get()));
  };
  const step = k.lanes * inFlight;
  const whole = typeof length === "number" ? length - (length % step) : 0;
  if (whole > 0)
    k.for(k.lane(), whole, step, (i) => addSquares(Array.from({ length: inFlight }, (_, u) => (u === 0 ? i : k.add(i, u * k.lanes)))));
  if (whole !== length) k.for(whole > 0 ? k.add(k.lane(), whole) : k.lane(), length, k.lanes, (i) => addSquares([i]));
  return add(own.get());
}
