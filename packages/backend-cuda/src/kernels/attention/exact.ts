import { elementAt } from "@centella/core/backend";
import {
  asValue,
  type Bool,
  divide,
  type Extent,
  type F32,
  type I32,
  isBelow,
  tanh,
  times,
  timesPlus,
  type U32,
} from "@centella/gpu-kernels";
import type { Var } from "../../ptx/writer.ts";
import { lanes } from "../shared/gpu.ts";
import { bucketElements, fixed, type Launch, launch, type Scope } from "../shared/kernel.ts";
import { type AttentionCall, type AttentionParams, alibiDistance, attentionArgs, attentionInputs, slopeOf, tokenQuery } from "./problem.ts";

/** Warps of a block: fewer where each multiprocessor has several blocks. */
const fewBlocksWarps = 8;
const manyBlocksWarps = 4;

/** Keys that a lane reads at once, so that their loads are in flight together; one where a warp has many groups. */
const keysInFlight = 4;
const manyGroups = 8;

/** Below every score that counts, and finite: differences of two of them are numbers. */
const noScore = -3e38;

/**
 * One block per query and head. A few lanes share a key's elements, and each group of lanes takes several keys at once. The softmax is kept
 * as a running maximum, a running sum and a running output per group, which are merged at the end.
 */
export function exactAttention(call: AttentionCall, params: AttentionParams): Launch {
  const { q, cache, blockTable, sinks, bias } = attentionInputs(call);
  const [heads, keyWidth] = [fixed(q.shape[1]), fixed(q.shape[2])];
  const [kvHeads, cacheWidth] = [fixed(cache.shape[1]), fixed(cache.shape[2])];
  const valueWidth = cacheWidth - keyWidth;
  const args = attentionArgs(call);
  const entry = `attention_${cache.dtype}`;
  const blocks = bucketElements(call, q.shape.slice(0, 2));
  const warps = blocks > 8 * call.gpu.multiprocessors ? manyBlocksWarps : fewBlocksWarps;
  return launch(call, entry, { threads: warps * lanes, blocks, args, form: [] }, (scope) => {
    const { k } = scope;
    const [token, head] = divide(k, k.block(), heads);
    k.ifUniform(isBelow(k, token, scope.extent(elementAt(q.shape, 0))), () => {
      const group = new KeyGroup(scope, keyWidth, valueWidth);
      const { position, sequence, low, high } = tokenQuery(scope, call, params, asValue(k, token));
      const [kvHead] = divide(k, head, heads / kvHeads);
      const query = group.load("q", asValue(k, times(k, asValue(k, k.block()), keyWidth)), keyWidth);

      const maxBlocks = scope.extent(elementAt(blockTable.shape, 1));
      const slope = slopeOf(scope, params, heads, asValue(k, head));
      const tableRow = times(k, sequence, maxBlocks);
      const softmax = new RunningSoftmax(scope, group.elements(valueWidth));

      /** Key j with its value, if there is one, and whether there is. Table entries beyond the cache are skipped. */
      const rowOf = (j: U32): { readonly keys: readonly F32[]; readonly values: readonly F32[]; readonly isVisible: Bool } => {
        const isVisible = k.variable("u32", 0);
        const row = Array.from({ length: group.elements(keyWidth) + group.elements(valueWidth) }, () => k.variable("f32", 0));
        k.if(k.compare("lt", j, high), () => {
          const [block, place] = divide(k, j, params.blockSize);
          const first = k.bitcast("u32", k.loadInteger("blockTable", timesPlus(k, tableRow, 1, block)));
          const slot = asValue(k, timesPlus(k, first, params.blockSize, place));
          k.if(isBelow(k, slot, scope.extent(elementAt(cache.shape, 0))), () => {
            const from = asValue(k, times(k, timesPlus(k, slot, kvHeads, kvHead), cacheWidth));
            const loaded = [...group.load("cache", from, keyWidth), ...group.load("cache", k.add(from, keyWidth), valueWidth)];
            for (const [i, element] of row.entries()) element.set(elementAt(loaded, i));
            isVisible.set(1);
          });
        });
        const elements = row.map((element) => element.get());
        const split = group.elements(keyWidth);
        return { keys: elements.slice(0, split), values: elements.slice(split), isVisible: k.compare("ne", isVisible.get(), 0) };
      };
      const scoreOf = (keys: readonly F32[], j: U32): F32 => {
        const product = k.variable("f32", 0);
        for (const [i, key] of keys.entries()) product.accumulate(key, elementAt(query, i));
        let score = k.mul(group.sum(product.get()), params.scale);
        if (params.softcap !== 0) score = k.mul(tanh(k, k.div(score, k.constant("f32", params.softcap))), params.softcap);
        const after = k.sub(k.bitcast("i32", j), position);
        if (slope !== undefined) score = k.fma(slope, alibiDistance(scope, params, k.convert("f32", after)), score);
        return bias === undefined ? score : k.add(score, biasOf(scope, fixed(bias.shape[1]), head, after));
      };
      const perRound = warps * group.count;
      const perLane = group.count < manyGroups ? keysInFlight : 1;
      k.forUniform(low, high, perRound * perLane, (start) => {
        const first = k.add(start, group.index);
        const places = Array.from({ length: perLane }, (_, i) => k.add(first, i * perRound));
        const rows = places.map(rowOf);
        softmax.add(rows.map(({ keys, values, isVisible }, i) => ({ score: scoreOf(keys, elementAt(places, i)), values, isVisible })));
      });
      for (let mask = group.size; mask < lanes; mask *= 2) softmax.mergeWith((value) => k.shuffleXor(value, mask));
      const sink = sinks === undefined ? undefined : k.load("sinks", head);
      const outputRow = asValue(k, times(k, k.block(), valueWidth));
      merge(scope, softmax, { group, warps, sink, valueWidth, outputRow });
    });
  });
}

