import { elementAt, leastTemperature, samplingConstants } from "@centella/core/backend";
import type { Bool, Emitter, F32, U32 } from "../emitter.ts";
import { asValue, times, timesPlus } from "../extent.ts";
import type { GpuScope } from "../kernel.ts";
import { ofOrderKey } from "../shared/math.ts";
import type { Wide } from "./wide.ts";

/** Logits of a block: as many as a word of the mask has bits. */
export const blockLength = 32;

/** Numbers of each block in a call's temporary memory: the keys of its logits, their greatest, and the two words of a sum. */
export const planes: number = blockLength + 3;
const greatestPlane = blockLength;
const sumPlane = blockLength + 1;

/** Key of the least finite logit. Tokens that the mask excludes have the key 0. */
export const lowestKey = 0x00800000;

/** A row in a call's temporary memory. Numbers of one plane are contiguous, so that lanes with neighbouring blocks read together. */
export interface WorkRow {
  /** Order key of logit `i` of a block. */
  key(block: U32, i: U32 | number): U32;
  setKey(block: U32, i: U32 | number, key: U32): void;
  /** The greatest key of a block. */
  greatest(block: U32): U32;
  setGreatest(block: U32, key: U32): void;
  /** The sum of a block's weights: plain ones if top-p cuts the row, else of the choice. Rows that top-k cuts have none. */
  sum(block: U32): Wide;
  setSum(block: U32, sum: Wide): void;
}

export function workRow(scope: GpuScope, row: U32, blocks: number): WorkRow {
  const { k } = scope;
  const count = scope.whole(blocks);
  const start = times(k, row, scope.whole(blocks * planes));
  const at = (plane: U32 | number, block: U32): U32 => asValue(k, timesPlus(k, asValue(k, plane), count, k.add(block, asValue(k, start))));
  const load = (plane: U32 | number, block: U32): U32 => k.loadBits("work", at(plane, block));
  const store = (plane: U32 | number, block: U32, value: U32): void => k.store("work", at(plane, block), value);
  return {
    key: (block, i) => load(i, block),
    setKey: (block, i, key) => store(i, block, key),
    greatest: (block) => load(greatestPlane, block),
    setGreatest: (block, key) => store(greatestPlane, block, key),
    sum: (block) => [load(sumPlane, block), load(sumPlane + 1, block)],
    setSum: (block, [high, low]) => {
      store(sumPlane, block, high);
      store(sumPlane + 1, block, low);
    },
  };
}

/** Options of a row. */
export interface RowOptions {
  readonly isGreedy: Bool;
  readonly temperature: F32;
  readonly isTopK: Bool;
  readonly topK: U32;
  readonly isTopP: Bool;
  /** Top-p times 2^32. */
  readonly topP: U32;
  /** Least weight that min-p keeps. */
  readonly leastWeight: U32;
}

/** The options of a row of `n` logits, from the arguments `temperature`, `topK`, `topP` and `minP`. */
export function optionsOf(k: Emitter, row: U32, n: number): RowOptions {
  const one = 2 ** samplingConstants.weightBits;
  const temperature = k.load("temperature", row);
  const topK = k.loadInteger("topK", row);
  const topP = k.load("topP", row);
  return {
    isGreedy: k.not(k.compare("ge", temperature, leastTemperature)),
    temperature,
    isTopK: k.both(k.compare("gt", topK, 0), k.compare("lt", topK, n)),
    topK: k.bitcast("u32", topK),
    isTopP: k.compare("lt", topP, 1),
    topP: k.convert("u32", k.mul(topP, 2 ** 32)),
    leastWeight: k.min(k.convert("u32", k.mul(k.load("minP", row), one)), one - 1),
  };
}

/** Blocks of a lane whose greatest keys are read together, so that their loads overlap. */
const inFlight = 8;

interface GreatestKeys {
  /** The greatest key of the lane's blocks, and the first block that has it. */
  readonly own: U32;
  readonly ownBlock: U32;
  /** The greatest of all blocks. */
  readonly greatest: U32;
  /** The greatest u32 of the group's. */
  readonly most: (own: U32) => U32;
}

/** The greatest keys of a row. Lane `i` has the blocks `i`, `i + lanes`, and so on. */
export function greatestOf(k: Emitter, row: WorkRow, blocks: number): GreatestKeys {
  const reduce = k.reducer(["u32"]);
  const most = (value: U32): U32 => reduce([value], ([a], [b]) => [k.max(a, b)])[0];
  const [own, ownBlock] = [k.variable("u32", 0), k.variable("u32", 0)];
  forEachGreatest(k, row, blocks, (key, block) => {
    const isGreater = k.compare("gt", key, own.get());
    ownBlock.set(k.select(isGreater, block, ownBlock.get()));
    own.set(k.select(isGreater, key, own.get()));
  });
  return { own: own.get(), ownBlock: ownBlock.get(), greatest: most(own.get()), most };
}

