import {
  type FunctionBuilder,
  type FunctionRef,
  f32x4,
  i32,
  i32x4,
  type Local,
  type ModuleBuilder,
  threadIndex,
  type V128,
  v128,
} from "../emit/index.ts";
import { type ActivationLayout, activationLayout, lanesFor, tileBytes } from "../formats/activations.ts";
import { groupRows, type Half, halves, InterleavedBlock, type Pair } from "../formats/block.ts";
import type { BlockContext, GroupFormat } from "../formats/format.ts";
import { loadFiniteHalves } from "../formats/half.ts";
import { type FormatName, formatNames, formatOf } from "../formats/index.ts";
import { loadWord, localSlot, memorySlot, Products, type Slots, type Tokens } from "../formats/products.ts";
import { type BlockWeights, blockWeights, keepWeights, keptBytes, unitsOf } from "../formats/weights.ts";
import { storeLanes } from "../kernels/shared/loops.ts";
import { madd, type Target } from "../target.ts";

/** Tokens that share one pass over the weights, the most first: sums of more for both halves of a group do not fit into registers. */
export const tileSizes = [4, 3, 2, 1] as const;

const rowBytes = 4 * groupRows;

/** Tiles of four for which the weights of a block are unpacked once. */
const tilesAtOnce = 8;

/** What each thread has in its room: totals of a tile, a block's unpacked weights, sums of tiles. */
const places = { totals: 0, weights: 4 * rowBytes, sums: 4 * rowBytes + keptBytes } as const;

/**
 * Groups that are multiplied with a single token at once, as far apart as can be, of formats that have a byte or more per weight: reading these
 * takes longer than multiplying, and memory is read faster in several streams.
 */
const mostStreams = 2;

/** Bytes of a thread's room. */
export const groupRoomBytes: number = places.sums + tilesAtOnce * 4 * rowBytes;

const signature = { w: "i32", a: "i32", y: "i32", rows: "i32", blocks: "i32" } as const;

/**
 * Emits products of groups of eight interleaved rows with activations that were rounded to 8 bits, `y[token][row]`, `rows` of them. Each
 * output adds its blocks in order, whatever the number of tokens. Each thread has a room of {@link groupRoomBytes}.
 *
 * `groups1.<format>(w, a, y, rows, blocks)`: with a single token's.
 *
 * `groups2.<format>(w, a, y, rows, blocks, yBytes, rooms)`, `groups3.<format>(…)`: with those of a tile of two, of three.
 *
 * `groups4.<format>(w, a, y, rows, blocks, yBytes, rooms, tiles)`: with those of tiles of four.
 */
export function emitGroups(module: ModuleBuilder, target: Target): void {
  const store = emitStore(module);
  for (const name of formatNames) {
    const format = formatOf(name);
    const layout = activationLayout(format.rounding, lanesFor(format, target));
    const emission: Emission = { module, target, name, format, layout, store };
    emitSingle(emission);
    emitFew(emission, 2);
    emitFew(emission, 3);
    emitFours(emission);
  }
}

interface Emission {
  readonly module: ModuleBuilder;
  readonly target: Target;
  readonly name: FormatName;
  readonly format: GroupFormat;
  readonly layout: ActivationLayout;
  readonly store: Store;
}

function emitSingle({ module, target, name, format, layout }: Emission): void {
  module.function(`groups1.${name}`, signature, (f, { w, a, y, rows, blocks }) => {
    const [address, left] = [f.local("i32"), f.local("i32")];
    /** The products of a group at each pointer, which are at the next one's afterwards. */
    const groups = (pointers: readonly Local<"i32">[], sums: readonly Pair[]): void => {
      f.set(address, a);
      for (const sum of sums.flat()) f.set(sum, v128.zero());
      f.set(left, blocks);
      f.while(left, () => {
        pointers.forEach((pointer, i) => {
          const context = blockAt(f, target, format, pointer);
          const weights = blockWeights(context, format, layout.lanes);
          const slots = sums[i]!.map((sum) => localSlot(f, sum));
          multiplyBlock(context, format, weights, { layout, address, count: 1 }, (_, half) => slots[half]!, undefined);
          f.advance(pointer, groupRows * format.bytes);
        });
        f.advance(address, tileBytes(layout, format.elements, 1));
        f.advance(left, -1);
      });
    };
    const streams = format.bytes < format.elements ? 1 : mostStreams;
    const sums = Array.from({ length: streams }, (): Pair => [f.local("v128"), f.local("v128")]);
    if (streams > 1) {
      const [pointers, results] = [f.locals("i32", streams), f.locals("i32", streams)];
      const count = f.let(i32.divU(rows, streams * groupRows));
      const groupBytes = i32.mul(blocks, groupRows * format.bytes);
      pointers.forEach((pointer, i) => void f.set(pointer, i32.add(w, i32.mul(i32.mul(count, i), groupBytes))));
      results.forEach((result, i) => void f.set(result, i32.add(y, i32.mul(count, rowBytes * i))));
      f.advance(rows, i32.mul(count, -streams * groupRows));
      f.while(count, () => {
        groups(pointers, sums);
        results.forEach((result, i) => {
          sums[i]!.forEach((sum, half) => void f.store(result, sum, 16 * half));
          f.advance(result, rowBytes);
        });
        f.advance(count, -1);
      });
      f.set(w, pointers.at(-1)!);
      f.set(y, results.at(-1)!);
    }
    f.while(rows, () => {
      groups([w], [sums[0]!]);
      storeRows(f, y, sums[0]!, rows);
      nextGroup(f, y, rows);
    });
  });
}