/** The bias of a head at a distance, of a table with `distances` for each head. */
function biasOf({ k }: Scope, distances: number, head: Extent, after: I32): F32 {
  const reach = (distances - 1) / 2;
  const nearest = k.max(k.min(after, reach), -reach);
  return k.load("bias", k.bitcast("u32", k.add(k.bitcast("i32", asValue(k, timesPlus(k, head, distances, reach))), nearest)));
}

/** Lanes of a warp that share the elements of a key. */
class KeyGroup {
  readonly #scope: Scope;
  /** Lanes of the group, a power of two. */
  readonly size: number;
  /** Groups of a warp. */
  readonly count: number;
  /** Number of the group in its block. */
  readonly index: U32;
  readonly warp: U32;
  /** Whether the lane is in its warp's first group. */
  readonly isFirst: Bool;
  readonly #lane: U32;
  /** Elements that a lane reads at a time. */
  readonly #vector: 1 | 4;

  constructor(scope: Scope, keyWidth: number, valueWidth: number) {
    const { k } = scope;
    this.#scope = scope;
    // Eight elements per lane, read four at a time; fewer of heads that are narrow.
    const largest = Math.max(2, Math.min(keyWidth, valueWidth) / 8);
    const size = [32, 16, 8, 4, 2].find((each) => each <= largest && keyWidth % (4 * each) === 0 && valueWidth % (4 * each) === 0);
    this.size = size ?? lanes;
    this.#vector = size === undefined ? 1 : 4;
    this.count = lanes / this.size;
    const thread = k.thread();
    const lane = k.and(thread, lanes - 1);
    this.index = k.quotient(thread, this.size);
    this.warp = k.shiftRight(thread, 5);
    this.isFirst = k.compare("lt", lane, this.size);
    this.#lane = k.and(lane, this.size - 1);
  }

  /** Elements of a lane of `width` that the group shares. */
  elements(width: number): number {
    return this.#vector * Math.ceil(width / this.size / this.#vector);
  }

  /** The lane's elements of `width` from element `from` on; zeros beyond the width. */
  load(name: string, from: U32, width: number): readonly F32[] {
    const { k } = this.#scope;
    return this.#places(width).flatMap(({ first, isPart }) => {
      const read = (): readonly F32[] => {
        const at = k.add(from, first);
        return this.#vector === 4 ? k.loadVector(name, at) : [k.load(name, at)];
      };
      if (!isPart) return read();
      const value = k.variable("f32", 0);
      k.if(k.compare("lt", first, width), () => value.set(elementAt(read(), 0)));
      return [value.get()];
    });
  }

  /** Runs `body` for each of the lane's elements of `width`, with its index. */
  forEach(width: number, values: readonly F32[], body: (index: U32, value: F32) => void): void {
    const { k } = this.#scope;
    this.#places(width).forEach(({ first, isPart }, i) => {
      for (let j = 0; j < this.#vector; j++) {
        const run = (): void => body(k.add(first, j), elementAt(values, this.#vector * i + j));
        if (isPart) k.if(k.compare("lt", first, width), run);
        else run();
      }
    });
  }

  /** Sum over the group's lanes; every lane gets the result. */
  sum(value: F32): F32 {
    const { k } = this.#scope;
    let total = value;
    for (let mask = this.size >> 1; mask > 0; mask >>= 1) total = k.add(total, k.shuffleXor(total, mask));
    return total;
  }

  /** First elements of the lane's vectors. Neighbouring lanes have neighbouring vectors. */
  #places(width: number): readonly { readonly first: U32; readonly isPart: boolean }[] {
    const { k } = this.#scope;
    const own = k.mul(this.#lane, this.#vector);
    const step = this.size * this.#vector;
    return Array.from({ length: Math.ceil(width / step) }, (_, i) => ({ first: k.add(own, i * step), isPart: (i + 1) * step > width }));
  }
}

