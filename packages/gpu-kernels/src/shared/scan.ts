import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { type Emitter, type F32, neighbourCount, type SharedArray, type U32 } from "../emitter.ts";
import { type Extent, isBelow } from "../extent.ts";
import { type GpuKernel, type GpuScope, input, output } from "../kernel.ts";
import { forEachBetween, perRow, type Row } from "./rows.ts";
import { forShares, partsOf, type Summary, sharedRows, storePart, summarize, summaryOf } from "./shares.ts";

type Combine = (k: Emitter, a: F32, b: F32) => F32;

/** Neighbouring elements of a lane: few where these suffice for a row. */
const [fewPerLane, manyPerLane] = [neighbourCount, 4 * neighbourCount];

/**
 * Running combination along an axis. A group passes over a row in tiles, with neighbouring elements in each lane. Several groups share each row if
 * rows are long and few: they combine their shares, then each passes over its own from the combination of all earlier ones.
 */
export function scan(initial: number, combine: Combine): GpuKernel<ParamsOf<"cumsum">, readonly [TensorSpec]> {
  return {
    steps: (call, { axis }) => {
      const [x] = call.inputs;
      const [from, to] = [{ x: input(call, 0) }, { y: output(call) }];
      const scanned = { initial, combine };
      const shared = sharedRows(call, axis);
      if (shared === undefined)
        return [
          perRow("", { x, axis, args: { ...from, ...to } }, (scope, row) => {
            scanRange(scope, { ...scanned, row, start: 0, end: row.length, before: scope.k.constant("f32", initial) });
          }),
        ];
      const summary: Summary<readonly ["f32"]> = { types: ["f32"], empty: [initial], combine: (k, [a], [b]) => [combine(k, a, b)] };
      const parts = partsOf(shared, summary);
      return [
        forShares(shared, { name: "share", args: { ...from, parts } }, (scope, { row, start, end }, group) => {
          const { k } = scope;
          const own = summarize(k, summary, (take) => forEachBetween(scope, row, start, end, (at) => take([k.load("x", at)])));
          storePart(scope, group, own);
        }),
        forShares(shared, { name: "result", args: { ...from, parts, ...to } }, (scope, { row, share, start, end }) => {
          const [before] = summaryOf(scope, shared, summary, row.row, share);
          scanRange(scope, { ...scanned, row, start, end, before });
        }),
      ];
    },
  };
}

/** Places of a row that a group passes over. Both ends are multiples of {@link neighbourCount} if the row's length is one. */
interface Range {
  readonly row: Row;
  readonly start: Extent;
  readonly end: Extent;
  /** The combination of all elements before the first one. */
  readonly before: F32;
  readonly initial: number;
  readonly combine: Combine;
}

function scanRange({ k }: GpuScope, { row, start, end, before, initial, combine }: Range): void {
  const perLane = (row.fixedLength ?? Number.POSITIVE_INFINITY) <= k.lanes * fewPerLane ? fewPerLane : manyPerLane;
  const cells = k.shared("f32", 2 * k.lanes);
  const running = k.variable("f32", before);
  k.forUniform(start, end, k.lanes * perLane, (tile) => {
    const first = k.add(tile, k.mul(k.lane(), perLane));
    const values = Array.from({ length: perLane }, () => k.variable("f32", initial));
    forPlaces(k, { row, first, end, count: perLane }, (at, i) => elementAt(values, i).set(k.load("x", at)));
    const sums: F32[] = [];
    for (const value of values) sums.push(sums.length === 0 ? value.get() : combine(k, elementAt(sums, sums.length - 1), value.get()));
    const { earlier, all } = scanLanes(k, cells, { own: elementAt(sums, perLane - 1), initial, combine });
    const base = combine(k, running.get(), earlier);
    forPlaces(k, { row, first, end, count: perLane }, (at, i) => k.store("y", at, combine(k, base, elementAt(sums, i))));
    running.set(combine(k, running.get(), all));
    // The cells are written again.
    k.sync();
  });
}

interface LanePlaces extends Pick<Range, "row" | "end"> {
  readonly first: U32;
  readonly count: number;
}

/** Runs `body` for a lane's places below the end, with the flat index and the number of each, four at once where they are neighbours. */
function forPlaces(k: Emitter, { row, first, end, count }: LanePlaces, body: (at: U32, i: number) => void): void {
  const isWide = row.isDense && row.fixedLength !== undefined && row.fixedLength % neighbourCount === 0;
  const width = isWide ? neighbourCount : 1;
  for (let i = 0; i < count; i += width) {
    const place = i === 0 ? first : k.add(first, i);
    k.if(isBelow(k, place, end), () => {
      if (!isWide) {
        body(row.at(place), i);
        return;
      }
      let next = i;
      k.neighbours([row.at(place)], ([at]) => body(at as U32, next++));
    });
  }
}

/** The combination of the values of all earlier lanes, and that of all lanes (Hillis and Steele, 1986). Each step reads one half of the cells. */
function scanLanes(
  k: Emitter,
  cells: SharedArray<"f32">,
  { own, initial, combine }: Pick<Range, "initial" | "combine"> & { readonly own: F32 },
): { readonly earlier: F32; readonly all: F32 } {
  const lane = k.lane();
  const value = k.variable("f32", own);
  let half = 0;
  const share = (): void => {
    cells.set(half === 0 ? lane : k.add(lane, half), value.get());
    k.sync();
  };
  share();
  for (let distance = 1; distance < k.lanes; distance *= 2) {
    k.if(k.compare("ge", lane, distance), () => {
      value.set(combine(k, cells.get(k.sub(k.add(lane, half), distance)), value.get()));
    });
    half = k.lanes - half;
    share();
  }
  const earlier = k.variable("f32", initial);
  k.if(k.compare("ge", lane, 1), () => earlier.set(cells.get(k.sub(k.add(lane, half), 1))));
  return { earlier: earlier.get(), all: cells.get(half + k.lanes - 1) };
}
