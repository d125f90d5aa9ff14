import type { Shape, TensorSpec } from "@centella/core";
import type { Bool, Emitter } from "../emitter.ts";
import { asValue, product, timesPlus, unflatten } from "../extent.ts";
import { type GpuArgument, type GpuCall, type GpuStep, input, mostElements, output } from "../kernel.ts";
import { dimAt, rowsOf } from "../rows/rows.ts";
import { comesFirst, type Pair } from "./groups.ts";
import { type Order, rank } from "./order.ts";
import { selection } from "./selection.ts";

/** Elements that one group sorts in shared memory, by lanes of two elements each. */
const tile = 512;

/** Maximum number of elements that are selected one after the other; longer selections sort the whole line. */
const mostRounds = 32;

/** First elements of a stable sort along an axis, as many as the output holds. NaN counts as the largest. */
export function orderSteps(call: GpuCall<readonly [TensorSpec]>, order: Order): readonly GpuStep[] {
  const kept = dimAt(call.output, order.axis);
  const n = dimAt(call.inputs[0], order.axis);
  if (typeof kept === "number" && kept <= mostRounds && kept !== n) return selection(call, order);
  return sorting(call, order);
}

/** Bitonic network (Batcher, 1968) over ranks and indices in the call's temporary memory. Groups sort distances within a tile. */
function sorting(call: GpuCall<readonly [TensorSpec]>, { axis, descending, give }: Order): readonly GpuStep[] {
  const x = call.inputs[0];
  const { outer, inner } = rowsOf(x, axis);
  const rows = mostElements([...outer, ...inner]);
  const most = mostElements([dimAt(x, axis)]);
  const length = Math.max(tile, 2 ** Math.ceil(Math.log2(Math.max(1, most))));
  const places = rows * length;
  // Ranks, then indices.
  const pairs: GpuArgument = { kind: "scratch", dtype: "u32", elements: [2, rows, length] };
  const lines = [...outer, ...inner];
  const name = `${descending ? "down" : "up"}_${give}`;
  const fill: GpuStep = {
    kind: "each",
    name: `${name}_fill`,
    args: { x: input(call, 0), pairs },
    shape: [...lines, length],
    body: (scope, index) => {
      const { k } = scope;
      const n = scope.extent(dimAt(x, axis));
      const between = product(k, scope.extents(inner));
      const [line, i] = unflatten(k, index, [1, scope.whole(length)]);
      const [before, after] = unflatten(k, line, [1, between]);
      const key = k.variable("u32", 0);
      // Places beyond the line come last: only a NaN can also have rank 0, and its index is smaller.
      k.if(k.compare("lt", asValue(k, i), n), () => {
        const from = asValue(k, timesPlus(k, timesPlus(k, before, n, i), between, after));
        key.set(rank(k, k.bitcast("u32", k.load("x", from)), descending));
      });
      k.store("pairs", index, key.get());
      k.store("pairs", k.add(index, scope.whole(places)), asValue(k, i));
    },
  };
  const steps: GpuStep[] = [fill, inTiles(pairs, lines, length, places, [2, tile])];
  for (let size = 2 * tile; size <= length; size *= 2) {
    for (let distance = size / 2; distance >= tile; distance /= 2) steps.push(apart(pairs, lines, length, places, size, distance));
    steps.push(inTiles(pairs, lines, length, places, [size, size]));
  }
  steps.push({
    kind: "each",
    name: `${name}_give`,
    args: give === "values" ? { x: input(call, 0), pairs, y: output(call) } : { pairs, y: output(call) },
    shape: call.output.shape,
    body: (scope, index) => {
      const { k } = scope;
      const between = product(k, scope.extents(inner));
      const [before, place, after] = unflatten(k, index, [1, scope.extent(dimAt(call.output, axis)), between]);
      const line = timesPlus(k, before, between, after);
      const found = k.loadBits("pairs", asValue(k, timesPlus(k, line, scope.whole(length), k.add(asValue(k, place), scope.whole(places)))));
      if (give === "indices") k.store("y", index, found);
      else {
        const n = scope.extent(dimAt(x, axis));
        k.store("y", index, k.load("x", asValue(k, timesPlus(k, timesPlus(k, before, n, found), between, after))));
      }
    },
  });
  return steps;
}

