import {
  type FunctionBuilder,
  type FunctionRef,
  f32x4,
  i16x8,
  i32,
  i32x4,
  type Local,
  type ModuleBuilder,
  threadIndex,
  type V128,
  v128,
} from "../emit/index.ts";
import { activationLayout, type Lanes, lanesFor, tileBytes } from "../formats/activations.ts";
import { groupRows, type Half, halves, InterleavedBlock, type Pair } from "../formats/block.ts";
import type { BlockContext, GroupFormat, RunBytes } from "../formats/format.ts";
import { loadFiniteHalves } from "../formats/half.ts";
import { type FormatName, formatNames, formatOf } from "../formats/index.ts";
import { loadWord, localSlot, memorySlot, Products, type RunScale, runScale, type Slots, type Tokens } from "../formats/products.ts";
import { storeLanes } from "../kernels/shared/loops.ts";
import { madd, type Target } from "../target.ts";

/** Tokens that share one pass over the weights, the most first: sums of more for both halves of a group do not fit into registers. */
export const tileSizes = [4, 2, 1] as const;

const rowBytes = 4 * groupRows;

/** Bytes that each thread needs: sums and totals of a group for the largest tile. */
export const groupRoomBytes: number = 2 * tileSizes[0] * rowBytes;

const signature = { w: "i32", a: "i32", y: "i32", rows: "i32", blocks: "i32" } as const;

/**
 * Emits products of groups of eight interleaved rows with activations that were rounded to 8 bits, `y[token][row]`, `rows` of them. Each
 * output adds its blocks in order, whatever the number of tokens.
 *
 * `groups1.<format>(w, a, y, rows, blocks)`: with a single token's, which are packed.
 *
 * `groups<tokens>.<format>(w, a, y, rows, blocks, yBytes, tiles, rooms)`: with tiles of so many tokens. Each thread has a room of
 * {@link groupRoomBytes}.
 */
export function emitGroups(module: ModuleBuilder, target: Target): void {
  const store = emitStore(module);
  for (const name of formatNames) {
    const format = formatOf(name);
    const lanes = lanesFor(format, target);
    for (const size of tileSizes) {
      if (size === 1) emitSingle(module, target, name, lanes);
      else emitTiles(module, target, name, lanes, size, store);
    }
  }
}

function emitSingle(module: ModuleBuilder, target: Target, name: FormatName, lanes: Lanes): void {
  const format = formatOf(name);
  const layout = activationLayout(format.rounding, lanes);
  module.function(`groups1.${name}`, signature, (f, { w, a, y, rows, blocks }) => {
    const [address, left] = [f.local("i32"), f.local("i32")];
    const sums: Pair = [f.local("v128"), f.local("v128")];
    const slots = sums.map((sum) => localSlot(f, sum));
    const tokens: Tokens = { layout, address, count: 1 };
    f.while(rows, () => {
      f.set(address, a);
      for (const sum of sums) f.set(sum, v128.zero());
      f.set(left, blocks);
      f.while(left, () => {
        multiplyBlock({ f, target, group: w }, format, tokens, (_, half) => slots[half]!, undefined);
        f.advance(w, groupRows * format.bytes);
        f.advance(address, tileBytes(layout, format.elements, 1));
        f.advance(left, -1);
      });
      storeRows(f, y, sums, rows);
      f.advance(y, rowBytes);
      f.set(rows, i32.select(i32.gtU(rows, groupRows), i32.sub(rows, groupRows), 0));
    });
  });
}

