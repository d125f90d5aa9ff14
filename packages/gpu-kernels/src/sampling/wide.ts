import type { Bool, Emitter, U32 } from "../emitter.ts";

/** A whole number of 64 bits, for sums of weights. */
export type Wide = readonly [high: U32, low: U32];

/** A variable sum. */
export interface WideVariable {
  get(): Wide;
  set(value: Wide): void;
  add(value: Wide): void;
}

export function wideVariable(k: Emitter, initial: Wide = wide(k, 0)): WideVariable {
  const [high, low] = [k.variable("u32", initial[0]), k.variable("u32", initial[1])];
  const get = (): Wide => [high.get(), low.get()];
  const set = (value: Wide): void => {
    high.set(value[0]);
    low.set(value[1]);
  };
  return { get, set, add: (value) => set(addWide(k, get(), value)) };
}

/** A u32 as a wide number. */
export function wide(k: Emitter, value: U32 | number): Wide {
  const zero = k.constant("u32", 0);
  return [zero, typeof value === "number" ? k.constant("u32", value) : value];
}

export function addWide(k: Emitter, a: Wide, b: Wide): Wide {
  const low = k.add(a[1], b[1]);
  const carry = k.select(k.compare("lt", low, a[1]), k.constant("u32", 1), 0);
  return [k.add(k.add(a[0], b[0]), carry), low];
}

export function subWide(k: Emitter, a: Wide, b: Wide): Wide {
  const borrow = k.select(k.compare("lt", a[1], b[1]), k.constant("u32", 1), 0);
  return [k.sub(k.sub(a[0], b[0]), borrow), k.sub(a[1], b[1])];
}

export function isLess(k: Emitter, a: Wide, b: Wide): Bool {
  const isSame = k.compare("eq", a[0], b[0]);
  return k.either(k.compare("lt", a[0], b[0]), k.both(isSame, k.compare("lt", a[1], b[1])));
}

export function selectWide(k: Emitter, condition: Bool, a: Wide, b: Wide): Wide {
  return [k.select(condition, a[0], b[0]), k.select(condition, a[1], b[1])];
}

/** `floor(total * numerator / 2^32)`, for totals below 2^52. */
export function share(k: Emitter, total: Wide, numerator: U32): Wide {
  const product: Wide = [k.multiplyHigh(total[0], numerator), k.mul(total[0], numerator)];
  return addWide(k, product, wide(k, k.multiplyHigh(total[1], numerator)));
}

/** Sum over the lanes of a group. */
export type WideSum = (own: Wide) => Wide;

export function wideSum(k: Emitter): WideSum {
  const reduce = k.reducer(["u32", "u32"]);
  return (own) => reduce(own, (a, b) => addWide(k, a, b));
}

/** Returns a function that gives each lane the sum over the lanes before it (Hillis and Steele, 1986). */
export function wideScan(k: Emitter): WideSum {
  const [highs, lows] = [k.shared("u32", k.lanes), k.shared("u32", k.lanes)];
  return (own) => {
    const lane = k.lane();
    const sum = wideVariable(k, own);
    const publish = (): void => {
      highs.set(lane, sum.get()[0]);
      lows.set(lane, sum.get()[1]);
    };
    k.sync();
    publish();
    k.forUniform(0, Math.log2(k.lanes), 1, (step) => {
      const distance = k.shiftLeft(k.constant("u32", 1), step);
      const hasOther = k.compare("ge", lane, distance);
      const other = k.select(hasOther, k.sub(lane, distance), lane);
      k.sync();
      const value: Wide = [highs.get(other), lows.get(other)];
      k.sync();
      k.if(hasOther, () => sum.add(value));
      publish();
    });
    return subWide(k, sum.get(), own);
  };
}
