import type { Shape, TensorSpec } from "@centella/core";
import type { Bool, Emitter, U32 } from "../emitter.ts";
import { asValue, divide, type Extent, isBelow, plus, product, times, timesPlus, unflatten } from "../extent.ts";
import { type GpuCall, type GpuScope, type GpuScratch, type GpuStep, input, output } from "../kernel.ts";
import { dimAt, type Row, type Rows, rowAt, rowsOf } from "../rows/rows.ts";
import { larger, type Pair } from "./groups.ts";
import { type Order, rank } from "./order.ts";

/** Most elements that a group selects from, and the most of them that a lane holds in registers. */
const mostInTile = 4096;
const mostHeld = 16;

/** Largest index: that of places without an element. */
const none = 0xffffffff;

/** A step of a selection: groups that each select from a tile of the elements, or of those that the step before selected. */
interface Level {
  /** Number of elements in a line. */
  readonly count: number;
  /** Number of selected elements. */
  readonly kept: number;
  /** Number of tiles in a line. */
  readonly tiles: number;
  readonly lanes: number;
  /** Elements of a lane. */
  readonly held: number;
  /** Pairs that the level selects from; undefined for the call's input. */
  readonly from: GpuScratch | undefined;
  /** Memory for the selected pairs; undefined for the call's output. */
  readonly to: GpuScratch | undefined;
}

/** Selects the first elements in an order, as many as the output holds: from tiles of a line, then from what was selected, until one tile is left. */
export function selection(call: GpuCall<readonly [TensorSpec]>, order: Order): readonly GpuStep[] {
  const [x] = call.inputs;
  const rows = rowsOf(x, order.axis);
  const kept = dimAt(call.output, order.axis) as number;
  return levelsOf(dimAt(x, order.axis) as number, kept, [...rows.outer, ...rows.inner]).map((level) => levelStep(call, order, level, rows));
}

function levelsOf(n: number, kept: number, lines: Shape): readonly Level[] {
  const levels: Level[] = [];
  let [count, from]: [number, GpuScratch | undefined] = [n, undefined];
  for (;;) {
    const tiles = Math.ceil(count / mostInTile);
    const inTile = Math.min(count, mostInTile);
    const lanes = 2 ** Math.ceil(Math.log2(Math.min(mostInTile / mostHeld, Math.max(32, inTile / 4))));
    const to: GpuScratch | undefined = tiles > 1 ? pairsOf(lines, tiles * kept, from) : undefined;
    levels.push({ count, kept, tiles, lanes, held: Math.ceil(inTile / lanes), from, to });
    if (to === undefined) return levels;
    [count, from] = [tiles * kept, to];
  }
}

/** Memory for pairs that are written while those of `from` are read: two places take turns. */
function pairsOf(lines: Shape, count: number, from: GpuScratch | undefined): GpuScratch {
  const pairs: GpuScratch = { kind: "scratch", dtype: "u32", elements: [...lines, count, 2] };
  return from === undefined || from.after !== undefined ? pairs : { ...pairs, after: from };
}

function levelStep(call: GpuCall<readonly [TensorSpec]>, order: Order, level: Level, rows: Rows): GpuStep {
  const { descending, give } = order;
  const { kept, tiles, lanes, from, to } = level;
  const readsInput = from === undefined || (to === undefined && give === "values");
  return {
    kind: "groups",
    name: `${descending ? "down" : "up"}_${give}_${from === undefined ? "select" : "merge"}${to === undefined ? "" : "_tiles"}`,
    args: {
      ...(readsInput && { x: input(call, 0) }),
      ...(from && { candidates: from }),
      ...(to === undefined ? { y: output(call) } : { chosen: to }),
    },
    shape: [...rows.outer, ...rows.inner, tiles],
    lanes,
    body: (scope, group) => {
      const { k } = scope;
      const [line, tile] = divide(k, group, scope.whole(tiles));
      const row = rowAt(scope, rows, asValue(k, line));
      const chosen = chooseFirst(k, heldPairs(scope, order, level, { row, tile: asValue(k, tile) }), scope.whole(kept), kept);
      const between = product(k, scope.extents(rows.inner));
      const [before, after] = unflatten(k, row.row, [1, between]);
      k.for(k.lane(), scope.whole(kept), k.lanes, (place) => {
        const [key, index] = chosen.at(place);
        if (to === undefined) {
          const at = timesPlus(k, timesPlus(k, before, scope.whole(kept), place), between, after);
          k.store("y", at, give === "indices" ? index : k.load("x", row.at(index)));
          return;
        }
        const at = asValue(k, times(k, plus(k, times(k, group, scope.whole(kept)), place), 2));
        k.store("chosen", at, key);
        k.store("chosen", k.add(at, 1), index);
      });
    },
  };
}

/** The elements of a lane. Places after a line's end come last. */
function heldPairs(
  scope: GpuScope,
  { descending }: Order,
  { count, from, held }: Level,
  { row, tile }: { readonly row: Row; readonly tile: U32 },
): readonly Pair[] {
  const { k } = scope;
  const first = k.add(k.mul(tile, mostInTile), k.lane());
  return Array.from({ length: held }, (_, j): Pair => {
    const place = j === 0 ? first : k.add(first, j * k.lanes);
    const [key, index] = [k.variable("u32", 0), k.variable("u32", none)];
    k.if(isBelow(k, place, scope.whole(count)), () => {
      if (from === undefined) {
        key.set(rank(k, k.bitcast("u32", k.load("x", row.at(place))), descending));
        index.set(place);
        return;
      }
      const at = asValue(k, times(k, plus(k, times(k, row.row, scope.whole(count)), place), 2));
      key.set(k.loadBits("candidates", at));
      index.set(k.loadBits("candidates", k.add(at, 1)));
    });
    return [key.get(), index.get()];
  });
}

/**
 * The first `kept` of the pairs of all lanes, in order. Each round finds the first of what every lane has left; only the lane that had it looks for
 * its next.
 */
function chooseFirst(k: Emitter, own: readonly Pair[], kept: Extent, most: number): { at(place: U32): Pair } {
  const [ranks, indices] = [k.shared("u32", Math.max(1, most)), k.shared("u32", Math.max(1, most))];
  const nothing: Pair = [k.constant("u32", 0), k.constant("u32", none)];
  const [firstKey, firstIndex] = own.reduce((best, pair) => larger(k, best, pair), nothing);
  const [key, index] = [k.variable("u32", firstKey), k.variable("u32", firstIndex)];
  const reduce = k.reducer(["u32", "u32"]);
  k.forUniform(0, kept, 1, (place) => {
    const last = reduce([key.get(), index.get()], (a, b) => larger(k, a, b));
    k.if(k.compare("eq", k.lane(), 0), () => {
      ranks.set(place, last[0]);
      indices.set(place, last[1]);
    });
    k.if(k.compare("eq", index.get(), last[1]), () => {
      const [nextKey, nextIndex] = own.reduce((best, pair) => {
        const isLeft = isAfter(k, pair, last);
        return larger(k, best, [k.select(isLeft, pair[0], 0), k.select(isLeft, pair[1], none)]);
      }, nothing);
      key.set(nextKey);
      index.set(nextIndex);
    });
  });
  k.sync();
  return { at: (place) => [ranks.get(place), indices.get(place)] };
}

/** Whether a pair comes after another one. */
function isAfter(k: Emitter, pair: Pair, other: Pair): Bool {
  const isSame = k.compare("eq", pair[0], other[0]);
  return k.either(k.compare("lt", pair[0], other[0]), k.both(isSame, k.compare("gt", pair[1], other[1])));
}
