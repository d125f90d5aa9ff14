import type { DimValues, ParamsOf, TensorSpec } from "@centella/core";
import { type Emitter, type F32, neighbourCount, type U32 } from "../emitter.ts";
import { asValue, divide, type Extent, plus, times } from "../extent.ts";
import {
  firstArgs,
  firstInput,
  fusedName,
  type GpuArgument,
  type GpuKernel,
  type GpuScope,
  mostElements,
  resultArgs,
  storeResult,
} from "../kernel.ts";
import { dimAt, forEachBetween, forEachIn, forEachOf, perRow, type Row, rowAt, rowsOf, visitLanes } from "./rows.ts";

/** Minimum elements of a row that several groups share, and of each group's share. */
const longRow = 2 ** 14;
const leastShare = 2 ** 12;

/** Groups that suffice to keep a device busy. */
const enoughGroups = 512;

/** Lanes of a group that shares a row, and of one that combines the shares of a row. */
export const shareLanes = 256;

/** Number of groups that share each row of a reduction. */
export function sharersOf(rows: number, length: number): number {
  if (length < longRow) return 1;
  return Math.max(1, Math.min(Math.ceil(length / leastShare), Math.floor(enoughGroups / Math.max(1, rows))));
}

/** {@link sharersOf} of the rows of `x` along an axis, or of all of `x` for null, in the largest run of a bucket. */
export function sharersFor(x: TensorSpec, given: number | null, bucket: DimValues | undefined): number {
  const { outer, inner, axis } = rowsOf(x, given);
  return sharersOf(mostElements([...outer, ...inner], bucket), mostElements(axis === null ? x.shape : [dimAt(x, axis)], bucket));
}

/** First place of share `share` of a row, and the place after its last: shares of whole neighbours. */
export function shareOf({ k }: GpuScope, { length }: Row, share: U32, sharers: number): readonly [start: U32, end: U32] {
  const unit = sharers * neighbourCount;
  const size = k.mul(k.quotient(k.add(asValue(k, length), unit - 1), unit), neighbourCount);
  const start = k.mul(share, size);
  return [start, k.min(k.add(start, size), length)];
}

/** A fold of f32 elements: `combine` over `map(x)` from `initial`, its neutral element. */
interface Fold {
  readonly initial: number;
  readonly map?: (k: Emitter, x: F32) => F32;
  readonly combine: (k: Emitter, a: F32, b: F32) => F32;
  /** Returns the result from the combined value and the number of elements. */
  readonly finish?: (k: Emitter, value: F32, length: Extent) => F32;
}

/** f32 reduction over one axis or all. Several groups share each row if rows are long and few; a second step combines their results. */
export function reduction<P extends Pick<ParamsOf<"sum">, "axis">>(fold: Fold): GpuKernel<P, readonly [TensorSpec]> {
  const { initial, map = (_k, x) => x, combine, finish = (_k, value) => value } = fold;
  /** Combines the elements that `each` passes on, over all lanes. */
  const folded = (k: Emitter, each: (take: (value: F32) => void) => void): F32 => {
    const value = k.variable("f32", initial);
    each((x) => value.set(combine(k, value.get(), x)));
    const [all] = k.reducer(["f32"])([value.get()], ([a], [b]) => [combine(k, a, b)]);
    return all;
  };
  return {
    epilogue: true,
    prologue: "once",
    steps: (call, { axis: given }) => {
      const x = call.inputs[0];
      const { outer, inner, axis } = rowsOf(x, given);
      const rows = [...outer, ...inner];
      const sharers = sharersFor(x, given, call.bucket);
      if (sharers === 1) {
        const args = { ...firstArgs(call), ...resultArgs(call) };
        const step = perRow(fusedName("", call.prologue, call.epilogue), { x, axis, args }, (scope, each) => {
          const { k } = scope;
          const { row, length } = each;
          const from = firstInput(scope, call, "once");
          const all = folded(k, (take) => forEachIn(scope, each, (at) => take(map(k, from.first(at)))));
          k.if(k.compare("eq", k.lane(), 0), () => storeResult(scope, call, row, finish(k, all, length)));
        });
        return [{ ...step, ...(axis !== null && visitLanes(dimAt(x, axis))) }];
      }
      const parts: GpuArgument = { kind: "scratch", dtype: "f32", elements: [...rows, sharers] };
      return [
        {
          kind: "groups",
          name: fusedName("share", call.prologue),
          args: { ...firstArgs(call), parts },
          shape: [...rows, sharers],
          lanes: shareLanes,
          body: (scope, group) => {
            const { k } = scope;
            const [row, share] = divide(k, group, sharers);
            const each = rowAt(scope, x, axis, asValue(k, row));
            const [start, end] = shareOf(scope, each, asValue(k, share), sharers);
            const from = firstInput(scope, call, "once");
            const all = folded(k, (take) => forEachBetween(scope, each, start, end, (at) => take(map(k, from.first(at)))));
            k.if(k.compare("eq", k.lane(), 0), () => k.store("parts", group, all));
          },
        },
        {
          ...perRow(fusedName("join", call.epilogue), { x, axis, args: { parts, ...resultArgs(call) } }, (scope, { row, length }) => {
            const { k } = scope;
            const start = times(k, row, sharers);
            const all = folded(k, (take) => forEachOf(scope, sharers, (i) => take(k.load("parts", plus(k, start, i)))));
            k.if(k.compare("eq", k.lane(), 0), () => storeResult(scope, call, row, finish(k, all, length)));
          }),
          lanes: shareLanes,
        },
      ];
    },
  };
}

/** The length of a row as a float. */
export function floatOf(k: Emitter, length: Extent): F32 {
  return k.convert("f32", asValue(k, length));
}
