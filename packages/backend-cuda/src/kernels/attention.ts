import type { ParamsOf } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { asValue, divide, type Extent, type F32, type I32, isBelow, tanh, times, timesPlus, type U32 } from "@centella/gpu-kernels";
import { warpSum } from "../ptx/reduce.ts";
import type { Var } from "../ptx/writer.ts";
import { bucketElements, fixed, input, isFixed, type KernelOf, type Launch, launch, output, type Scope } from "./shared/kernel.ts";

type Params = ParamsOf<"attention">;

type AttentionCall = Parameters<KernelOf<"attention">["launches"]>[0];

const warps = 4;
const lanes = 32;

export const attention: KernelOf<"attention"> = {
  unsupported: ([q, cache]) => {
    return isFixed(q.shape[1], q.shape[2], ...cache.shape.slice(1)) ? undefined : "no kernel for symbolic heads or head sizes";
  },
  launches: (call, params) => [attentionLaunch(call, params)],
};

/**
 * One block per query and head. Each warp takes every fourth key, its lanes share the head's elements; the softmax is kept
 * as a running maximum, a running sum and a running output per warp, which are merged at the end.
 */
function attentionLaunch(call: AttentionCall, params: Params): Launch {
  const [q, cache, , , blockTable, seqLens, sinks] = call.inputs;
  const [heads, keyWidth] = [fixed(q.shape[1]), fixed(q.shape[2])];
  const [kvHeads, cacheWidth] = [fixed(cache.shape[1]), fixed(cache.shape[2])];
  const valueWidth = cacheWidth - keyWidth;
  const args = {
    q: input(0),
    cache: input(1),
    positions: input(2),
    seqOf: input(3),
    blockTable: input(4),
    seqLens: input(5),
    ...(sinks === undefined ? {} : { sinks: input(6) }),
    y: output,
  };
  const entry = `attention_${cache.dtype}`;
  return launch(call, entry, { threads: warps * lanes, blocks: bucketElements(call, q.shape.slice(0, 2)), args }, (scope) => {
    const { k } = scope;
    const thread = k.thread();
    const lane = k.and(thread, lanes - 1);
    const warp = k.shiftRight(thread, 5);
    const [token, head] = divide(k, k.block(), heads);
    k.ifUniform(isBelow(k, token, scope.extent(elementAt(q.shape, 0))), () => {
      const position = k.loadInteger("positions", token);
      const sequence = k.bitcast("u32", k.loadInteger("seqOf", token));
      const [kvHead] = divide(k, head, heads / kvHeads);
      const queryRow = times(k, asValue(k, k.block()), keyWidth);
      const query = lanesOf(scope, lane, keyWidth, (d) => k.load("q", timesPlus(k, queryRow, 1, d)));

      const maxBlocks = scope.extent(elementAt(blockTable.shape, 1));
      const { low, high } = visible(scope, params, { position, sequence, sequences: scope.extent(elementAt(seqLens.shape, 0)), maxBlocks });
      const slope = params.alibi === 0 ? undefined : k.ld("f32", k.at("f32", k.table("f32", alibiSlopes(heads, params.alibi)), head));
      const tableRow = times(k, sequence, maxBlocks);

      const max = k.variable("f32", Number.NEGATIVE_INFINITY);
      const sum = k.variable("f32", 0);
      const sums: Var<"f32">[] = Array.from({ length: Math.ceil(valueWidth / lanes) }, () => k.variable("f32", 0));
      k.for(k.add(low, warp), high, warps, (j) => {
        const [block, place] = divide(k, j, params.blockSize);
        const first = k.bitcast("u32", k.loadInteger("blockTable", timesPlus(k, tableRow, 1, block)));
        const slot = asValue(k, timesPlus(k, first, params.blockSize, place));
        // Table entries beyond the cache are skipped.
        k.if(isBelow(k, slot, scope.extent(elementAt(cache.shape, 0))), () => {
          const row = asValue(k, times(k, timesPlus(k, slot, kvHeads, kvHead), cacheWidth));
          const keys = lanesOf(scope, lane, keyWidth, (d) => k.load("cache", k.add(row, d)));
          const product = k.variable("f32", 0);
          for (const [i, key] of keys.entries()) product.accumulate(key, elementAt(query, i));
          let score = k.mul(warpSum(k, product.get()), params.scale);
          if (params.softcap !== 0) score = k.mul(tanh(k, k.div(score, k.constant("f32", params.softcap))), params.softcap);
          if (slope !== undefined) {
            const distance = k.convert("f32", k.sub(k.bitcast("i32", j), position));
            score = k.fma(slope, distance, score);
          }
          const newMax = k.max(max.get(), score);
          const kept = k.exp(k.sub(max.get(), newMax));
          const weight = k.exp(k.sub(score, newMax));
          max.set(newMax);
          sum.set(k.fma(sum.get(), kept, weight));
          const values = lanesOf(scope, lane, valueWidth, (d) => k.load("cache", k.add(k.add(row, keyWidth), d)));
          for (const [i, value] of values.entries()) elementAt(sums, i).set(k.fma(value, weight, k.mul(elementAt(sums, i).get(), kept)));
        });
      });
      const sink = sinks === undefined ? undefined : k.load("sinks", head);
      const outputRow = asValue(k, times(k, k.block(), valueWidth));
      merge(scope, {
        thread,
        lane,
        warp,
        max: max.get(),
        sum: sum.get(),
        sums: sums.map((part) => part.get()),
        sink,
        valueWidth,
        outputRow,
      });
    });
  });
}

