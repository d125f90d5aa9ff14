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
import { allQuads, groupRows, halves, InterleavedBlock, type Pair, type Quad } from "../formats/block.ts";
import type { BlockContext, GroupFormat } from "../formats/format.ts";
import { loadFiniteHalves } from "../formats/half.ts";
import { type FormatName, formatNames, formatOf } from "../formats/index.ts";
import { loadWord, localSlot, memorySlot, Products, type Slots, type Tokens } from "../formats/products.ts";
import { type BlockWeights, blockWeights, keepWeights, keptBytes, unitsOf } from "../formats/weights.ts";
import { storeLanes } from "../kernels/shared/loops.ts";
import { madd, type Target } from "../target.ts";

/**
 * Whether blocks are unpacked once for several tiles of tokens: those of 32. Those of 256 are not, for the code of both steps together is larger
 * than an instruction cache.
 */
export function isKept({ elements }: GroupFormat): boolean {
  return elements === 32;
}

const rowBytes = 4 * groupRows;

/** Pairs of tokens for which the weights of a block are unpacked once, and bytes of their sums of one group. */
const tilesAtOnce = 32;
const groupSumBytes = tilesAtOnce * 2 * rowBytes;

/** What each thread has in its room: totals of a tile, a block's unpacked weights, sums of tiles. */
const places = { totals: 0, weights: 4 * rowBytes, sums: 4 * rowBytes + keptBytes } as const;

/**
 * Groups that are multiplied with a single token at once, as far apart as can be, of formats that have a byte or more per weight: reading these
 * takes longer than multiplying, and memory is read faster in several streams.
 */
const mostStreams = 2;

/** Bytes of a thread's room. */
export const groupRoomBytes: number = places.sums + 2 * groupSumBytes;

const signature = { w: "i32", a: "i32", y: "i32", rows: "i32", blocks: "i32" } as const;

/**
 * Emits products of groups of eight interleaved rows with activations that were rounded to 8 bits, `y[token][row]`, `rows` of them. Each
 * output adds its blocks in order, whatever the number of tokens. Each thread has a room of {@link groupRoomBytes}.
 *
 * `groups1.<format>(w, a, y, rows, blocks)`: with a single token's.
 *
 * `groups2.<format>(w, a, y, rows, blocks, yBytes, rooms, tiles)`, `groups3.<format>(…)`, `groups4.<format>(…)`: with those of tiles of two, of
 * three, of four; `pairs.<format>(…)`: of two, for many, where {@link isKept}.
 */
