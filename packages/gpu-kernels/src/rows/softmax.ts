import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import type { Emitter, F32, U32, Values } from "../emitter.ts";
import {
  againArgs,
  firstArgs,
  firstInput,
  fusedName,
  type GpuCall,
  type GpuKernel,
  type GpuScope,
  type GpuStep,
  keptArgs,
  resultArgs,
  storeResult,
} from "../kernel.ts";
import { groupSum } from "../shared/groups.ts";
import { infinityKey, ofOrderKey, orderKey } from "../shared/math.ts";
import { type ColumnLane, type ColumnSummaries, type Columns, columnParts, columnsInShares, forColumns } from "./columns.ts";
import { forChunksBetween, forEachBetween, perRow, rowsOf, visitLanes, visitsOf } from "./rows.ts";
import { forShares, longVisitedRow, partsOf, type SharedRows, sharedRows, storePart, summaryOf } from "./shares.ts";
import { type Summary, summarize } from "./summary.ts";

/** An element of a row: `x - max`, and the exponential of that. */
interface Shifted {
  readonly shifted: F32;
  readonly exponential: () => F32;
}

type Finish = (k: Emitter, element: Shifted, sum: F32) => F32;

/**
 * Softmax-like op: `finish` computes a result from an element and the sum of `exp(x - max)` over the row. If the largest value is not
 * finite, `x - max` is NaN, and so is the row. Rows that are columns next to each other are read as tiles of these. Several groups share each
 * row if rows are long and few: they sum up their shares, then each combines the sums of all shares and writes its own.
 */
export function softmaxLike(finish: Finish): GpuKernel<ParamsOf<"softmax">, readonly [TensorSpec]> {
  return {
    epilogue: true,
    prologue: "again",
    steps: (call, { axis }) => {
      const rows = rowsOf(call.inputs[0], axis);
      const columns = columnsInShares(rows, call.bucket, exponentials.types.length);
      if (columns !== undefined) return columnSteps(call, finish, columns);
      const shared = sharedRows(rows, call.bucket, longVisitedRow);
      if (shared !== undefined) return sharedSteps(call, finish, shared);
      const args = { ...firstArgs(call), ...resultArgs(call) };
      const step = perRow(fusedName("", call.prologue, call.epilogue), { rows, args }, (scope, row) => {
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
      return [{ ...step, ...visitLanes(rows.along) }];
    },
  };
}

type Call = GpuCall<readonly [TensorSpec]>;

/** Groups add up the exponentials of their shares of a row; then each adds up those of all shares and writes its own. */
function sharedSteps(call: Call, finish: Finish, shared: SharedRows): readonly GpuStep[] {
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
      const all = summaryOf(scope, shared, exponentials, row.row);
      const max = maxOf(k, all);
      forEachBetween(scope, row, start, end, (at) => storeResult(scope, call, at, resultOf(k, finish, again(at), max, all)));
    }),
  ];
}

/** The same for tiles of columns. One group for a tile does both in one step. */
function columnSteps(call: Call, finish: Finish, columns: Columns): readonly GpuStep[] {
  const sumsOf = (scope: GpuScope, lane: ColumnLane): ColumnSummaries<Exponentials> => {
    const { first } = firstInput(scope, call, "again");
    return lane.summarize(exponentials, (take) => lane.forChunks(first, (values, column) => take(column, exponentialsOf(scope.k, values))));
  };
  const storeAll = (scope: GpuScope, lane: ColumnLane, sums: ColumnSummaries<Exponentials>): void => {
    const { k } = scope;
    const { again } = firstInput(scope, call, "again");
    const all = sums.inAll();
    const greatest = all.map((each) => maxOf(k, each));
    lane.forSingleRows((at, i) => storeResult(scope, call, at, resultOf(k, finish, again(at), elementAt(greatest, i), elementAt(all, i))));
  };
  if (columns.sharers === 1) {
    const step = {
      name: fusedName("columns", call.prologue, call.epilogue),
      args: { ...firstArgs(call), ...resultArgs(call) },
    };
    return [forColumns(columns, step, (scope, lane) => storeAll(scope, lane, sumsOf(scope, lane)))];
  }
  const parts = columnParts(columns, exponentials);
  const sums = { name: fusedName("columns_share", call.prologue), args: { ...firstArgs(call), ...keptArgs(call), parts } };
  const results = { name: fusedName("columns_result", call.epilogue), args: { ...againArgs(call), parts, ...resultArgs(call) } };
  return [
    forColumns(columns, sums, (scope, lane) => lane.storeParts(sumsOf(scope, lane))),
    forColumns(columns, results, (scope, lane) => storeAll(scope, lane, lane.summaryOfParts(exponentials))),
  ];
}

/** The result of an element, from the summary of its row and {@link maxOf} that. */
function resultOf(k: Emitter, finish: Finish, element: F32, max: F32, [, sum]: Values<Exponentials>): F32 {
  const shifted = k.sub(element, max);
  return finish(k, { shifted, exponential: () => k.exp(shifted) }, sum);
}

/** The largest value of a row; NaN unless it is finite and no element is NaN. */
function maxOf(k: Emitter, [greatest, sum, magnitude]: Values<Exponentials>): F32 {
  const isBounded = k.both(k.compare("lt", magnitude, infinity + 1), k.compare("lt", greatest, Number.POSITIVE_INFINITY));
  // No exponential counts where all elements are -Infinity.
  return k.select(k.both(isBounded, k.compare("gt", sum, 0)), greatest, Number.NaN);
}

/** The value with the largest order key, or NaN for infinity and NaN. It is written out, so that no compiler has to subtract infinities. */
function greatestOf(k: Emitter, key: U32): F32 {
  return k.select(k.compare("lt", key, infinityKey), ofOrderKey(k, key), Number.NaN);
}

/** The lowest f32 that is not infinite. */
const lowest = -(2 - 2 ** -23) * 2 ** 127;

/** Bits of Infinity; those of NaN are larger. */
const infinity = 0x7f800000;

type Exponentials = readonly ["f32", "f32", "u32"];

/**
 * The largest value `m` of some elements, the sum of `exp(x - m)`, and the bits of the largest magnitude. `m` is never -Infinity or NaN, so
 * no difference to it is NaN unless an element is Infinity or NaN, which `m` or the magnitude shows.
 */
const exponentials: Summary<Exponentials> = {
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
function exponentialsOf(k: Emitter, values: readonly F32[]): Values<Exponentials> {
  const max = values.reduce((most, value) => k.select(k.compare("gt", value, most), value, most), k.constant("f32", lowest));
  const magnitude = values.map((value) => k.bitcast("u32", k.abs(value))).reduce((a, b) => k.max(a, b));
  const [only] = values;
  // The exponential of a value's distance from itself is 1. Only the sum of -Infinity alone must be 0.
  if (values.length === 1 && only !== undefined) return [max, k.select(k.compare("ge", only, lowest), k.constant("f32", 1), 0), magnitude];
  const sum = values.map((value) => k.exp(k.sub(value, max))).reduce((a, b) => k.add(a, b));
  return [max, sum, magnitude];
}
