import type { Bool, Emitter, SharedArray, U32, Variable } from "../emitter.ts";
import type { GpuScope } from "../kernel.ts";
import { infinityKey } from "../shared/math.ts";
import { philox4x32 } from "../shared/philox.ts";
import {
  blockLength,
  forEachKey,
  forEachSum,
  greatestOf,
  lowestKey,
  optionsOf,
  type RowOptions,
  type RowWeights,
  type WorkRow,
  weightsOf,
  workRow,
} from "./row.ts";
import { addWide, isLess, selectWide, share, type Wide, type WideSum, wide, wideScan, wideSum, wideVariable } from "./wide.ts";

/** Lanes whose greatest logits bound the candidates that top-p tries first. */
const firstLanes = 128;

/** A row whose choice is being written, and what all parts of the choice use. */
interface Draw {
  readonly k: Emitter;
  readonly row: U32;
  readonly work: WorkRow;
  /** Number of blocks. */
  readonly blocks: number;
  readonly options: RowOptions;
  readonly weights: RowWeights;
  readonly random: U32;
  readonly sum: WideSum;
  readonly scan: WideSum;
  /** The greatest u32 of the group's. */
  readonly most: (own: U32) => U32;
}

/** What is kept: logits with greater keys, and those with this key whose index is below `end`. */
interface Cut {
  readonly key: Variable<"u32">;
  readonly end: Variable<"u32">;
}

/**
 * Chooses an index of a row of `n` logits with a group of lanes. The keys of its logits, the greatest of each block and, unless top-k cuts
 * the row, sums of weights are in the call's temporary memory.
 */
export function choose(scope: GpuScope, row: U32, n: number): void {
  const { k } = scope;
  const blocks = Math.ceil(n / blockLength);
  const work = workRow(scope, row, blocks);
  const options = optionsOf(k, row, n);
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
      const [position, low, high] = [k.loadBits("position", row), k.mul(row, 2), k.add(k.mul(row, 2), 1)];
      const zero = k.constant("u32", 0);
      const [random] = philox4x32(k, [position, zero, zero, zero], [k.loadBits("seed", low), k.loadBits("seed", high)]);
      const weights = weightsOf(k, greatest, options);
      draw({ k, row, work, blocks, options, weights, random, sum: wideSum(k), scan: wideScan(k), most }, own);
    },
  );
}

/** Visits the logits of a block whose keys are at least `least`, if there are any. */
function visitBlock(k: Emitter, work: WorkRow, block: U32, least: U32, body: (key: U32, id: U32) => void): void {
  k.if(k.compare("ge", work.greatest(block), least), () =>
    forEachKey(k, work, block, (key, i) => {
      k.if(k.compare("ge", key, least), () => body(key, k.add(k.mul(block, blockLength), i)));
    }),
  );
}

/** Draws from a row. `own` is the greatest key of the lane's blocks. */
function draw(state: Draw, own: U32): void {
  const { k, options } = state;
  const cut: Cut = { key: k.variable("u32", 0), end: k.variable("u32", 0) };
  const isDone = k.variable("u32", 0);
  const isCut = k.either(options.isTopK, options.isTopP);
  k.ifUniform(isCut, () => {
    const least = boundOf(state, own);
    const { own: count, all } = countFrom(state, least);
    k.ifUniform(k.compare("le", all, k.lanes), () => chooseAmong(state, { least, own: count, count: all }, isDone));
    k.ifUniform(k.compare("eq", isDone.get(), 0), () => search(state, cut));
  });
  k.ifUniform(k.compare("eq", isDone.get(), 0), () => pickInOrder(state, cut, isCut));
}

/** A key that the `r` greatest logits of a row reach: the `r`-th greatest of any of its logits, here of the lanes' greatest ones. */
function boundOf({ k, options, most }: Draw, own: U32): U32 {
  const lane = k.lane();
  const tops = k.shared("u32", k.lanes);
  tops.set(lane, own);
  k.sync();
  const rank = k.variable("u32", 1);
  k.for(0, k.lanes, 1, (j) => {
    const other = tops.get(j);
    const isBefore = k.either(k.compare("gt", other, own), k.both(k.compare("eq", other, own), k.compare("lt", j, lane)));
    rank.set(k.add(rank.get(), k.select(isBefore, k.constant("u32", 1), 0)));
  });
  const wanted = k.select(options.isTopK, options.topK, firstLanes);
  return k.max(most(k.select(k.compare("eq", rank.get(), wanted), own, 0)), lowestKey);
}

/** Number of the keys from `least` on in the lane's blocks, and in all. */
function countFrom({ k, work, blocks, sum }: Draw, least: U32): { readonly own: U32; readonly all: U32 } {
  const count = k.variable("u32", 0);
  k.for(k.lane(), blocks, k.lanes, (block) => visitBlock(k, work, block, least, () => count.set(k.add(count.get(), 1))));
  return { own: count.get(), all: sum(wide(k, count.get()))[1] };
}

