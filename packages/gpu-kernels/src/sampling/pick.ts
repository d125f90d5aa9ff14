import type { Bool, Emitter, U32 } from "../emitter.ts";
import type { Draw } from "./draw.ts";
import { blockLength, forEachKey, forEachSum } from "./row.ts";
import { addWide, isLess, type Wide, wide, wideVariable } from "./wide.ts";

/** Logit `i` of a block, with its key. */
export interface LogitPlace {
  readonly block: U32;
  readonly key: U32;
  readonly i: U32;
}

/** A choice by weights. */
interface Choice {
  /** Whether the row has the sums of the blocks' weights. Default: no. */
  readonly hasSums?: Bool;
  weightOf(place: LogitPlace): U32;
  /** The limit that the running sum exceeds at the choice, by the sum of all weights. */
  limitOf(total: Wide): Wide;
  /** Runs in one lane, with the index of the choice. */
  found(id: U32): void;
}

/**
 * Chooses the first logit at which the running sum of weights, in the order of the indices, exceeds a limit. Each lane adds the weights of
 * neighbouring blocks. The lane that exceeds the limit finds the block, and lanes compute a weight of it each.
 */
export function pickInOrder(state: Draw, choice: Choice): void {
  const { k, work, blocks, sum, scan, most } = state;
  const perLane = Math.ceil(blocks / k.lanes);
  const first = k.min(k.mul(k.lane(), perLane), blocks);
  const end = k.min(k.add(first, perLane), blocks);
  const addUp = (): void =>
    k.for(first, end, 1, (block) => {
      const found = wideVariable(k);
      forEachKey(k, work, block, (key, i) => found.add(wide(k, choice.weightOf({ block, key, i }))));
      work.setSum(block, found.get());
    });
  if (choice.hasSums === undefined) addUp();
  else k.if(k.not(choice.hasSums), addUp);
  const own = wideVariable(k);
  forEachSum(k, work, { first, end }, (each) => own.add(each));
  const limit = choice.limitOf(sum(own.get()));
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
  k.ifUniform(k.compare("gt", found, 0), () => pickFrom(state, choice, { block: k.sub(found, 1), start, limit }));
}

/** Chooses the logit of a block at which the sum exceeds the limit, given the sum of the blocks before it. */
function pickFrom(
  { k, work }: Draw,
  choice: Choice,
  { block, start, limit }: { readonly block: U32; readonly start: Wide; readonly limit: Wide },
): void {
  const values = k.shared("u32", blockLength);
  const i = k.lane();
  const isOwn = k.compare("lt", i, blockLength);
  const weight = k.variable("u32", 0);
  k.if(isOwn, () => {
    weight.set(choice.weightOf({ block, key: work.key(block, i), i }));
    values.set(i, weight.get());
  });
  k.sync();
  k.if(isOwn, () => {
    const before = wideVariable(k, start);
    k.for(0, i, 1, (j) => before.add(wide(k, values.get(j))));
    k.if(holds(k, before.get(), wide(k, weight.get()), limit), () => choice.found(k.add(k.mul(block, blockLength), i)));
  });
}

/** Whether the sum `start` first exceeds the limit with `value`. */
export function holds(k: Emitter, start: Wide, value: Wide, limit: Wide): Bool {
  return k.both(k.not(isLess(k, limit, start)), isLess(k, limit, addWide(k, start, value)));
}
