import { asValue, isBelow, plus, product, times, timesPlus, unflatten } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../ptx/builder.ts";
import { blockReducer } from "../../ptx/reduce.ts";
import type { Extent, F32, U32 } from "../../ptx/types.ts";
import { type Argument, bucketElements, defaultThreads, type Kernel, type KernelCall, type Launch, launch } from "./kernel.ts";
import { foldRow, normalAxis, perRow } from "./rows.ts";
import { resultArgs, sourceArgs, sourceOf, storeResult, surroundedName } from "./surroundings.ts";

/** Elements of a row from which on several blocks share it, and how many each of them takes at least. */
const longRow = 2 ** 14;
const leastShare = 2 ** 12;

/** Blocks that suffice to keep a device busy. */
const enoughBlocks = 512;

/** How many blocks share each row of a reduction. */
export function sharersOf(rows: number, length: number): number {
  if (length < longRow) return 1;
  return Math.max(1, Math.min(Math.ceil(length / leastShare), Math.floor(enoughBlocks / Math.max(1, rows))));
}

/** Kernel of a reduction over one axis or all; `finish` sees the combined value and the number of elements. */
export function reduction(
  name: string,
  initial: number,
  combine: (k: PtxBuilder, a: F32, b: F32) => F32,
  finish: (k: PtxBuilder, value: F32, length: Extent) => F32 = (_k, value) => value,
): Kernel<{ readonly axis: number | null }> {
  return {
    finishes: true,
    reads: "once",
    launches: (call, { axis: given }) => {
      const x = call.inputs[0]!;
      const axis = normalAxis(given, x.shape.length);
      const length = bucketElements(call, axis === undefined ? x.shape : [x.shape[axis]!]);
      const rows = bucketElements(call, axis === undefined ? [] : x.shape.toSpliced(axis, 1));
      const sharers = sharersOf(rows, length);
      const parts: Argument = { kind: "scratch", bytes: 4 * rows * sharers };
      const isShared = sharers > 1;
      const args = { ...(isShared ? { parts } : sourceArgs(call)), ...resultArgs(call) };
      const joinName = isShared ? surroundedName(`${name}_join`, call.finish) : surroundedName(name, call.source, call.finish);
      const join = perRow(call, joinName, { x, axis, args }, (scope, row) => {
        const { k, pointer } = scope;
        const found = isShared ? pointer("parts", "f32") : undefined;
        const from = isShared ? undefined : sourceOf(scope, call);
        const reduce = (a: F32, b: F32): F32 => combine(k, a, b);
        const load = (i: U32): F32 =>
          from === undefined ? k.load("f32", k.at("f32", found!, timesPlus(k, row.row, sharers, i))) : from.first(row.at(i));
        const own = foldRow(scope, isShared ? sharers : row.length, initial, load, reduce);
        const all = finish(k, blockReducer(k)(own, reduce), row.length);
        k.if(k.compare("eq", k.thread(), 0), () => storeResult(scope, call, row.row, all));
      });
      return isShared ? [share(call, name, { axis, rows, sharers, parts, initial, combine }), join] : [join];
    },
  };
}

/** Folds parts of rows, a block each. */
function share(
  call: KernelCall,
  name: string,
  {
    axis,
    rows,
    sharers,
    parts,
    initial,
    combine,
  }: {
    readonly axis: number | undefined;
    readonly rows: number;
    readonly sharers: number;
    readonly parts: Argument;
    readonly initial: number;
    readonly combine: (k: PtxBuilder, a: F32, b: F32) => F32;
  },
): Launch {
  const { shape } = call.inputs[0]!;
  const args = { ...sourceArgs(call), parts };
  return launch(call, surroundedName(`${name}_share`, call.source), { blocks: rows * sharers, args }, (scope) => {
    const { k, pointer } = scope;
    const [outer, inner] = axis === undefined ? [[], []] : [shape.slice(0, axis), shape.slice(axis + 1)];
    const between = product(k, scope.extents(inner));
    const length = axis === undefined ? product(k, scope.extents(shape)) : scope.extent(shape[axis]!);
    const block = k.block();
    const [row, place] = unflatten(k, block, [1, sharers]);
    k.ifUniform(isBelow(k, row!, times(k, product(k, scope.extents(outer)), between)), () => {
      const [before, after] = unflatten(k, row!, [1, between]);
      const start = timesPlus(k, times(k, before!, length), between, after!);
      const size = k.div(k.add(asValue(k, length), sharers - 1), sharers);
      const first = k.mul(asValue(k, place!), size);
      const end = k.min(k.add(first, size), length);
      const sum = k.variable("f32", initial);
      const from = sourceOf(scope, call);
      const fold = (i: U32): void => sum.set(combine(k, sum.get(), from.first(plus(k, times(k, i, between), start))));
      k.for(k.add(first, k.thread()), end, defaultThreads, fold);
      const all = blockReducer(k)(sum.get(), (a, b) => combine(k, a, b));
      k.if(k.compare("eq", k.thread(), 0), () => k.store("f32", k.at("f32", pointer("parts", "f32"), block), all));
    });
  });
}