function emitTiles(module: ModuleBuilder, target: Target, name: FormatName, lanes: Lanes, count: 2 | 4, store: Store): void {
  const format = formatOf(name);
  const layout = activationLayout(format.rounding, lanes);
  const params = { ...signature, yBytes: "i32", tiles: "i32", rooms: "i32" } as const;
  module.function(`groups${count}.${name}`, params, (f, { w, a, y, rows, blocks, yBytes, tiles, rooms }) => {
    const room = f.let(i32.add(rooms, i32.mul(threadIndex, groupRoomBytes)));
    const slots = (from: number): Slots => {
      const kept = Array.from({ length: count }, (_, t) => halves.map((half) => memorySlot(f, room, from + rowBytes * t + 16 * half)));
      return (token, half) => kept[token]![half]!;
    };
    const [sums, totals] = [slots(0), slots(groupRoomBytes / 2)];
    const address = f.local("i32");
    const tokens: Tokens = { layout, address, count };
    const [group, left, to, tile] = [f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32")];
    f.while(rows, () => {
      f.set(address, a);
      f.set(to, y);
      f.set(tile, tiles);
      f.while(tile, () => {
        for (let at = 0; at < rowBytes * count; at += 16) f.store(room, v128.zero(), at);
        f.set(group, w);
        f.set(left, blocks);
        f.while(left, () => {
          multiplyBlock({ f, target, group }, format, tokens, sums, totals);
          f.advance(group, groupRows * format.bytes);
          f.advance(address, tileBytes(layout, format.elements, count));
          f.advance(left, -1);
        });
        f.call(store, { y: to, room, yBytes, tokens: i32.const(count), rows });
        f.advance(to, i32.mul(yBytes, count));
        f.advance(tile, -1);
      });
      f.set(w, group);
      f.advance(y, rowBytes);
      f.set(rows, i32.select(i32.gtU(rows, groupRows), i32.sub(rows, groupRows), 0));
    });
  });
}

const storeSignature = { y: "i32", room: "i32", yBytes: "i32", tokens: "i32", rows: "i32" } as const;

type Store = FunctionRef<typeof storeSignature, undefined>;

/** Emits how sums of a group go from a room to `y`: eight rows, or those that are left. */
function emitStore(module: ModuleBuilder): Store {
  return module.function("groups.store", storeSignature, (f, { y, room, yBytes, tokens, rows }) => {
    f.while(tokens, () => {
      const [low, high] = [f.let(v128.load(room)), f.let(v128.load(room, 16))];
      storeRows(f, y, [low, high], rows);
      f.advance(y, yBytes);
      f.advance(room, rowBytes);
      f.advance(tokens, -1);
    });
  });
}

/** Stores eight rows' sums, or those that are left. */
function storeRows(f: FunctionBuilder, y: Local<"i32">, [low, high]: Pair, rows: Local<"i32">): void {
  f.if(
    i32.geU(rows, groupRows),
    () => {
      f.store(y, low);
      f.store(y, high, 16);
    },
    () => {
      storeLanes(f, y, low, rows);
      f.if(i32.gtU(rows, 4), () => storeLanes(f, f.let(i32.add(y, 16)), high, i32.sub(rows, 4)));
    },
  );
}

/** What emits code for blocks at `group`. */
interface GroupContext {
  readonly f: FunctionBuilder;
  readonly target: Target;
  readonly group: Local<"i32">;
}

/** Adds the products of one block of eight rows with one block of each token to `sums`. */
function multiplyBlock(
  { f, target, group }: GroupContext,
  format: GroupFormat,
  tokens: Tokens,
  sums: Slots,
  totals: Slots | undefined,
): void {
  const block = new InterleavedBlock(f, group, format.fields, loadFiniteHalves);
  // Halves together load activations once. Where those are split, four tokens have twice the sums.
  const passes: readonly (readonly Half[])[] = tokens.count * (tokens.layout.lanes === "split" ? 2 : 1) > 4 ? [[0], [1]] : [halves];
  for (const some of passes) multiplyHalves({ f, target, block }, format, tokens, some, sums, totals);
}

function multiplyHalves(
  context: BlockContext,
  format: GroupFormat,
  tokens: Tokens,
  some: readonly Half[],
  sums: Slots,
  totals: Slots | undefined,
): void {
  const { f, target } = context;
  const { elements, runElements, unitOrder, biasBits = 0, hasRunScales = false } = format;
  const scales = format.scales && new Map(some.map((half) => [half, format.scales!(context, half)]));
  const products = new Products(f, target, { format, tokens, halves: some, hasScales: scales !== undefined, totals });
  const { layout } = tokens;
  const scale = (half: Half, run: number): RunScale | undefined => {
    const bytes = scales?.get(half);
    return bytes && runScale(f, bytes.words[run >> 2]!, run, bytes.areSigned);
  };
  const forEach = (visit: (token: number, half: Half) => void): void => {
    for (let token = 0; token < tokens.count; token++) for (const half of some) visit(token, half);
  };
  const unitsPerRun = runElements / 4;
  const isBiased = biasBits > 0 && !products.startsBiased;
  if (isBiased && scales === undefined) {
    for (let token = 0; token < tokens.count; token++) {
      const start = f.let(i32x4.shl(loadWord(tokens, token, layout.minusSum), biasBits));
      for (const half of some) products.addToTotal(token, half, start);
    }
  }
  for (let run = 0; run < elements / runElements; run++) {
    for (let place = 0; place < unitsPerRun; place++) {
      const unit = run * unitsPerRun + (unitOrder?.[place] ?? place);
      products.add(
        unit,
        (half) => format.codes(context, unit, half),
        (half) => scale(half, run),
      );
    }
    for (const half of some) {
      const factors = scale(half, run);
      products.endRun(half, factors && shared(f, target, factors));
      if (hasRunScales) {
        addScaled(
          context,
          tokens,
          [half],
          sums,
          (token, h) => products.total(token, h),
          (h) => format.d(context, h, run),
        );
        products.clear(half);
      }
    }
  }
  if (hasRunScales) return;
  if (isBiased && scales !== undefined) {
    // What unsigned codes add under integer scales: 2^biasBits times the sums of the activations, scaled.
    const words = new Map(some.map((half) => [half, wordPairs(context, scales.get(half)!)]));
    forEach((token, half) =>
      products.addToTotal(token, half, i32x4.neg(i32x4.shl(sumsTimes(words.get(half)!, tokens, token, runElements), biasBits))),
    );
  }
  addScaled(
    context,
    tokens,
    some,
    sums,
    (token, half) => products.total(token, half),
    (half) => format.d(context, half, 0),
  );
  if (format.m !== undefined) {
    const m = new Map(some.map((half) => [half, f.let(format.m!(context, half))]));
    forEach((token, half) => {
      const sum = sums(token, half);
      sum.set(madd(target, m.get(half)!, loadWord(tokens, token, layout.sum), sum.value));
    });
  }
  if (format.minima !== undefined) {
    const { bytes, dmin } = format.minima;
    const words = new Map(some.map((half) => [half, wordPairs(context, bytes(context, half))]));
    addScaled(
      context,
      tokens,
      some,
      sums,
      (token, half) => sumsTimes(words.get(half)!, tokens, token, runElements),
      (half) => f32x4.neg(dmin(context, half)),
    );
  }
}

/** Scales that several tokens use are computed once. */
function shared(f: FunctionBuilder, { dots }: Target, { quads, pairs }: RunScale): RunScale {
  return dots === "pairs" ? { quads, pairs: f.let(pairs) } : { quads: f.let(quads), pairs };
}

/** `sums += total * d * (scale of the activations)` */
function addScaled(
  { f, target }: BlockContext,
  tokens: Tokens,
  some: readonly Half[],
  sums: Slots,
  total: (token: number, half: Half) => V128,
  d: (half: Half) => V128,
): void {
  const scales = some.map((half) => ({ half, scale: f.let(d(half)) }));
  for (let token = 0; token < tokens.count; token++) {
    const x = f.let(loadWord(tokens, token, tokens.layout.d));
    for (const { half, scale } of scales) {
      const sum = sums(token, half);
      sum.set(madd(target, f32x4.fromI32x4(total(token, half)), f32x4.mul(scale, x), sum.value));
    }
  }
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
function sumsTimes(words: readonly V128[], tokens: Tokens, token: number, runElements: 16 | 32): V128 {
  const at = runElements === 16 ? tokens.layout.sums16 : tokens.layout.sums32;
  return words
    .map((word, index) => i32x4.dotI16x8(word, loadWord(tokens, token, at + 4 * index)))
    .reduce((sum, product) => i32x4.add(sum, product));
}