function emitFew({ module, target, name, format, layout, store }: Emission, count: 2 | 3): void {
  const params = { ...signature, yBytes: "i32", rooms: "i32" } as const;
  module.function(`groups${count}.${name}`, params, (f, { w, a, y, rows, blocks, yBytes, rooms }) => {
    const room = f.let(i32.add(rooms, i32.mul(threadIndex, groupRoomBytes)));
    const at = f.let(i32.add(room, places.sums));
    const sums = roomSlots(f, at, 0);
    const [address, left] = [f.local("i32"), f.local("i32")];
    f.while(rows, () => {
      f.set(address, a);
      for (let offset = 0; offset < count * rowBytes; offset += 16) f.store(at, v128.zero(), offset);
      f.set(left, blocks);
      f.while(left, () => {
        const context = blockAt(f, target, format, w);
        const weights = blockWeights(context, format, layout.lanes);
        multiplyBlock(context, format, weights, { layout, address, count }, sums, roomSlots(f, room, places.totals));
        f.advance(w, groupRows * format.bytes);
        f.advance(address, tileBytes(layout, format.elements, count));
        f.advance(left, -1);
      });
      f.call(store, { y, room: at, yBytes, tokens: i32.const(count), rows });
      nextGroup(f, y, rows);
    });
  });
}

/**
 * Blocks of 32 are unpacked once for several tiles. Those of 256 are not: the code of both steps together is larger than an instruction
 * cache. Nor are bytes with a sign where they become 16 bits each: that takes fewer instructions than storing them does.
 */
function emitFours({ module, target, name, format, layout, store }: Emission): void {
  const params = { ...signature, yBytes: "i32", rooms: "i32", tiles: "i32" } as const;
  const blockBytes = tileBytes(layout, format.elements, 4);
  const sumBytes = 4 * rowBytes;
  const isKept = format.elements === 32 && (format.largestCode !== undefined || layout.lanes !== "wide");
  const mostAtOnce = isKept ? tilesAtOnce : 1;
  module.function(`groups4.${name}`, params, (f, { w, a, y, rows, blocks, yBytes, rooms, tiles }) => {
    const room = f.let(i32.add(rooms, i32.mul(threadIndex, groupRoomBytes)));
    const allSums = f.let(i32.add(room, places.sums));
    const bytesPerTile = f.let(i32.mul(blocks, blockBytes));
    const [group, first, left, address, at, tile, rest, count, from, to] = f.locals("i32", 10) as readonly Local<"i32">[];
    const sums = roomSlots(f, at!, 0);
    f.while(rows, () => {
      f.set(from!, a);
      f.set(to!, y);
      f.set(rest!, tiles);
      f.while(rest!, () => {
        f.set(count!, i32.select(i32.ltU(rest!, mostAtOnce), rest!, mostAtOnce));
        f.set(at!, allSums);
        f.set(tile!, count!);
        f.while(tile!, () => {
          for (let offset = 0; offset < sumBytes; offset += 16) f.store(at!, v128.zero(), offset);
          f.advance(at!, sumBytes);
          f.advance(tile!, -1);
        });
        f.set(group!, w);
        f.set(first!, from!);
        f.set(left!, blocks);
        f.while(left!, () => {
          const context = blockAt(f, target, format, group!);
          const weights = isKept
            ? keepWeights(context, format, layout.lanes, room, places.weights)
            : blockWeights(context, format, layout.lanes);
          f.set(address!, first!);
          f.set(at!, allSums);
          f.set(tile!, count!);
          f.while(tile!, () => {
            multiplyBlock(context, format, weights, { layout, address: address!, count: 4 }, sums, roomSlots(f, room, places.totals));
            f.advance(address!, bytesPerTile);
            f.advance(at!, sumBytes);
            f.advance(tile!, -1);
          });
          f.advance(group!, groupRows * format.bytes);
          f.advance(first!, blockBytes);
          f.advance(left!, -1);
        });
        f.call(store, { y: to!, room: allSums, yBytes, tokens: i32.shl(count!, 2), rows });
        f.advance(to!, i32.mul(yBytes, i32.shl(count!, 2)));
        f.advance(from!, i32.mul(bytesPerTile, count!));
        f.set(rest!, i32.sub(rest!, count!));
      });
      f.set(w, group!);
      nextGroup(f, y, rows);
    });
  });
}

