import type { Bool, U32 } from "../emitter.ts";
import { type Cut, type Draw, visitBlock } from "./draw.ts";
import { pickInOrder } from "./pick.ts";
import { blockLength, farthest, lowestKey } from "./row.ts";
import { addWide, isLess, selectWide, share, subWide, type Wide, wide, wideVariable } from "./wide.ts";

/** Buckets that keys are counted in, one for each lane. */
const bucketBits = 8;
const buckets: number = 2 ** bucketBits;

/** Finds the cut of a row with many candidates: first that of top-k, then that of top-p among what top-k keeps. */
export function search(state: Draw, cut: Cut): void {
  const { k, options } = state;
  const find = searcher(state, cut);
  k.forUniform(0, 2, 1, (phase) => {
    const isCount = k.compare("eq", phase, 0);
    k.ifUniform(k.either(k.both(isCount, options.isTopK), k.both(k.not(isCount), options.isTopP)), () => find(isCount));
  });
}

/**
 * Returns the function that finds a cut, by the number of what it keeps or by the sum of its weights. Five times, keys are added up in buckets, and
 * the bucket is found in which the sum from the greatest key on reaches its target: by distance to the greatest logit, which spreads them evenly,
 * then byte by byte. Of equal keys, the first are kept.
 */
function searcher(state: Draw, cut: Cut): (isCount: Bool) => void {
  const { k, work, blocks, options, weights, sum, scan, most } = state;
  const histogram = k.sharedCounters(2 * buckets);
  const lastEqual = k.shared("u32", 1);
  const bucket = k.sub(k.constant("u32", buckets - 1), k.lane());
  const isKept = (key: U32, id: U32): Bool =>
    k.either(k.compare("gt", key, cut.key.get()), k.both(k.compare("eq", key, cut.key.get()), k.compare("lt", id, cut.end.get())));
  /** The greater, the nearer. */
  const nearnessOf = (key: U32): U32 => {
    const steps = k.convert("u32", k.mul(weights.distance(key), buckets / farthest));
    return k.sub(k.constant("u32", buckets - 1), k.min(steps, buckets - 1));
  };
  return (isCount) => {
    const measure = (key: U32): U32 => k.select(isCount, k.constant("u32", 1), weights.plain(key));
    const [target, above] = [wideVariable(k, wide(k, options.topK)), wideVariable(k)];
    const [nearness, prefix, isReached] = [k.variable("u32", 0), k.variable("u32", 0), k.variable("u32", 1)];
    k.forUniform(0, 5, 1, (step) => {
      const isFirst = k.compare("eq", step, 0);
      const shift = k.and(k.mul(k.sub(k.constant("u32", 4), step), bucketBits), 31);
      const isInBucket = (key: U32, near: U32): Bool => {
        const rest = k.shiftRight(k.shiftRight(k.xor(key, prefix.get()), shift), bucketBits);
        return k.both(k.compare("eq", near, nearness.get()), k.compare("eq", rest, 0));
      };
      histogram.clear();
      k.for(k.lane(), blocks, k.lanes, (block) =>
        visitBlock(k, work, block, k.constant("u32", lowestKey), (key, id) => {
          const near = nearnessOf(key);
          k.if(k.both(isKept(key, id), k.either(isFirst, isInBucket(key, near))), () =>
            addTo(k.select(isFirst, near, k.and(k.shiftRight(key, shift), buckets - 1)), measure(key)),
          );
        }),
      );
      k.sync();
      const own: Wide = [histogram.get(k.add(bucket, buckets)), histogram.get(bucket)];
      k.ifUniform(k.both(isFirst, k.not(isCount)), () => target.set(atLeastOne(share(k, sum(own), options.topP))));
      const before = addWide(k, above.get(), scan(own));
      const isHere = k.both(isLess(k, before, target.get()), k.not(isLess(k, addWide(k, before, own), target.get())));
      const found = most(k.select(isHere, k.add(bucket, 1), 0));
      const none = wide(k, 0);
      above.set(selectWide(k, k.compare("eq", found, 0), above.get(), sum(selectWide(k, isHere, before, none))));
      const here = k.sub(k.max(found, 1), 1);
      k.if(k.compare("eq", found, 0), () => isReached.set(0));
      nearness.set(k.select(isFirst, here, nearness.get()));
      prefix.set(k.select(isFirst, prefix.get(), k.or(prefix.get(), k.shiftLeft(here, shift))));
    });
    k.if(k.compare("eq", k.lane(), 0), () => lastEqual.set(0, k.constant("u32", 0)));
    k.sync();
    pickInOrder(state, {
      weightOf({ block, key, i }) {
        const id = k.add(k.mul(block, blockLength), i);
        return k.select(k.both(k.compare("eq", key, prefix.get()), isKept(key, id)), measure(key), 0);
      },
      // The last one that is kept is the first one with which the sum reaches its target.
      limitOf: () => subWide(k, subWide(k, target.get(), above.get()), wide(k, 1)),
      found: (id) => lastEqual.set(0, id),
    });
    k.sync();
    // Where fewer logits than top-k are allowed, all are kept.
    cut.key.set(k.select(k.compare("eq", isReached.get(), 0), k.constant("u32", 0), prefix.get()));
    cut.end.set(k.add(lastEqual.get(0), 1));
  };

  /** Adds to a bucket's sum of 64 bits: of its two words, the lower one says when it overflows. */
  function addTo(to: U32, value: U32): void {
    const before = histogram.add(to, value);
    k.if(k.compare("gt", before, k.xor(value, 0xffffffff)), () => void histogram.add(k.add(to, buckets), 1));
  }

  function atLeastOne(value: Wide): Wide {
    return selectWide(k, isLess(k, value, wide(k, 1)), wide(k, 1), value);
  }
}
