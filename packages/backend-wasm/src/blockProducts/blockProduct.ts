import { elementAt, entryOf } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, i32x4, type Local, type V128 } from "../emit/index.ts";
import { InterleavedBlock, type Quad } from "../formats/block.ts";
import type { BlockContext, GroupFormat } from "../formats/format.ts";
import { loadFiniteHalves } from "../formats/half.ts";
import { madd, type Target } from "../target.ts";
import { stepElements } from "./keptWeights.ts";
import { loadWord, Products, type Slots, type Tokens } from "./products.ts";
import { type BlockWeights, unitsOf } from "./weights.ts";

/** Reader of the block at `group`. */
export function blockAt(f: FunctionBuilder, target: Target, { fields }: GroupFormat, group: Local<"i32">): BlockContext {
  return { f, target, block: new InterleavedBlock(f, group, fields, loadFiniteHalves) };
}

/** Operands of {@link multiplyBlock}, and where its results go. */
export interface BlockProduct {
  readonly format: GroupFormat;
  readonly weights: BlockWeights;
  readonly tokens: Tokens;
  readonly quads: readonly Quad[];
  readonly sums: Slots;
  /** Memory for totals that are added to more than once; by default locals. */
  readonly totals?: Slots;
  readonly steps?: Steps;
}

/** A loop over a block, 32 weights per iteration. */
export interface Steps {
  /** Activations of the current step. */
  readonly tokens: Tokens;
  /** Repeats the code that `body` emits for the first step. */
  repeat(body: () => void): void;
}

/** Adds the products of a block of some rows with a block of each token to `sums`. */
export function multiplyBlock(f: FunctionBuilder, target: Target, product: BlockProduct): void {
  const { quads, tokens } = product;
  // All rows share one load of activations. Split activations have twice the sums, of which eight fit into registers.
  const atOnce = tokens.layout.lanes === "split" ? Math.floor(4 / tokens.count) : quads.length;
  for (let from = 0; from < quads.length; from += atOnce) {
    multiplyQuads(f, target, { ...product, quads: quads.slice(from, from + atOnce) });
  }
}

function multiplyQuads(f: FunctionBuilder, target: Target, product: BlockProduct): void {
  const { format, weights, tokens, quads: some, sums, totals, steps } = product;
  const { runElements, biasBits = 0, hasRunScales = false } = format;
  const hasScales = format.scales !== undefined;
  const products = new Products(f, target, { format, tokens: steps?.tokens ?? tokens, quads: some, hasScales, totals });
  const { layout } = tokens;
  const isQuadsFirst = some.length > tokens.count;
  const forEach = (visit: (token: number, quad: Quad) => void): void => {
    for (let token = 0; token < tokens.count; token++) for (const quad of some) visit(token, quad);
  };
  /** `sums += total * d * (scale of the activations)`, then applies `then`. */
  const addScaled = (
    those: readonly Quad[],
    total: (token: number, quad: Quad) => V128,
    d: (quad: Quad) => V128,
    then: (sum: V128, token: number, quad: Quad) => V128 = (sum) => sum,
  ): void => {
    const add = (token: number, quad: Quad, x: V128, scale: V128): void => {
      const sum = sums(token, quad);
      sum.set(then(madd(target, f32x4.fromI32x4(total(token, quad)), f32x4.mul(scale, x), sum.value), token, quad));
    };
    const xOf = (token: number): V128 => f.let(loadWord(tokens, token, layout.d));
    // The smaller set of operands stays in registers.
    if (isQuadsFirst) {
      const xs = Array.from({ length: tokens.count }, (_, token) => xOf(token));
      for (const quad of those) {
        const scale = f.let(d(quad));
        xs.forEach((x, token) => void add(token, quad, x, scale));
      }
    } else {
      const scales = those.map((quad) => [quad, f.let(d(quad))] as const);
      for (let token = 0; token < tokens.count; token++) {
        const x = xOf(token);
        for (const [quad, scale] of scales) add(token, quad, x, scale);
      }
    }
  };
  const total = (token: number, quad: Quad): V128 => products.total(token, quad);
  const sumWords = Array.from({ length: tokens.count }, () => new Map<number, Local<"v128">>());
  /** Word `index` of the sums of a token's activations per run. */
  const sumWord = (token: number, index: number): V128 => {
    const word = loadWord(tokens, token, (runElements === 16 ? layout.sums16 : layout.sums32) + 4 * index);
    if (!isQuadsFirst) return word;
    const ownWords = elementAt(sumWords, token);
    const kept = ownWords.get(index) ?? f.let(word);
    ownWords.set(index, kept);
    return kept;
  };
  /** Dot product of these sums with 16 bits per run. */
  const sumsTimes = (pairs: readonly V128[], token: number): V128 =>
    pairs.map((pair, index) => i32x4.dotI16x8(pair, sumWord(token, index))).reduce((sum, product) => i32x4.add(sum, product));
  const pairsOf = (pairs: (quad: Quad) => readonly V128[]): ReadonlyMap<Quad, readonly V128[]> =>
    new Map(some.map((quad) => [quad, isQuadsFirst ? pairs(quad) : pairs(quad).map((pair) => f.let(pair))]));

  const isBiased = biasBits > 0 && !products.startsBiased;
  if (isBiased && !hasScales) {
    for (let token = 0; token < tokens.count; token++) {
      const start = f.let(i32x4.shl(loadWord(tokens, token, layout.minusSum), biasBits));
      for (const quad of some) products.addToTotal(token, quad, start);
    }
  }
  const addRuns = (runs: readonly (readonly number[])[]): void => {
    for (const [run, units] of runs.entries()) {
      for (const unit of units) products.add(unit, weights);
      for (const quad of some) {
        products.endRun(quad, weights.scales?.factor(quad, run));
        if (!hasRunScales) continue;
        addScaled([quad], total, (h) => weights.d(h, run));
        products.clear(quad);
      }
    }
  };
  if (steps === undefined) addRuns(unitsOf(format));
  else {
    products.startTotals();
    steps.repeat(() => addRuns(unitsOf(format).slice(0, stepElements / runElements)));
  }
  if (hasRunScales) return;
  if (isBiased && weights.scales !== undefined) {
    // Removes the bias of unsigned codes under integer scales: 2^biasBits times the scaled sums of the activations.
    const pairs = pairsOf(weights.scales.pairs);
    forEach((token, quad) => products.addToTotal(token, quad, i32x4.neg(i32x4.shl(sumsTimes(entryOf(pairs, quad), token), biasBits))));
  }
  const { m, minima } = weights;
  const addM = m && ((sum: V128, token: number, quad: Quad): V128 => madd(target, m(quad), loadWord(tokens, token, layout.sum), sum));
  addScaled(some, total, (quad) => weights.d(quad, 0), addM);
  if (minima !== undefined) {
    const pairs = pairsOf(minima.pairs);
    addScaled(some, (token, quad) => sumsTimes(entryOf(pairs, quad), token), minima.minusDmin);
  }
}