/** Goes on to the next group of rows in `y`. */
function nextGroup(f: FunctionBuilder, y: Local<"i32">, rows: Local<"i32">): void {
  f.advance(y, rowBytes);
  f.set(rows, i32.select(i32.gtU(rows, groupRows), i32.sub(rows, groupRows), 0));
}

/** Sums in memory: eight rows' of one token after the other. */
function roomSlots(f: FunctionBuilder, room: Local<"i32">, from: number): Slots {
  return (token, half) => memorySlot(f, room, from + rowBytes * token + 16 * half);
}

function blockAt(f: FunctionBuilder, target: Target, { fields }: GroupFormat, group: Local<"i32">): BlockContext {
  return { f, target, block: new InterleavedBlock(f, group, fields, loadFiniteHalves) };
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

/** Adds the products of one block of eight rows with one block of each token to `sums`. */
function multiplyBlock(
  context: BlockContext,
  format: GroupFormat,
  weights: BlockWeights,
  tokens: Tokens,
  sums: Slots,
  totals: Slots | undefined,
): void {
  // Halves together load activations once. Where those are split, four tokens have twice the sums.
  const passes: readonly (readonly Half[])[] = tokens.count * (tokens.layout.lanes === "split" ? 2 : 1) > 4 ? [[0], [1]] : [halves];
  for (const some of passes) multiplyHalves(context, format, weights, tokens, some, sums, totals);
}

function multiplyHalves(
  { f, target }: BlockContext,
  format: GroupFormat,
  weights: BlockWeights,
  tokens: Tokens,
  some: readonly Half[],
  sums: Slots,
  totals: Slots | undefined,
): void {
  const { runElements, biasBits = 0, hasRunScales = false } = format;
  const hasScales = format.scales !== undefined;
  const products = new Products(f, target, { format, tokens, halves: some, hasScales, totals });
  const { layout } = tokens;
  const forEach = (visit: (token: number, half: Half) => void): void => {
    for (let token = 0; token < tokens.count; token++) for (const half of some) visit(token, half);
  };
  /** `sums += total * d * (scale of the activations)` */
  const addScaled = (those: readonly Half[], total: (token: number, half: Half) => V128, d: (half: Half) => V128): void => {
    const scales = those.map((half) => ({ half, scale: f.let(d(half)) }));
    for (let token = 0; token < tokens.count; token++) {
      const x = f.let(loadWord(tokens, token, layout.d));
      for (const { half, scale } of scales) {
        const sum = sums(token, half);
        sum.set(madd(target, f32x4.fromI32x4(total(token, half)), f32x4.mul(scale, x), sum.value));
      }
    }
  };
  const total = (token: number, half: Half): V128 => products.total(token, half);
  /** The sums of a token's activations per run, times 16 bits per run. */
  const sumsTimes = (pairs: readonly V128[], token: number): V128 => {
    const at = runElements === 16 ? layout.sums16 : layout.sums32;
    return pairs
      .map((pair, index) => i32x4.dotI16x8(pair, loadWord(tokens, token, at + 4 * index)))
      .reduce((sum, product) => i32x4.add(sum, product));
  };
  const pairsOf = (pairs: (half: Half) => readonly V128[]): ReadonlyMap<Half, readonly V128[]> =>
    new Map(some.map((half) => [half, pairs(half).map((pair) => f.let(pair))]));

  const isBiased = biasBits > 0 && !products.startsBiased;
  if (isBiased && !hasScales) {
    for (let token = 0; token < tokens.count; token++) {
      const start = f.let(i32x4.shl(loadWord(tokens, token, layout.minusSum), biasBits));
      for (const half of some) products.addToTotal(token, half, start);
    }
  }
  for (const [run, units] of unitsOf(format).entries()) {
    for (const unit of units) products.add(unit, weights);
    for (const half of some) {
      products.endRun(half, weights.factor(half, run));
      if (!hasRunScales) continue;
      addScaled([half], total, (h) => weights.d(h, run));
      products.clear(half);
    }
  }
  if (hasRunScales) return;
  if (isBiased && hasScales) {
    // What unsigned codes add under integer scales: 2^biasBits times the sums of the activations, scaled.
    const pairs = pairsOf(weights.scalePairs);
    forEach((token, half) => products.addToTotal(token, half, i32x4.neg(i32x4.shl(sumsTimes(pairs.get(half)!, token), biasBits))));
  }
  addScaled(some, total, (half) => weights.d(half, 0));
  if (format.m !== undefined) {
    const m = new Map(some.map((half) => [half, f.let(weights.m(half))]));
    forEach((token, half) => {
      const sum = sums(token, half);
      sum.set(madd(target, m.get(half)!, loadWord(tokens, token, layout.sum), sum.value));
    });
  }
  if (format.minima !== undefined) {
    const pairs = pairsOf(weights.minimumPairs);
    addScaled(some, (token, half) => sumsTimes(pairs.get(half)!, token), weights.minusDmin);
  }
}
