import type { ParamsOf, TensorSpec } from "@centella/core";
import type { Emitter, F32, U32 } from "../emitter.ts";
import { asValue, type Extent } from "../extent.ts";
import {
  firstArgs,
  firstInput,
  fusedName,
  type GpuArgument,
  type GpuCall,
  type GpuKernel,
  type GpuScope,
  type GpuStep,
  resultArgs,
  storeResult,
} from "../kernel.ts";
import { type Columns, columnsOf, foldColumns, rowSharersOf } from "./columns.ts";
import { dimAt, forEachBetween, forEachIn, perRow, visitLanes } from "./rows.ts";
import { forShares, partsOf, type SharedRows, type Summary, sharedRows, shareLanes, storePart, summarize, summaryOf } from "./shares.ts";

/** A fold of f32 elements: `combine` over `map(x)` from `initial`, its neutral element. */
interface Fold {
  readonly initial: number;
  readonly map?: (k: Emitter, x: F32) => F32;
  readonly combine: (k: Emitter, a: F32, b: F32) => F32;
  /** Returns the result from the combined value and the number of elements. */
  readonly finish?: (k: Emitter, value: F32, length: Extent) => F32;
}

/**
 * f32 reduction over one axis or all. Several groups share each row, or each tile of columns, if these are long and few; a second step
 * combines their results.
 */
export function reduction<P extends Pick<ParamsOf<"sum">, "axis">>(fold: Fold): GpuKernel<P, readonly [TensorSpec]> {
  const { map, finish, summary } = completed(fold);
  return {
    epilogue: true,
    prologue: "once",
    steps: (call, { axis }) => {
      const x = call.inputs[0];
      const columns = columnsOf(x, axis);
      if (columns !== undefined) return columnSteps(call, fold, columns);
      const shared = sharedRows(call, axis);
      if (shared !== undefined) return sharedSteps(call, fold, shared);
      const args = { ...firstArgs(call), ...resultArgs(call) };
      const step = perRow(fusedName("", call.prologue, call.epilogue), { x, axis, args }, (scope, each) => {
        const { k } = scope;
        const { row, length } = each;
        const from = firstInput(scope, call, "once");
        const [all] = summarize(k, summary, (take) => forEachIn(scope, each, (at) => take([map(k, from.first(at))])));
        k.if(k.compare("eq", k.lane(), 0), () => storeResult(scope, call, row, finish(k, all, length)));
      });
      return [{ ...step, ...(x.shape.length > 0 && axis !== null && visitLanes(dimAt(x, axis))) }];
    },
  };
}

type Call = GpuCall<readonly [TensorSpec]>;

/** A fold's parts, with those that it leaves out. */
function completed({ initial, map = (_k, x) => x, combine, finish = (_k, value) => value }: Fold) {
  const summary: Summary<readonly ["f32"]> = { types: ["f32"], empty: [initial], combine: (k, [a], [b]) => [combine(k, a, b)] };
  return { initial, map, combine, finish, summary };
}

/** Groups fold their shares of a row, a second step combines the results. */
function sharedSteps(call: Call, fold: Fold, shared: SharedRows): readonly GpuStep[] {
  const { map, finish, summary } = completed(fold);
  const { x, axis } = shared;
  const parts = partsOf(shared, summary);
  const share = { name: fusedName("share", call.prologue), args: { ...firstArgs(call), parts } };
  const join = perRow(
    fusedName("join", call.epilogue),
    { x, axis, args: { parts, ...resultArgs(call) }, lanes: shareLanes },
    (scope, { row, length }) => {
      const { k } = scope;
      const [all] = summaryOf(scope, shared, summary, row);
      k.if(k.compare("eq", k.lane(), 0), () => storeResult(scope, call, row, finish(k, all, length)));
    },
  );
  return [
    forShares(shared, share, (scope, { row, start, end }, group) => {
      const { k } = scope;
      const from = firstInput(scope, call, "once");
      const own = summarize(k, summary, (take) => forEachBetween(scope, row, start, end, (at) => take([map(k, from.first(at))])));
      storePart(scope, group, own);
    }),
    join,
  ];
}

/** Groups fold tiles of columns. Where several share the rows of a tile, a second step folds their results. */
function columnSteps(call: Call, fold: Fold, columns: Columns): readonly GpuStep[] {
  const { initial, map, combine, finish } = completed(fold);
  const sharers = rowSharersOf(columns, call.bucket);
  const readInput = (scope: GpuScope) => {
    const from = firstInput(scope, call, "once");
    return (at: U32): F32 => map(scope.k, from.first(at));
  };
  const storeAll = (scope: GpuScope, at: U32, value: F32): void =>
    storeResult(scope, call, at, finish(scope.k, value, scope.extent(columns.length)));
  const first = { initial, combine, sharers, read: readInput };
  if (sharers === 1) {
    const args = { ...firstArgs(call), ...resultArgs(call) };
    const name = fusedName("columns", call.prologue, call.epilogue);
    return [foldColumns(columns, call.bucket, { ...first, name, args, store: storeAll })];
  }
  const parts: GpuArgument = { kind: "scratch", dtype: "f32", elements: [...columns.outer, sharers, columns.columns] };
  return [
    foldColumns(columns, call.bucket, {
      ...first,
      name: fusedName("columns_share", call.prologue),
      args: { ...firstArgs(call), parts },
      store: ({ k }, at, value) => k.store("parts", at, value),
    }),
    foldColumns({ ...columns, length: sharers }, call.bucket, {
      name: fusedName("columns_join", call.epilogue),
      args: { parts, ...resultArgs(call) },
      initial,
      combine,
      sharers: 1,
      read:
        ({ k }) =>
        (at) =>
          k.load("parts", at),
      store: storeAll,
    }),
  ];
}

/** The length of a row as a float. */
export function floatOf(k: Emitter, length: Extent): F32 {
  return k.convert("f32", asValue(k, length));
}
