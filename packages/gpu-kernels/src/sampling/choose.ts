import { elementAt } from "@centella/core/backend";
import type { Bool, Emitter, SharedArray, U32, Variable } from "../emitter.ts";
import type { GpuScope } from "../kernel.ts";
import { infinityKey } from "../shared/math.ts";
import { philox4x32 } from "../shared/philox.ts";
import type { Cut, Draw } from "./draw.ts";
import { holds, type LogitPlace, pickInOrder } from "./pick.ts";
import { blockLength, forEachGreatest, greatestOf, keysInFlight, lowestKey, optionsOf, weightsOf, workRow } from "./row.ts";
import { search } from "./search.ts";
import { isLess, selectWide, share, type Wide, wide, wideScan, wideSum, wideVariable } from "./wide.ts";

/** Lanes whose greatest logits bound the candidates that top-p tries first. */
const firstLanes = 128;

/**
 * Chooses an index of a row of `n` logits with a group of lanes. The keys of its logits, the greatest of each block and, unless top-k cuts
 * the row, sums of weights are in the call's temporary memory.
 */
export function choose(scope: GpuScope, row: U32, n: number): void {
  const { k } = scope;
  const blocks = Math.ceil(n / blockLength);
  const work = workRow(scope, row, blocks);
  const options = optionsOf(k, row, n);
  // Loads that nothing before the draw waits for.
  const position = k.loadBits("position", row);
  const seed = [k.loadBits("seed", k.mul(row, 2)), k.loadBits("seed", k.add(k.mul(row, 2), 1))] as const;
  const { own, ownBlock, greatest, most } = greatestOf(k, work, blocks);
  const isBad = k.either(k.compare("lt", greatest, lowestKey), k.compare("ge", greatest, infinityKey));
  k.ifUniform(
    k.either(isBad, options.isGreedy),
    () => {
      // The greatest complement is the lowest index.
      const lowest = (isOne: Bool, index: U32): U32 => k.xor(most(k.select(isOne, k.xor(index, 0xffffffff), 0)), 0xffffffff);
      const block = k.min(lowest(k.compare("eq", own, greatest), ownBlock), blocks - 1);
      const place = k.min(k.lane(), blockLength - 1);
      const first = lowest(k.compare("eq", work.key(block, place), greatest), k.add(k.mul(block, blockLength), place));
      k.if(k.compare("eq", k.lane(), 0), () => k.store("y", row, k.select(isBad, k.constant("u32", 0xffffffff), first)));
    },
    () => {
      const zero = k.constant("u32", 0);
      const [random] = philox4x32(k, [position, zero, zero, zero], seed);
      const weights = weightsOf(k, greatest, options);
      draw({ k, row, work, blocks, options, weights, random, sum: wideSum(k), scan: wideScan(k), most }, own);
    },
  );
}

/** Draws from a row. `own` is the greatest key of the lane's blocks. */
function draw(state: Draw, own: U32): void {
  const { k, options } = state;
  const cut: Cut = { key: k.variable("u32", 0), end: k.variable("u32", 0) };
  const isDone = k.variable("u32", 0);
  const isCut = k.either(options.isTopK, options.isTopP);
  k.ifUniform(isCut, () => {
    const candidates = candidatesFrom(state, boundOf(state, own));
    k.ifUniform(candidates.isComplete, () => chooseAmong(state, candidates, isDone));
    k.ifUniform(k.compare("eq", isDone.get(), 0), () => search(state, cut));
  });
  k.ifUniform(k.compare("eq", isDone.get(), 0), () =>
    pickInOrder(state, {
      hasSums: k.not(isCut),
      weightOf: (place) => keptWeight(state, cut, place),
      limitOf: (total) => share(k, total, state.random),
      found: (id) => k.store("y", state.row, id),
    }),
  );
}

/**
 * A key that the `r` greatest logits of a row reach: the `r`-th greatest of any of its logits, here of the lanes' greatest ones. The least finite
 * key if there are fewer lanes.
 */
function boundOf({ k, options, most }: Draw, own: U32): U32 {
  const tops = k.shared("u32", k.lanes);
  tops.set(k.lane(), own);
  k.sync();
  const greater = k.variable("u32", 0);
  inFours(k, k.lanes, (j) => greater.set(k.add(greater.get(), k.select(k.compare("gt", tops.get(j), own), k.constant("u32", 1), 0))));
  const wanted = k.select(options.isTopK, options.topK, firstLanes);
  // The greatest complement is the least key.
  const least = k.xor(most(k.select(k.compare("lt", greater.get(), wanted), k.xor(own, 0xffffffff), 0)), 0xffffffff);
  return k.max(k.select(k.compare("le", wanted, k.lanes), least, 0), lowestKey);
}

/** Runs `body` for the numbers below `count`, and for those up to a multiple of four: what four of them read is under way together. */
function inFours(k: Emitter, count: U32 | number, body: (j: U32) => void): void {
  k.for(0, count, 4, (first) => {
    for (let i = 0; i < 4; i++) body(i === 0 ? first : k.add(first, i));
  });
}

/** Logits of a row, in any order: at most one for each lane. */
interface Candidates {
  readonly keys: Cells;
  /** Indices in the row. */
  readonly ids: Cells;
  readonly count: U32;
  /** Whether these are all of the logits that were looked for. */
  readonly isComplete: Bool;
}

type Cells = SharedArray<"u32">;

