import type { Shape, TensorSpec } from "@centella/core";
import { isBelow, plus, product, times, timesPlus, unflatten } from "@centella/gpu-kernels";
import type { Extent, F32, U32 } from "../../ptx/types.ts";
import { bucketElements, defaultThreads, type KernelCall, type Launch, launch, type NamedArguments, type Scope } from "./kernel.ts";

/** One run of elements along an axis, handled by one block. */
export interface Row {
  /** Number of the row, in the order of the shape without the axis. */
  readonly row: U32;
  readonly length: Extent;
  /** Flat index of element `i` of the row. */
  at(i: Extent): Extent;
}

/** `axis` from 0, or undefined for all axes as one row. */
export function normalAxis(axis: number | null, rank: number): number | undefined {
  if (axis === null || rank === 0) return undefined;
  return axis < 0 ? axis + rank : axis;
}

/** One block per row of `x` along `axis` (undefined: all of `x` is one row). `body` runs in whole blocks: it may `sync()`. */
export function perRow(
  call: KernelCall,
  entry: string,
  { x, axis, args }: { readonly x: TensorSpec; readonly axis: number | undefined; readonly args: NamedArguments },
  body: (scope: Scope, row: Row) => void,
): Launch {
  const outer: Shape = axis === undefined ? [] : x.shape.slice(0, axis);
  const inner: Shape = axis === undefined ? [] : x.shape.slice(axis + 1);
  const blocks = bucketElements(call, [...outer, ...inner]);
  return launch(call, entry, { blocks, args }, (scope) => {
    const { k } = scope;
    const length = axis === undefined ? product(k, scope.extents(x.shape)) : scope.extent(x.shape[axis]!);
    const innerExtent = product(k, scope.extents(inner));
    const rows = times(k, product(k, scope.extents(outer)), innerExtent);
    const row = k.block();
    k.ifUniform(isBelow(k, row, rows), () => {
      const [before, after] = unflatten(k, row, [1, innerExtent]);
      const start = timesPlus(k, times(k, before!, length), innerExtent, after!);
      body(scope, { row, length, at: (i) => plus(k, times(k, i, innerExtent), start) });
    });
  });
}

/** Runs `body` for every element of a row, spread over the block's threads; threads differ, so no `sync()` inside. */
export function forEachOf({ k }: Scope, length: Extent, body: (i: U32) => void): void {
  k.for(k.thread(), length, defaultThreads, body);
}

/** Folds a row's elements in each thread: `combine` over `map(i)` from `initial`. The block must still be combined. */
export function foldRow(scope: Scope, length: Extent, initial: number, map: (i: U32) => F32, combine: (a: F32, b: F32) => F32): F32 {
  const sum = scope.k.variable("f32", initial);
  forEachOf(scope, length, (i) => sum.set(combine(sum.get(), map(i))));
  return sum.get();
}