/** Values for `width` elements that a warp's lanes share: lane l has those at l, l + 32, …; zeros beyond the width. */
function lanesOf({ k }: Scope, lane: U32, width: number, load: (d: U32) => F32): readonly F32[] {
  return Array.from({ length: Math.ceil(width / lanes) }, (_, i) => {
    const d = k.add(lane, i * lanes);
    if ((i + 1) * lanes <= width) return load(d);
    const value = k.variable("f32", 0);
    k.if(k.compare("lt", d, width), () => value.set(load(d)));
    return value.get();
  });
}

interface Query {
  readonly position: I32;
  readonly sequence: U32;
  /** Extents of the block table. */
  readonly sequences: Extent;
  readonly maxBlocks: Extent;
}

/** The positions that a query may see, from `low` to before `high`. Empty for a sequence that does not exist. */
function visible({ k }: Scope, { causal, window, blockSize }: Params, query: Query): { readonly low: U32; readonly high: U32 } {
  const { position, sequence, sequences, maxBlocks } = query;
  const high = k.variable("i32", 0);
  k.if(isBelow(k, sequence, sequences), () => {
    let end = k.loadInteger("seqLens", sequence);
    if (causal) end = k.min(end, k.add(position, 1));
    const capacity = k.bitcast("i32", asValue(k, times(k, maxBlocks, blockSize)));
    high.set(k.max(k.min(end, capacity), 0));
  });
  const low = window === 0 ? k.constant("i32", 0) : k.max(k.add(position, 1 - window), 0);
  return { low: k.bitcast("u32", low), high: k.bitcast("u32", high.get()) };
}

interface Partial {
  readonly thread: U32;
  readonly lane: U32;
  readonly warp: U32;
  readonly max: F32;
  readonly sum: F32;
  readonly sums: readonly F32[];
  readonly sink: F32 | undefined;
  readonly valueWidth: number;
  /** Index of the first element to write. */
  readonly outputRow: U32;
}

/** Rescales the warps' partial softmaxes to one maximum, adds them up and writes the row; zeros if no position was visible. */
function merge({ k }: Scope, { thread, lane, warp, max, sum, sums, sink, valueWidth, outputRow }: Partial): void {
  const maxima = k.sharedMemory("f32", warps);
  const totals = k.sharedMemory("f32", warps);
  const rows = k.sharedMemory("f32", warps * valueWidth);
  k.if(k.compare("eq", lane, 0), () => {
    k.st("f32", k.sharedAt("f32", maxima, warp), max);
    k.st("f32", k.sharedAt("f32", totals, warp), sum);
  });
  sums.forEach((value, i) => {
    const d = k.add(lane, i * lanes);
    const write = (): void => k.st("f32", k.sharedAt("f32", rows, k.mad(warp, valueWidth, d)), value);
    if ((i + 1) * lanes <= valueWidth) write();
    else k.if(k.compare("lt", d, valueWidth), write);
  });
  k.sync();
  const all = Array.from({ length: warps }, (_, i) => k.ld("f32", maxima, i));
  const largest = [...all, ...(sink === undefined ? [] : [sink])].reduce((a, b) => k.max(a, b));
  const weights = all.map((value) => k.exp(k.sub(value, largest)));
  let total = sink === undefined ? k.constant("f32", 0) : k.exp(k.sub(sink, largest));
  weights.forEach((weight, i) => {
    total = k.fma(weight, k.ld("f32", totals, i), total);
  });
  const sawNothing = k.compare("eq", largest, Number.NEGATIVE_INFINITY);
  k.for(thread, valueWidth, warps * lanes, (d) => {
    let value = k.constant("f32", 0);
    weights.forEach((weight, i) => {
      value = k.fma(weight, k.ld("f32", k.sharedAt("f32", rows, d), i * valueWidth), value);
    });
    const mean = k.select(sawNothing, k.constant("f32", 0), k.div(value, total));
    k.store("y", k.add(outputRow, d), mean);
  });
}

/** ALiBi's slope of each head, by ggml's rule for head counts that are not powers of two. */
function alibiSlopes(heads: number, maxBias: number): readonly number[] {
  const power = 2 ** Math.floor(Math.log2(heads));
  return Array.from({ length: heads }, (_, h) =>
    h < power ? 2 ** ((-maxBias / power) * (h + 1)) : 2 ** ((-maxBias / 2 / power) * (2 * (h - power) + 1)),
  );
}