/** The logits whose keys are at least `least`: at most one for each lane. */
interface Candidates {
  readonly least: U32;
  /** Number of those in the lane's blocks. */
  readonly own: U32;
  readonly count: U32;
}

/**
 * Ranks candidates, one for each lane, by comparing each with all, then chooses one. If top-p keeps more logits than these, leaves `isDone`
 * at 0.
 */
function chooseAmong(state: Draw, candidates: Candidates, isDone: Variable<"u32">): void {
  const { k, row, options, weights, random, sum } = state;
  const { keys, ids } = collect(state, candidates);
  const values = k.shared("u32", k.lanes);
  const lane = k.lane();
  const isCandidate = k.compare("lt", lane, candidates.count);
  const at = k.select(isCandidate, lane, 0);
  const [key, id] = [keys.get(at), ids.get(at)];
  const zero = k.constant("u32", 0);
  const plain = k.select(isCandidate, weights.plain(key), zero);
  values.set(lane, plain);
  k.sync();
  const rank = k.variable("u32", 0);
  const before = wideVariable(k);
  k.for(0, candidates.count, 1, (j) => {
    const other = keys.get(j);
    const isFirst = k.both(k.compare("eq", other, key), k.compare("lt", ids.get(j), id));
    k.if(k.either(k.compare("gt", other, key), isFirst), () => {
      rank.set(k.add(rank.get(), 1));
      before.add(wide(k, values.get(j)));
    });
  });
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
  k.for(0, candidates.count, 1, (j) => k.if(k.compare("lt", ids.get(j), id), () => start.add(wide(k, values.get(j)))));
  k.if(k.both(isAll, holds(k, start.get(), wide(k, weight), limit)), () => k.store("y", row, id));
  k.if(isAll, () => isDone.set(1));
}

/** Writes the candidates' keys and indices to shared memory. */
function collect({ k, work, blocks, scan }: Draw, { least, own }: Candidates): { readonly keys: Cells; readonly ids: Cells } {
  const [keys, ids] = [k.shared("u32", k.lanes), k.shared("u32", k.lanes)];
  const place = k.variable("u32", scan(wide(k, own))[1]);
  k.for(k.lane(), blocks, k.lanes, (block) =>
    visitBlock(k, work, block, least, (key, id) => {
      keys.set(place.get(), key);
      ids.set(place.get(), id);
      place.set(k.add(place.get(), 1));
    }),
  );
  k.sync();
  return { keys, ids };
}

type Cells = SharedArray<"u32">;

/** Sum of the plain weights of a row without top-k. */
function totalOf({ k, work, blocks, options, sum }: Draw): Wide {
  const own = wideVariable(k);
  k.if(k.not(options.isTopK), () => k.for(k.lane(), blocks, k.lanes, (block) => own.add(work.sum(block))));
  return sum(own.get());
}

/** Finds the cut of a row with many candidates, bit by bit: first that of top-k, then that of top-p among what top-k keeps. */
function search({ k, work, blocks, options, weights, sum }: Draw, cut: Cut): void {
  const keyBits = 32;
  const endBits = Math.ceil(Math.log2(blocks * blockLength + 1));
  /** Sum of what a cut keeps: the weights, or the number. */
  const measure = (key: U32, end: U32, isCount: Bool): Wide => {
    const own = wideVariable(k);
    k.for(k.lane(), blocks, k.lanes, (block) =>
      visitBlock(k, work, block, k.max(key, lowestKey), (other, id) =>
        k.if(k.either(k.compare("gt", other, key), k.compare("lt", id, end)), () =>
          own.add(wide(k, k.select(isCount, k.constant("u32", 1), weights.plain(other)))),
        ),
      ),
    );
    return sum(own.get());
  };
  k.forUniform(0, 2, 1, (phase) => {
    const isCount = k.compare("eq", phase, 0);
    k.ifUniform(k.either(k.both(isCount, options.isTopK), k.both(k.not(isCount), options.isTopP)), () => {
      const target = wideVariable(k, wide(k, options.topK));
      const [key, end] = [k.variable("u32", 0), k.variable("u32", 0)];
      // The first step measures what is kept already.
      k.forUniform(0, 1 + keyBits + endBits, 1, (step) => {
        const isFirst = k.compare("eq", step, 0);
        const isKey = k.compare("le", step, keyBits);
        const last = k.select(isKey, k.constant("u32", keyBits), keyBits + endBits);
        const bit = k.shiftLeft(k.constant("u32", 1), k.and(k.sub(last, step), 31));
        const nextKey = k.select(isKey, k.or(key.get(), bit), key.get());
        const nextEnd = k.select(isKey, k.constant("u32", 0xffffffff), k.or(end.get(), bit));
        const found = measure(k.select(isFirst, cut.key.get(), nextKey), k.select(isFirst, cut.end.get(), nextEnd), isCount);
        const isShort = isLess(k, found, target.get());
        k.if(
          isFirst,
          () => {
            const enough = share(k, found, options.topP);
            // Top-p keeps at least one.
            const positive = selectWide(k, isLess(k, enough, wide(k, 1)), wide(k, 1), enough);
            target.set(selectWide(k, isCount, target.get(), positive));
          },
          () => {
            // The greatest key with enough logits from it on, then the greatest end with too few before it.
            key.set(k.select(k.both(isKey, isShort), key.get(), nextKey));
            end.set(k.select(k.either(isKey, k.not(isShort)), end.get(), nextEnd));
          },
        );
      });
      cut.key.set(key.get());
      cut.end.set(k.add(end.get(), 1));
    });
  });
}