export function emitGroups(module: ModuleBuilder, target: Target): void {
  const store = emitStore(module);
  for (const name of formatNames) {
    const format = formatOf(name);
    const layout = activationLayout(format.rounding, lanesFor(format, target));
    const emission: Emission = { module, target, name, format, layout, store };
    emitSingle(emission);
    for (const count of [2, 3, 4]) emitTiles(emission, count);
    if (isKept(format)) emitPairs(emission);
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
          multiplyBlock(context, format, weights, { layout, address, count: 1 }, halves, (_, quad) => slots[quad]!, undefined);
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

const tilesSignature = { ...signature, yBytes: "i32", rooms: "i32", tiles: "i32" } as const;

/** Tiles of `count` tokens, one after the other: sums of more for both halves of a group do not fit into registers. */
function emitTiles({ module, target, name, format, layout, store }: Emission, count: number): void {
  module.function(`groups${count}.${name}`, tilesSignature, (f, { w, a, y, rows, blocks, yBytes, rooms, tiles }) => {
    const room = f.let(i32.add(rooms, i32.mul(threadIndex, groupRoomBytes)));
    const at = f.let(i32.add(room, places.sums));
    const sums = roomSlots(f, at, 0);
    const [address, left, group, tile, to] = f.locals("i32", 5) as readonly Local<"i32">[];
    f.while(rows, () => {
      f.set(address!, a);
      f.set(tile!, tiles);
      f.set(to!, y);
      f.while(tile!, () => {
        for (let offset = 0; offset < count * rowBytes; offset += 16) f.store(at, v128.zero(), offset);
        f.set(group!, w);
        f.set(left!, blocks);
        f.while(left!, () => {
          const context = blockAt(f, target, format, group!);
          const weights = blockWeights(context, format, layout.lanes);
          multiplyBlock(context, format, weights, { layout, address: address!, count }, halves, sums, roomSlots(f, room, places.totals));
          f.advance(group!, groupRows * format.bytes);
          f.advance(address!, tileBytes(layout, format.elements, count));
          f.advance(left!, -1);
        });
        f.call(store, { y: to!, room: at, yBytes, tokens: i32.const(count), rows });
        f.advance(to!, i32.mul(yBytes, count));
        f.advance(tile!, -1);
      });
      f.set(w, group!);
      nextGroup(f, y, rows);
    });
  });
}

/**
 * Tiles of two tokens and two groups, which take fewer loads than four and one where weights need not be unpacked: those of a block are unpacked
 * once for several tiles. A last group alone is multiplied twice.
 */
function emitPairs({ module, target, name, format, layout, store }: Emission): void {
  const blockBytes = tileBytes(layout, format.elements, 2);
  const sumBytes = 2 * rowBytes;
  module.function(`pairs.${name}`, tilesSignature, (f, { w, a, y, rows, blocks, yBytes, rooms, tiles }) => {
    const room = f.let(i32.add(rooms, i32.mul(threadIndex, groupRoomBytes)));
    const [kept, allSums] = [f.let(i32.add(room, places.weights)), f.let(i32.add(room, places.sums))];
    const bytesPerTile = f.let(i32.mul(blocks, blockBytes));
    const groupBytes = f.let(i32.mul(blocks, groupRows * format.bytes));
    const [first, second, from, left, address, at, tile, rest, count, to, next] = f.locals("i32", 11) as readonly Local<"i32">[];
    const sums: Slots = (token, quad) => memorySlot(f, at!, (quad >> 1) * groupSumBytes + rowBytes * token + 16 * (quad & 1));
    f.while(rows, () => {
      f.set(from!, a);
      f.set(to!, y);
      f.set(rest!, tiles);
      f.while(rest!, () => {
        f.set(count!, i32.select(i32.ltU(rest!, tilesAtOnce), rest!, tilesAtOnce));
        f.set(at!, allSums);
        f.set(tile!, count!);
        f.while(tile!, () => {
          for (const token of [0, 1]) for (const quad of allQuads) sums(token, quad).set(v128.zero());
          f.advance(at!, sumBytes);
          f.advance(tile!, -1);
        });
        f.set(first!, w);
        f.set(second!, i32.add(w, i32.select(i32.gtU(rows, groupRows), groupBytes, 0)));
        f.set(next!, from!);
        f.set(left!, blocks);
        f.while(left!, () => {
          const contexts = [blockAt(f, target, format, first!), blockAt(f, target, format, second!)] as const;
          const weights = keepWeights(contexts, format, layout.lanes, kept);
          f.set(address!, next!);
          f.set(at!, allSums);
          f.set(tile!, count!);
          f.while(tile!, () => {
            multiplyBlock(contexts[0], format, weights, { layout, address: address!, count: 2 }, allQuads, sums, undefined);
            f.advance(address!, bytesPerTile);
            f.advance(at!, sumBytes);
            f.advance(tile!, -1);
          });
          f.advance(first!, groupRows * format.bytes);
          f.advance(second!, groupRows * format.bytes);
          f.advance(next!, blockBytes);
          f.advance(left!, -1);
        });
        const tokens = f.let(i32.shl(count!, 1));
        f.call(store, { y: to!, room: allSums, yBytes, tokens, rows });
        f.if(i32.gtU(rows, groupRows), () => {
          const [y, room] = [i32.add(to!, rowBytes), i32.add(allSums, groupSumBytes)];
          f.call(store, { y, room, yBytes, tokens, rows: i32.sub(rows, groupRows) });
        });
        f.advance(to!, i32.mul(yBytes, tokens));
        f.advance(from!, i32.mul(bytesPerTile, count!));
        f.set(rest!, i32.sub(rest!, count!));
      });
      f.set(w, second!);
      nextGroup(f, y, rows);
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
  return (token, quad) => memorySlot(f, room, from + rowBytes * token + 16 * quad);
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

/** Adds the products of one block of some rows with one block of each token to `sums`. */
function multiplyBlock(
  context: BlockContext,
  format: GroupFormat,
  weights: BlockWeights,
  tokens: Tokens,
  quads: readonly Quad[],
  sums: Slots,
  totals: Slots | undefined,
): void {
  // All rows together load activations once. Where those are split there are twice the sums, and eight fit into registers.
  const atOnce = tokens.layout.lanes === "split" ? Math.floor(4 / tokens.count) : quads.length;
  for (let from = 0; from < quads.length; from += atOnce) {
    multiplyQuads(context, format, weights, tokens, quads.slice(from, from + atOnce), sums, totals);
  }
}

function multiplyQuads(
  { f, target }: BlockContext,
  format: GroupFormat,
  weights: BlockWeights,
  tokens: Tokens,
  some: readonly Quad[],
  sums: Slots,
  totals: Slots | undefined,
): void {
  const { runElements, biasBits = 0, hasRunScales = false } = format;
  const hasScales = format.scales !== undefined;
  const products = new Products(f, target, { format, tokens, quads: some, hasScales, totals });
  const { layout } = tokens;
  const forEach = (visit: (token: number, quad: Quad) => void): void => {
    for (let token = 0; token < tokens.count; token++) for (const quad of some) visit(token, quad);
  };
  /** `sums += total * d * (scale of the activations)`, and what `then` makes of these. */
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
    // What there is less of stays in registers.
    if (those.length > tokens.count) {
      const xs = Array.from({ length: tokens.count }, (_, token) => xOf(token));
      for (const quad of those) {
        const scale = f.let(d(quad));
        xs.forEach((x, token) => void add(token, quad, x, scale));
      }
    } else {
      const scales = those.map((quad) => f.let(d(quad)));
      for (let token = 0; token < tokens.count; token++) {
        const x = xOf(token);
        those.forEach((quad, i) => void add(token, quad, x, scales[i]!));
      }
    }
  };
  const total = (token: number, quad: Quad): V128 => products.total(token, quad);
  /** The sums of a token's activations per run, times 16 bits per run. */
  const sumsTimes = (pairs: readonly V128[], token: number): V128 => {
    const at = runElements === 16 ? layout.sums16 : layout.sums32;
    return pairs
      .map((pair, index) => i32x4.dotI16x8(pair, loadWord(tokens, token, at + 4 * index)))
      .reduce((sum, product) => i32x4.add(sum, product));
  };
  const pairsOf = (pairs: (quad: Quad) => readonly V128[]): ReadonlyMap<Quad, readonly V128[]> =>
    new Map(some.map((quad) => [quad, pairs(quad).map((pair) => f.let(pair))]));

  const isBiased = biasBits > 0 && !products.startsBiased;
  if (isBiased && !hasScales) {
    for (let token = 0; token < tokens.count; token++) {
      const start = f.let(i32x4.shl(loadWord(tokens, token, layout.minusSum), biasBits));
      for (const quad of some) products.addToTotal(token, quad, start);
    }
  }
  for (const [run, units] of unitsOf(format).entries()) {
    for (const unit of units) products.add(unit, weights);
    for (const quad of some) {
      products.endRun(quad, weights.factor(quad, run));
      if (!hasRunScales) continue;
      addScaled([quad], total, (h) => weights.d(h, run));
      products.clear(quad);
    }
  }
  if (hasRunScales) return;
  if (isBiased && hasScales) {
    // What unsigned codes add under integer scales: 2^biasBits times the sums of the activations, scaled.
    const pairs = pairsOf(weights.scalePairs);
    forEach((token, quad) => products.addToTotal(token, quad, i32x4.neg(i32x4.shl(sumsTimes(pairs.get(quad)!, token), biasBits))));
  }
  const addM = (sum: V128, token: number, quad: Quad): V128 => madd(target, weights.m(quad), loadWord(tokens, token, layout.sum), sum);
  addScaled(some, total, (quad) => weights.d(quad, 0), format.m && addM);
  if (format.minima !== undefined) {
    const pairs = pairsOf(weights.minimumPairs);
    addScaled(some, (token, quad) => sumsTimes(pairs.get(quad)!, token), weights.minusDmin);
  }
}