/** Visits the greatest keys of the lane's blocks in order. Blocks past the last one count as excluded. */
export function forEachGreatest(k: Emitter, row: WorkRow, blocks: number, body: (key: U32, block: U32) => void): void {
  k.for(k.lane(), blocks, inFlight * k.lanes, (first) => {
    const places = Array.from({ length: inFlight }, (_, i) => k.add(first, i * k.lanes));
    const keys = places.map((block) => k.select(k.compare("lt", block, blocks), row.greatest(k.min(block, blocks - 1)), 0));
    for (const [i, key] of keys.entries()) body(key, elementAt(places, i));
  });
}

/** Keys that a lane reads together. */
export const keysInFlight = 8;

/** Visits the keys of a block in order. */
export function forEachKey(k: Emitter, row: WorkRow, block: U32, body: (key: U32, i: U32) => void): void {
  k.for(0, blockLength, keysInFlight, (first) => {
    const places = Array.from({ length: keysInFlight }, (_, i) => (i === 0 ? first : k.add(first, i)));
    const keys = places.map((i) => row.key(block, i));
    for (const [i, key] of keys.entries()) body(key, elementAt(places, i));
  });
}

/** Sums of neighbouring blocks that are read together. */
const sumsInFlight = 4;

/** Visits the sums of the blocks from `first` to `end` in order. */
export function forEachSum(k: Emitter, row: WorkRow, { first, end }: BlockRange, body: (sum: Wide, block: U32) => void): void {
  k.for(first, end, sumsInFlight, (from) => {
    const blocks = Array.from({ length: sumsInFlight }, (_, i) => (i === 0 ? from : k.add(from, i)));
    const sums = blocks.map((block) => row.sum(k.min(block, k.sub(end, 1))));
    for (const [i, sum] of sums.entries()) {
      const block = elementAt(blocks, i);
      k.if(k.compare("lt", block, end), () => body(sum, block));
    }
  });
}

interface BlockRange {
  readonly first: U32;
  readonly end: U32;
}

/** Weights of a row's logits by their keys, 0 for excluded tokens. */
export interface RowWeights {
  /** Distance of a logit to the greatest one. */
  distance(key: U32): F32;
  plain(key: U32): U32;
  /** The weight of the choice: 0 if min-p drops the logit, whose plain weight is given. */
  tempered(key: U32, plain: U32): U32;
}

/** Largest distance to the greatest logit at which weights are not 0, rounded up. */
export const farthest = 20;

export function weightsOf(k: Emitter, greatest: U32, { temperature, leastWeight }: RowOptions): RowWeights {
  const top = ofOrderKey(k, greatest);
  const reach = k.mul(temperature, farthest);
  const distance = (key: U32): F32 => k.sub(top, ofOrderKey(k, key));
  return {
    distance,
    plain: (key) => k.select(k.compare("lt", key, lowestKey), k.constant("u32", 0), weightOf(k, distance(key))),
    tempered(key, plain) {
      const own = distance(key);
      const isKept = k.both(k.compare("ge", key, lowestKey), k.compare("ge", plain, leastWeight));
      const weight = k.variable("u32", 0);
      k.if(k.both(isKept, k.compare("lt", own, reach)), () => weight.set(weightOf(k, k.divRounded(own, temperature))));
      return weight.get();
    },
  };
}

/** Core's `weightOf`. */
function weightOf(k: Emitter, distance: F32): U32 {
  const { exponentScale, fractionBits, maxExponent, powerCoefficients, weightBits } = samplingConstants;
  const exponent = k.convert("u32", k.min(k.mul(distance, exponentScale), maxExponent));
  const whole = k.shiftRight(exponent, fractionBits);
  // As a fraction of 2^32, so that the high word of a product with it is the product over 2^fractionBits.
  const x = k.shiftLeft(exponent, 32 - fractionBits);
  const sum = powerCoefficients.reduceRight<U32 | undefined>(
    (inner, coefficient) => k.sub(k.constant("u32", coefficient), inner === undefined ? 0 : k.multiplyHigh(inner, x)),
    undefined,
  );
  const power = k.sub(k.constant("u32", 0xffffffff), sum === undefined ? 0 : k.multiplyHigh(sum, x));
  const weight = k.shiftRight(power, k.min(k.add(whole, 32 - weightBits), 31));
  return k.select(k.compare("ge", whole, weightBits), k.constant("u32", 0), weight);
}