/**
 * Chooses among what a cut keeps, by the running sum in the order of the indices. Each lane adds the weights of neighbouring blocks, unless
 * the row has their sums. The lane that exceeds the limit finds the block, and lanes compute a weight of it each.
 */
function pickInOrder(state: Draw, cut: Cut, isCut: Bool): void {
  const { k, work, blocks, random, sum, scan, most } = state;
  const perLane = Math.ceil(blocks / k.lanes);
  const first = k.min(k.mul(k.lane(), perLane), blocks);
  const end = k.min(k.add(first, perLane), blocks);
  k.if(isCut, () =>
    k.for(first, end, 1, (block) => {
      const found = wideVariable(k);
      forEachKey(k, work, block, (key, i) => found.add(wide(k, keptWeight(state, cut, { block, key, i }))));
      work.setSum(block, found.get());
    }),
  );
  const own = wideVariable(k);
  forEachSum(k, work, { first, end }, (each) => own.add(each));
  const limit = share(k, sum(own.get()), random);
  const running = wideVariable(k, scan(own.get()));
  const isMine = holds(k, running.get(), own.get(), limit);
  /** Number of the block with the choice, from 1, and the sum of those before it: 0 in all lanes but one. */
  const number = k.variable("u32", 0);
  const before = wideVariable(k);
  forEachSum(k, work, { first, end: k.select(isMine, end, first) }, (each, block) => {
    const isOpen = k.compare("eq", number.get(), 0);
    const isHere = k.both(isOpen, holds(k, running.get(), each, limit));
    k.if(isHere, () => {
      number.set(k.add(block, 1));
      before.set(running.get());
    });
    running.add(each);
  });
  const found = most(number.get());
  const start = sum(before.get());
  k.ifUniform(k.compare("gt", found, 0), () => pickFrom(state, cut, { block: k.sub(found, 1), start, limit }));
}

/** Chooses the logit of a block whose weight exceeds the limit, given the sum of the blocks before it. */
function pickFrom(
  state: Draw,
  cut: Cut,
  { block, start, limit }: { readonly block: U32; readonly start: Wide; readonly limit: Wide },
): void {
  const { k, row, work } = state;
  const values = k.shared("u32", blockLength);
  const i = k.lane();
  const isOwn = k.compare("lt", i, blockLength);
  const weight = k.variable("u32", 0);
  k.if(isOwn, () => {
    weight.set(keptWeight(state, cut, { block, key: work.key(block, i), i }));
    values.set(i, weight.get());
  });
  k.sync();
  k.if(isOwn, () => {
    const before = wideVariable(k, start);
    k.for(0, i, 1, (j) => before.add(wide(k, values.get(j))));
    k.if(holds(k, before.get(), wide(k, weight.get()), limit), () => k.store("y", row, k.add(k.mul(block, blockLength), i)));
  });
}

/** The weight of a logit for the choice, 0 if the cut drops it. */
function keptWeight({ k, weights }: Draw, cut: Cut, { block, key, i }: { readonly block: U32; readonly key: U32; readonly i: U32 }): U32 {
  const id = k.add(k.mul(block, blockLength), i);
  const isLast = k.both(k.compare("eq", key, cut.key.get()), k.compare("lt", id, cut.end.get()));
  const isKept = k.either(k.compare("gt", key, cut.key.get()), isLast);
  return k.select(isKept, weights.tempered(key, weights.plain(key)), 0);
}

/** Whether the sum `start` first exceeds the limit with `value`. */
function holds(k: Emitter, start: Wide, value: Wide, limit: Wide): Bool {
  return k.both(k.not(isLess(k, limit, start)), isLess(k, limit, addWide(k, start, value)));
}