/** Compares and swaps pairs at a distance of a tile or more. */
function apart(pairs: GpuArgument, lines: Shape, length: number, places: number, size: number, distance: number): GpuStep {
  return {
    kind: "each",
    name: "swap",
    args: { pairs },
    shape: [...lines, length / 2],
    body: (scope, index) => {
      const { k } = scope;
      const [step, all] = [scope.whole(distance), scope.whole(places)];
      const [block, within] = unflatten(k, index, [1, step]);
      const a = asValue(k, timesPlus(k, block, k.mul(asValue(k, step), 2), within));
      const b = k.add(a, step);
      const [aRank, bRank] = [k.loadBits("pairs", a), k.loadBits("pairs", b)];
      const [aIndex, bIndex] = [k.loadBits("pairs", k.add(a, all)), k.loadBits("pairs", k.add(b, all))];
      const isUp = k.compare("eq", k.and(k.and(a, scope.whole(length - 1)), scope.whole(size)), 0);
      k.if(isSwapped(k, isUp, [aRank, aIndex], [bRank, bIndex]), () => {
        k.store("pairs", a, bRank);
        k.store("pairs", b, aRank);
        k.store("pairs", k.add(a, all), bIndex);
        k.store("pairs", k.add(b, all), aIndex);
      });
    },
  };
}

/** Stages of sizes `from` to `to` whose distances stay within tiles. */
function inTiles(pairs: GpuArgument, lines: Shape, length: number, places: number, [from, to]: readonly [number, number]): GpuStep {
  const isFirst = from === 2;
  return {
    kind: "groups",
    name: isFirst ? "tile" : "merge",
    args: { pairs },
    shape: [...lines, length / tile],
    lanes: tile / 2,
    body: (scope, group) => {
      const { k } = scope;
      const all = scope.whole(places);
      const [ranks, indices] = [k.shared("u32", tile), k.shared("u32", tile)];
      const lane = k.lane();
      const start = k.mul(group, tile);
      for (const at of [lane, k.add(lane, tile / 2)]) {
        ranks.set(at, k.loadBits("pairs", k.add(start, at)));
        indices.set(at, k.loadBits("pairs", k.add(k.add(start, at), all)));
      }
      // Sizes within a tile are constants. A larger size is the same for the whole tile.
      for (let size = isFirst ? 2 : tile; size <= tile; size *= 2) {
        for (let distance = size / 2; distance >= 1; distance /= 2) {
          k.sync();
          const block = k.quotient(lane, distance);
          const a = k.add(k.mul(block, 2 * distance), k.remainder(lane, distance));
          const b = k.add(a, distance);
          const direction = isFirst ? size : scope.whole(to);
          const isUp = k.compare("eq", k.and(k.and(k.add(start, a), scope.whole(length - 1)), direction), 0);
          const [first, second] = [[ranks.get(a), indices.get(a)] as const, [ranks.get(b), indices.get(b)] as const];
          k.if(isSwapped(k, isUp, first, second), () => {
            ranks.set(a, second[0]);
            ranks.set(b, first[0]);
            indices.set(a, second[1]);
            indices.set(b, first[1]);
          });
        }
      }
      k.sync();
      for (const at of [lane, k.add(lane, tile / 2)]) {
        k.store("pairs", k.add(start, at), ranks.get(at));
        k.store("pairs", k.add(k.add(start, at), all), indices.get(at));
      }
    },
  };
}

/** Whether two elements must be swapped: in an ascending run, the one that {@link comesFirst} must be the first. */
function isSwapped(k: Emitter, isUp: Bool, a: Pair, b: Pair): Bool {
  const bFirst = comesFirst(k, b, a);
  return k.either(k.both(isUp, bFirst), k.both(k.not(isUp), k.not(bFirst)));
}