/** Finds the logits whose keys are at least `least`. Lanes share the keys of blocks that have some. */
function candidatesFrom({ k, work, blocks, most }: Draw, least: U32): Candidates {
  const [keys, ids, found] = [k.shared("u32", k.lanes), k.shared("u32", k.lanes), k.shared("u32", k.lanes)];
  const counters = k.sharedCounters(2);
  const zero = k.constant("u32", 0);
  keys.set(k.lane(), zero);
  ids.set(k.lane(), zero);
  counters.clear();
  const isLikely = (key: U32): Bool => k.compare("ge", key, least);
  /** Runs `put` for the next place, if there is one. */
  const place = (counter: number, put: (at: U32) => void): void => {
    const at = counters.add(counter, 1);
    k.if(k.compare("lt", at, k.lanes), () => put(at));
  };
  const total = (counter: number): U32 => {
    k.sync();
    return most(counters.get(counter));
  };
  forEachGreatest(k, work, blocks, (key, block) => k.if(isLikely(key), () => place(0, (at) => found.set(at, block))));
  const foundBlocks = total(0);
  const end = k.mul(k.min(foundBlocks, k.lanes), blockLength);
  k.for(k.lane(), end, keysInFlight * k.lanes, (first) => {
    const places = Array.from({ length: keysInFlight }, (_, i) => {
      const at = k.add(first, i * k.lanes);
      const safe = k.min(at, k.sub(end, 1));
      return { at, block: found.get(k.shiftRight(safe, Math.log2(blockLength))), i: k.and(safe, blockLength - 1) };
    });
    const loaded = places.map(({ block, i }) => work.key(block, i));
    for (const [n, { at, block, i }] of places.entries()) {
      const key = k.select(k.compare("lt", at, end), elementAt(loaded, n), zero);
      k.if(isLikely(key), () =>
        place(1, (to) => {
          keys.set(to, key);
          ids.set(to, k.add(k.mul(block, blockLength), i));
        }),
      );
    }
  });
  const count = total(1);
  return { keys, ids, count, isComplete: k.both(k.compare("le", foundBlocks, k.lanes), k.compare("le", count, k.lanes)) };
}

/**
 * Ranks candidates, one for each lane, by comparing each with all, then chooses one. If top-p keeps more logits than these, leaves `isDone`
 * at 0.
 */
function chooseAmong(state: Draw, { keys, ids, count }: Candidates, isDone: Variable<"u32">): void {
  const { k, row, options, weights, random, sum } = state;
  const values = k.shared("u32", k.lanes);
  const lane = k.lane();
  const isCandidate = k.compare("lt", lane, count);
  const [key, id] = [keys.get(lane), ids.get(lane)];
  const zero = k.constant("u32", 0);
  const plain = k.select(isCandidate, weights.plain(key), zero);
  values.set(lane, plain);
  k.sync();
  const rank = k.variable("u32", 0);
  const before = wideVariable(k);
  k.if(isCandidate, () =>
    inFours(k, count, (j) => {
      const other = keys.get(j);
      const isFirst = k.both(k.compare("eq", other, key), k.compare("lt", ids.get(j), id));
      const isBefore = k.either(k.compare("gt", other, key), isFirst);
      rank.set(k.add(rank.get(), k.select(isBefore, k.constant("u32", 1), zero)));
      before.add(wide(k, k.select(isBefore, values.get(j), zero)));
    }),
  );
  const isTop = k.both(isCandidate, k.either(k.not(options.isTopK), k.compare("lt", rank.get(), options.topK)));
  const found = sum(wide(k, k.select(isTop, plain, zero)));
  const enough = share(k, selectWide(k, options.isTopK, found, totalOf(state)), options.topP);
  const isAll = k.either(options.isTopK, k.not(isLess(k, found, enough)));
  const isLikely = k.either(k.compare("eq", rank.get(), 0), isLess(k, before.get(), enough));
  const weight = k.select(k.both(isTop, k.either(k.not(options.isTopP), isLikely)), weights.tempered(key, plain), zero);
  // All lanes have read the plain weights: the sums have waited for them.
  values.set(lane, weight);
  const limit = share(k, sum(wide(k, weight)), random);
  k.sync();
  const start = wideVariable(k);
  k.if(isCandidate, () => inFours(k, count, (j) => start.add(wide(k, k.select(k.compare("lt", ids.get(j), id), values.get(j), zero)))));
  k.if(k.both(isAll, holds(k, start.get(), wide(k, weight), limit)), () => k.store("y", row, id));
  k.if(isAll, () => isDone.set(1));
}

/** Sum of the plain weights of a row without top-k. */
function totalOf({ k, work, blocks, options, sum }: Draw): Wide {
  const own = wideVariable(k);
  k.if(k.not(options.isTopK), () => k.for(k.lane(), blocks, k.lanes, (block) => own.add(work.sum(block))));
  return sum(own.get());
}

/** The weight of a logit for the choice, 0 if the cut drops it. */
function keptWeight({ k, weights }: Draw, cut: Cut, { block, key, i }: LogitPlace): U32 {
  const id = k.add(k.mul(block, blockLength), i);
  const isLast = k.both(k.compare("eq", key, cut.key.get()), k.compare("lt", id, cut.end.get()));
  const isKept = k.either(k.compare("gt", key, cut.key.get()), isLast);
  return k.select(isKept, weights.tempered(key, weights.plain(key)), 0);
}
