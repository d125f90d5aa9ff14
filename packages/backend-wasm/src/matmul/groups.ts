import { type FunctionBuilder, f32x4, i16x8, i32, i32x4, type Local, type ModuleBuilder, type V128, v128 } from "../emit/index.ts";
import { activationLayout, lanesFor } from "../formats/activations.ts";
import { groupRows, type Half, halves, InterleavedBlock, type Pair } from "../formats/block.ts";
import type { BlockContext, GroupFormat, RunBytes } from "../formats/format.ts";
import { loadFiniteHalves } from "../formats/half.ts";
import { formatNames, formatOf } from "../formats/index.ts";
import { Products, type RunScale, runScale, type Tokens } from "../formats/products.ts";
import { storeLanes } from "../kernels/shared/loops.ts";
import { madd, type Target } from "../target.ts";

/** Tokens that share one pass over a group of rows where there are several. */
export const sharingTokens = 4;

/**
 * Emits `groups.<format>(w, a, y, rows, blocks, tokenBytes, yBytes, tokens)`: groups of eight interleaved rows times activations that
 * were rounded to 8 bits, `y[token][row]`; and `shared.<format>`, the same for whole fours of tokens, whose activations are repeated.
 * Each output adds its blocks in order, whatever the number of tokens.
 */
export function emitGroups(module: ModuleBuilder, target: Target): void {
  const signature = {
    w: "i32",
    a: "i32",
    y: "i32",
    rows: "i32",
    blocks: "i32",
    tokenBytes: "i32",
    yBytes: "i32",
    tokens: "i32",
  } as const;
  for (const name of formatNames) {
    const format = formatOf(name);
    for (const size of [1, sharingTokens]) {
      const layout = activationLayout(format.rounding, lanesFor(format, target), size > 1);
      module.function(
        `${size === 1 ? "groups" : "shared"}.${name}`,
        signature,
        (f, { w, a, y, rows, blocks, tokenBytes, yBytes, tokens }) => {
          const [group, first, to, left, count] = [f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32")];
          const tile = (): void => {
            const activations = f.locals("i32", size);
            const sums = activations.map((): Pair => [f.local("v128"), f.local("v128")]);
            activations.forEach((activation, token) => void f.set(activation, i32.add(first, i32.mul(token, tokenBytes))));
            for (const sum of sums.flat()) f.set(sum, v128.zero());
            f.set(group, w);
            f.set(left, blocks);
            f.while(left, () => {
              const context = { f, target, block: new InterleavedBlock(f, group, format.fields, loadFiniteHalves) };
              multiplyBlock(context, format, { layout, blocks: activations }, sums);
              f.advance(group, groupRows * format.bytes);
              for (const activation of activations) f.advance(activation, layout.bytes * (format.elements / layout.elements));
              f.advance(left, -1);
            });
            for (const [low, high] of sums) {
              f.if(
                i32.geU(rows, groupRows),
                () => {
                  f.store(to, low);
                  f.store(to, high, 16);
                },
                () => {
                  storeLanes(f, to, low, rows);
                  f.if(i32.gtU(rows, 4), () => storeLanes(f, f.let(i32.add(to, 16)), high, i32.sub(rows, 4)));
                },
              );
              f.advance(to, yBytes);
            }
            f.advance(first, i32.mul(size, tokenBytes));
            f.advance(count, -size);
          };
          f.while(rows, () => {
            f.set(first, a);
            f.set(to, y);
            f.set(count, tokens);
            f.while(count, tile);
            f.set(w, group);
            f.advance(y, 4 * groupRows);
            f.set(rows, i32.select(i32.gtU(rows, groupRows), i32.sub(rows, groupRows), 0));
          });
        },
      );
    }
  }
}

/** Adds the products of one block of eight rows with one block of each token to `sums`. */
function multiplyBlock(context: BlockContext, format: GroupFormat, tokens: Tokens, sums: readonly Pair[]): void {
  const { f, target } = context;
  const { elements, runElements, unitOrder, biasBits = 0, hasRunScales = false } = format;
  const scales = format.scales === undefined ? undefined : halves.map((half) => format.scales!(context, half));
  const products = new Products(f, target, format, tokens, scales !== undefined);
  const { layout } = tokens;
  const scale = (half: Half, run: number): RunScale | undefined => {
    const bytes = scales?.[half];
    return bytes && runScale(f, bytes.words[run >> 2]!, run, bytes.areSigned);
  };
  const unitsPerRun = runElements / 4;
  const isBiased = biasBits > 0 && !products.startsBiased;
  if (isBiased && scales === undefined) products.begin((token) => i32x4.shl(v128.load32Splat(token, layout.minusSum), biasBits));
  for (const some of products.passes) {
    for (let run = 0; run < elements / runElements; run++) {
      for (let place = 0; place < unitsPerRun; place++) {
        const unit = run * unitsPerRun + (unitOrder?.[place] ?? place);
        const codes = some.map((half) => ({ half, bytes: format.codes(context, unit, half) }));
        products.add(unit, codes, (half) => scale(half, run));
      }
      for (const half of some) {
        const factors = scale(half, run);
        products.endRun(half, factors && shared(f, target, factors));
        if (hasRunScales) {
          addScaled(context, tokens, sums, products.totals, [half], (h) => format.d(context, h, run));
          products.clear(half);
        }
      }
    }
  }
  if (hasRunScales) return;
  if (isBiased && scales !== undefined) {
    // What unsigned codes add under integer scales: 2^biasBits times the sums of the activations, scaled.
    for (const half of halves) {
      const words = wordPairs(context, scales[half]!);
      products.totals.forEach((total, token) => {
        const bias = i32x4.shl(sumsTimes(words, tokens, token, runElements), biasBits);
        f.set(total[half], i32x4.sub(total[half], bias));
      });
    }
  }
  addScaled(context, tokens, sums, products.totals, halves, (half) => format.d(context, half, 0));
  if (format.m !== undefined) {
    const m = halves.map((half) => f.let(format.m!(context, half)));
    tokens.blocks.forEach((token, t) => {
      const x = f.let(v128.load32Splat(token, layout.sum));
      for (const half of halves) f.set(sums[t]![half], madd(target, m[half]!, x, sums[t]![half]));
    });
  }
  if (format.minima !== undefined) {
    const { bytes, dmin } = format.minima;
    for (const half of halves) {
      const words = wordPairs(context, bytes(context, half));
      products.totals.forEach((total, token) => void f.set(total[half], sumsTimes(words, tokens, token, runElements)));
    }
    addScaled(context, tokens, sums, products.totals, halves, (half) => f32x4.neg(dmin(context, half)));
  }
}

/** Scales that several tokens use are computed once. */
function shared(f: FunctionBuilder, { dots }: Target, { quads, pairs }: RunScale): RunScale {
  return dots === "pairs" ? { quads, pairs: f.let(pairs) } : { quads: f.let(quads), pairs };
}

/** `sums += total * d * (scale of the activations)` */
function addScaled(
  { f, target }: BlockContext,
  { layout, blocks }: Tokens,
  sums: readonly Pair[],
  totals: readonly Pair[],
  some: readonly Half[],
  d: (half: Half) => V128,
): void {
  const scales = some.map((half) => ({ half, scale: f.let(d(half)) }));
  blocks.forEach((token, t) => {
    const x = f.let(v128.load32Splat(token, layout.d));
    for (const { half, scale } of scales) {
      const sum = sums[t]![half];
      f.set(sum, madd(target, f32x4.fromI32x4(totals[t]![half]), f32x4.mul(scale, x), sum));
    }
  });
}

/** Bytes of runs as 16 bits in pairs, in the order that a layout has its sums in. */
function wordPairs({ f }: BlockContext, { words, areSigned }: RunBytes): readonly Local<"v128">[] {
  return words.flatMap((word) =>
    areSigned
      ? [f.let(i16x8.shrS(i16x8.shl(word, 8), 8)), f.let(i16x8.shrS(word, 8))]
      : [f.let(v128.and(word, f.splatBits(0x00ff00ff))), f.let(i16x8.shrU(word, 8))],
  );
}

/** The sums of a token's activations per run, times the runs' bytes. */
function sumsTimes(words: readonly V128[], { layout, blocks }: Tokens, token: number, runElements: 16 | 32): V128 {
  const at = runElements === 16 ? layout.sums16 : layout.sums32;
  return words
    .map((word, index) => i32x4.dotI16x8(word, v128.load32Splat(blocks[token]!, at + 4 * index)))
    .reduce((sum, product) => i32x4.add(sum, product));
}