/** A softmax over keys that are added one after the other, and the mean of their values. */
class RunningSoftmax {
  readonly #scope: Scope;
  readonly #max: Var<"f32">;
  readonly #total: Var<"f32">;
  readonly #values: readonly Var<"f32">[];

  constructor(scope: Scope, elements: number) {
    const { k } = scope;
    this.#scope = scope;
    this.#max = k.variable("f32", noScore);
    this.#total = k.variable("f32", 0);
    this.#values = Array.from({ length: elements }, () => k.variable("f32", 0));
  }

  get max(): F32 {
    return this.#max.get();
  }

  /** Sum of the keys' weights, relative to the largest one. */
  get total(): F32 {
    return this.#total.get();
  }

  /** Sum of the values, each times its weight. */
  get values(): readonly F32[] {
    return this.#values.map((value) => value.get());
  }

  add(keys: readonly { readonly score: F32; readonly values: readonly F32[]; readonly isVisible: Bool }[]): void {
    const { k } = this.#scope;
    const scores = keys.map(({ score, isVisible }) => k.select(isVisible, score, noScore));
    const max = scores.reduce((a, b) => k.max(a, b), this.max);
    this.#rescale(max);
    for (const [i, { values, isVisible }] of keys.entries()) {
      const weight = k.select(isVisible, k.exp(k.sub(elementAt(scores, i), max)), 0);
      this.#total.set(k.add(this.total, weight));
      for (const [j, value] of this.#values.entries()) value.set(k.fma(elementAt(values, j), weight, value.get()));
    }
  }

  /** Adds the keys of another softmax, whose numbers `other` returns for those of this one. */
  mergeWith(other: (value: F32) => F32): void {
    const { k } = this.#scope;
    const theirs = other(this.max);
    const [total, ...values] = [this.total, ...this.values].map(other);
    const max = k.max(this.max, theirs);
    this.#rescale(max);
    const kept = k.exp(k.sub(theirs, max));
    [this.#total, ...this.#values].forEach((own, i) => {
      own.set(k.fma(elementAt([total, ...values] as readonly F32[], i), kept, own.get()));
    });
  }

  #rescale(max: F32): void {
    const { k } = this.#scope;
    const kept = k.exp(k.sub(this.max, max));
    for (const own of [this.#total, ...this.#values]) own.set(k.mul(own.get(), kept));
    this.#max.set(max);
  }
}

interface Row {
  readonly group: KeyGroup;
  readonly warps: number;
  readonly sink: F32 | undefined;
  readonly valueWidth: number;
  /** Index of the first element to write. */
  readonly outputRow: U32;
}

/** Merges the warps' softmaxes and writes the row; zeros if no position was visible. */
function merge({ k }: Scope, softmax: RunningSoftmax, { group, warps, sink, valueWidth, outputRow }: Row): void {
  const maxima = k.sharedMemory("f32", warps);
  const totals = k.sharedMemory("f32", warps);
  const rows = k.sharedMemory("f32", warps * valueWidth);
  const { warp, isFirst } = group;
  const thread = k.thread();
  k.if(k.compare("eq", k.and(thread, lanes - 1), 0), () => {
    k.st("f32", k.sharedAt("f32", maxima, warp), softmax.max);
    k.st("f32", k.sharedAt("f32", totals, warp), softmax.total);
  });
  k.if(isFirst, () => {
    group.forEach(valueWidth, softmax.values, (d, value) => k.st("f32", k.sharedAt("f32", rows, k.mad(warp, valueWidth, d)), value));
  });
  k.sync();
  const all = Array.from({ length: warps }, (_, i) => k.ld("f32", maxima, i));
  const largest = [...all, ...(sink === undefined ? [] : [sink])].reduce((a, b) => k.max(a, b));
  const weights = all.map((value) => k.exp(k.sub(value, largest)));
  let total = sink === undefined ? k.constant("f32", 0) : k.exp(k.sub(sink, largest));
  weights.forEach((weight, i) => {
    total = k.fma(weight, k.ld("f32", totals, i), total);
  });
  const sawNothing = k.compare("eq", total, 0);
  k.for(thread, valueWidth, warps * lanes, (d) => {
    let value = k.constant("f32", 0);
    weights.forEach((weight, i) => {
      value = k.fma(weight, k.ld("f32", k.sharedAt("f32", rows, d), i * valueWidth), value);
    });
    const mean = k.select(sawNothing, k.constant("f32", 0), k.div(value, total));
    k.store("y", k.add(outputRow, d), mean);
  });
}
