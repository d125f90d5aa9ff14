import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Emitter, F32, U32, Values } from "../emitter.ts";
import {
  againArgs,
  firstArgs,
  firstInput,
  fusedName,
  type GpuCall,
  type GpuKernel,
  type GpuStep,
  keptArgs,
  resultArgs,
  storeResult,
} from "../kernel.ts";
import { groupSum } from "./groups.ts";
import { infinityKey, ofOrderKey, orderKey } from "./math.ts";
import { dimAt, forChunksBetween, forEachBetween, perRow, visitLanes, visitsOf } from "./rows.ts";
import {
  forShares,
  longVisitedRow,
  partsOf,
  type SharedRows,
  type Summary,
  sharedRows,
  storePart,
  summarize,
  summaryOf,
} from "./shares.ts";

/** An element of a row: `x - max`, and the exponential of that. */
interface Shifted {
  readonly shifted: F32;
  readonly exponential: () => F32;
}

type Finish = (k: Emitter, element: Shifted, sum: F32) => F32;

/**
 * Softmax-like op: `finish` computes a result from an element and the sum of `exp(x - max)` over the row. If the largest value is not
 * finite, `x - max` is NaN, and so is the row. Several groups share each row if rows are long and few: they sum up their shares, then each
 * combines the sums of all shares and writes its own.
 */
export function softmaxLike(finish: Finish): GpuKernel<ParamsOf<"softmax">, readonly [TensorSpec]> {
  return {
    epilogue: true,
    prologue: "again",
    steps: (call, { axis }) => {
      const [x] = call.inputs;
      const shared = sharedRows(call, axis, longVisitedRow);
      if (shared !== undefined) return sharedSteps(call, finish, shared);
      const args = { ...firstArgs(call), ...resultArgs(call) };
      const step = perRow(fusedName("", call.prologue, call.epilogue), { x, axis, args }, (scope, row) => {
        const { k } = scope;
        const visit = visitsOf(scope, row, firstInput(scope, call, "again"));
        const own = k.variable("u32", 0);
        visit((value) => own.set(k.max(own.get(), orderKey(k, value))));
        const [largest] = k.reducer(["u32"])([own.get()], ([a], [b]) => [k.max(a, b)]);
        const max = greatestOf(k, largest);
        const exponentials: F32[] = [];
        const weights = k.variable("f32", 0);
        visit((value) => {
          const exponential = k.exp(k.sub(value, max));
          exponentials.push(exponential);
          weights.set(k.add(weights.get(), exponential));
        });
        const sum = groupSum(k)(weights.get());
        visit((value, at) => {
          const shifted = k.sub(value, max);
          const known = visit.isHeld ? exponentials.shift() : undefined;
          storeResult(scope, call, at, finish(k, { shifted, exponential: () => known ?? k.exp(shifted) }, sum));
        });
      });
      return [{ ...step, ...visitLanes(dimAt(x, axis)) }];
    },
  };
}

/** Groups add up the exponentials of their shares of a row; then each adds up those of all shares and writes its own. */
function sharedSteps(call: GpuCall<readonly [TensorSpec]>, finish: Finish, shared: SharedRows): readonly GpuStep[] {
  const parts = partsOf(shared, exponentials);
  const sums = { name: fusedName("share", call.prologue), args: { ...firstArgs(call), ...keptArgs(call), parts } };
  const results = { name: fusedName("result", call.epilogue), args: { ...againArgs(call), parts, ...resultArgs(call) } };
  return [
    forShares(shared, sums, (scope, { row, start, end }, group) => {
      const { k } = scope;
      const { first } = firstInput(scope, call, "again");
      const own = summarize(k, exponentials, (take) =>
        forChunksBetween(scope, row, start, end, first, (values) => take(exponentialsOf(k, values))),
      );
      storePart(scope, group, own);
    }),
    forShares(shared, results, (scope, { row, start, end }) => {
      const { k } = scope;
      const { again } = firstInput(scope, call, "again");
      const [greatest, sum, magnitude] = summaryOf(scope, shared, exponentials, row.row);
      const isBounded = k.both(k.compare("lt", magnitude, infinity + 1), k.compare("lt", greatest, Number.POSITIVE_INFINITY));
      // No exponential counts where all elements are -Infinity.
      const max = k.select(k.both(isBounded, k.compare("gt", sum, 0)), greatest, Number.NaN);
      forEachBetween(scope, row, start, end, (at) => {
        const shifted = k.sub(again(at), max);
        storeResult(scope, call, at, finish(k, { shifted, exponential: () => k.exp(shifted) }, sum));
      });
    }),
  ];
}

/** The value with the largest order key, or NaN for infinity and NaN. It is written out, so that no compiler has to subtract infinities. */
function greatestOf(k: Emitter, key: U32): F32 {
  return k.select(k.compare("lt", key, infinityKey), ofOrderKey(k, key), Number.NaN);
}

/** The lowest f32 that is not infinite. */
const lowest = -(2 - 2 ** -23) * 2 ** 127;

/** Bits of Infinity; those of NaN are larger. */
const infinity = 0x7f800000;

/**
 * The largest value `m` of some elements, the sum of `exp(x - m)`, and the bits of the largest magnitude. `m` is never -Infinity or NaN, so
 * no difference to it is NaN unless an element is Infinity or NaN, which `m` or the magnitude shows.
 */
const exponentials: Summary<readonly ["f32", "f32", "u32"]> = {
  types: ["f32", "f32", "u32"],
  empty: [lowest, 0, 0],
  combine(k, [aMax, aSum, aMagnitude], [bMax, bSum, bMagnitude]) {
    const isLarger = k.compare("gt", bMax, aMax);
    const factor = k.exp(k.neg(k.abs(k.sub(bMax, aMax))));
    const sum = k.fma(k.select(isLarger, aSum, bSum), factor, k.select(isLarger, bSum, aSum));
    return [k.select(isLarger, bMax, aMax), sum, k.max(aMagnitude, bMagnitude)];
  },
};

/** The {@link exponentials} of a few values. */
function exponentialsOf(k: Emitter, values: readonly F32[]): Values<readonly ["f32", "f32", "u32"]> {
  const max = values.reduce((most, value) => k.select(k.compare("gt", value, most), value, most), k.constant("f32", lowest));
  const magnitude = values.map((value) => k.bitcast("u32", k.abs(value))).reduce((a, b) => k.max(a, b));
  const sum = values.map((value) => k.exp(k.sub(value, max))).reduce((a, b) => k.add(a, b));
  return [max, sum, magnitude];
}
