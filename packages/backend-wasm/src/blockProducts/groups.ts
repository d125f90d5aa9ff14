import { elementAt, lastOf } from "@centella/core/backend";
import { type Expr, type FunctionBuilder, type I32, i32, type Local, type ModuleBuilder, threadIndex, v128 } from "../emit/index.ts";
import { groupRows, halves, type Pair } from "../formats/block.ts";
import type { GroupFormat } from "../formats/format.ts";
import { formatNames, formatOf } from "../formats/index.ts";
import { zip } from "../kernels/shared/zip.ts";
import type { Target } from "../target.ts";
import { type ActivationLayout, activationLayout, lanesFor, tileBytes } from "./activations.ts";
import { blockAt, multiplyBlock } from "./blockProduct.ts";
import { dotFormat } from "./dotFormat.ts";
import {
  type Emission,
  emitStore,
  groupScratchBytes,
  places,
  rowBytes,
  singleSignature,
  storeRows,
  tilesSignature,
} from "./groupEmission.ts";
import { emitPairs } from "./pairs.ts";
import { localSlot, memorySlot, type Slots } from "./products.ts";
import { blockWeights } from "./weights.ts";

/**
 * Emits products of `rows` interleaved rows with activations that were rounded to 8 bits, `y[token][row]`. Each output
 * adds its blocks in order, whatever the number of tokens. Each thread has {@link groupScratchBytes} of scratch.
 *
 * `groups1.<format>(w, a, y, rows, blocks)` takes a single token.
 *
 * `groups2.<format>(w, a, y, rows, blocks, yBytes, threadScratch, tiles)`, `groups3.<format>(…)` and
 * `groups4.<format>(…)` take tiles of two, three and four tokens; `pairs.<format>(…)` takes many tiles of two.
 */
export function emitGroups(module: ModuleBuilder, target: Target): void {
  const store = emitStore(module);
  for (const name of formatNames) {
    const format = dotFormat(formatOf(name), target);
    const layoutOf = (tokens: number): ActivationLayout => activationLayout(format.rounding, lanesFor(format, target, tokens));
    const emission: Emission = { module, target, name, format, layout: layoutOf(2), store };
    emitSingle({ ...emission, layout: layoutOf(1) });
    for (const count of [2, 3, 4]) emitTiles(emission, count);
    emitPairs(emission);
  }
}

function emitSingle({ module, target, name, format, layout }: Emission): void {
  module.function(`groups1.${name}`, singleSignature, (f, { w, a, y, rows, blocks }) => {
    const [address, left] = f.locals("i32", 2);
    const groupBytes = f.let(i32.mul(blocks, groupRows * format.bytes));
    // Only measured where products are added by pairs.
    const last = target.dots === "pairs" && f.let(lastVector(w, rows, groupBytes));
    /** Multiplies a group at each pointer and advances the pointers to the next groups. */
    const groups = (streams: readonly (readonly [pointer: Local<"i32">, sums: Pair])[]): void => {
      f.set(address, a);
      for (const [, sums] of streams) for (const sum of sums) f.set(sum, v128.zero());
      f.set(left, blocks);
      f.while(left, () => {
        for (const [pointer, sums] of streams) {
          const context = blockAt(f, target, format, pointer);
          const weights = blockWeights(context, format, layout.lanes);
          const slots = sums.map((sum) => localSlot(f, sum));
          const tokens = { layout, address, count: 1 };
          multiplyBlock(f, target, { format, weights, tokens, quads: halves, sums: (_, quad) => elementAt(slots, quad) });
          if (last) readAhead(f, format, { pointer, left, last });
          f.advance(pointer, groupRows * format.bytes);
        }
        f.advance(address, tileBytes(layout, format.elements, 1));
        f.advance(left, -1);
      });
    };
    const single: Pair = f.locals("v128", 2);
    // Where one instruction adds four products, memory is read faster in two streams, far apart. Slower products take up to 1.2 times as
    // long that way, and so do blocks of 256, whose unrolled code is long.
    if (format.elements === 32 && (target.dots === "quads" || target.dots === "mixedQuads")) {
      const sums: readonly Pair[] = [single, f.locals("v128", 2)];
      const streams = sums.length;
      const [pointers, results] = [f.locals("i32", streams), f.locals("i32", streams)];
      const count = f.let(i32.divU(rows, streams * groupRows));
      pointers.forEach((pointer, i) => void f.set(pointer, i32.add(w, i32.mul(i32.mul(count, i), groupBytes))));
      results.forEach((result, i) => void f.set(result, i32.add(y, i32.mul(count, rowBytes * i))));
      f.advance(rows, i32.mul(count, -streams * groupRows));
      f.while(count, () => {
        groups(zip(pointers, sums));
        for (const [result, own] of zip(results, sums)) {
          own.forEach((sum, half) => void f.store(result, sum, 16 * half));
          f.advance(result, rowBytes);
        }
        f.advance(count, -1);
      });
      f.set(w, lastOf(pointers));
      f.set(y, lastOf(results));
    }
    f.while(rows, () => {
      groups([[w, single]]);
      storeRows(f, y, single, rows);
      nextGroup(f, y, rows);
    });
  });
}

/** Address of the last vector of whole groups. */
function lastVector(w: Local<"i32">, rows: Local<"i32">, groupBytes: I32): Expr<"i32"> {
  const groups = i32.divU(i32.add(rows, groupRows - 1), groupRows);
  return i32.sub(i32.add(w, i32.mul(groups, groupBytes)), 16);
}

/** Distance of the weights that are read ahead, and bytes of weights per read. */
const [aheadBytes, bytesPerRead] = [3456, 1152];

interface AheadOptions {
  readonly pointer: Local<"i32">;
  /** Number of blocks of the group that are left. */
  readonly left: Local<"i32">;
  /** The last address to read. */
  readonly last: Local<"i32">;
}

/**
 * Reads a vector of weights some blocks ahead, so that the processor fetches the next page of memory while it multiplies. One read per KB
 * suffices, and more of them take longer.
 */
function readAhead(f: FunctionBuilder, { bytes }: GroupFormat, { pointer, left, last }: AheadOptions): void {
  const read = (): void => {
    const ahead = f.let(i32.add(pointer, aheadBytes));
    f.drop(v128.load(i32.select(i32.ltU(ahead, last), ahead, last)));
  };
  const blocks = 2 ** Math.floor(Math.log2(bytesPerRead / (groupRows * bytes)));
  if (blocks > 1) f.if(i32.eqz(i32.and(left, blocks - 1)), read);
  else read();
}

/**
 * Processes tiles of `count` tokens one after another, with sums in memory: those of both halves do not fit into
 * registers.
 */
function emitTiles({ module, target, name, format, layout, store }: Emission, count: number): void {
  module.function(`groups${count}.${name}`, tilesSignature, (f, { w, a, y, rows, blocks, yBytes, threadScratch, tiles }) => {
    const scratch = f.let(i32.add(threadScratch, i32.mul(threadIndex, groupScratchBytes)));
    const at = f.let(i32.add(scratch, places.sums));
    const [sums, totals] = [memorySlots(f, at, 0), memorySlots(f, scratch, places.totals)];
    const [address, left, group, tile, to] = f.locals("i32", 5);
    f.while(rows, () => {
      f.set(address, a);
      f.set(tile, tiles);
      f.set(to, y);
      f.while(tile, () => {
        for (let offset = 0; offset < count * rowBytes; offset += 16) f.store(at, v128.zero(), offset);
        f.set(group, w);
        f.set(left, blocks);
        f.while(left, () => {
          const context = blockAt(f, target, format, group);
          const weights = blockWeights(context, format, layout.lanes);
          multiplyBlock(f, target, { format, weights, tokens: { layout, address, count }, quads: halves, sums, totals });
          f.advance(group, groupRows * format.bytes);
          f.advance(address, tileBytes(layout, format.elements, count));
          f.advance(left, -1);
        });
        f.call(store, { y: to, scratch: at, yBytes, tokens: i32.const(count), rows });
        f.advance(to, i32.mul(yBytes, count));
        f.advance(tile, -1);
      });
      f.set(w, group);
      nextGroup(f, y, rows);
    });
  });
}

/** Advances to the next group of rows in `y`. */
function nextGroup(f: FunctionBuilder, y: Local<"i32">, rows: Local<"i32">): void {
  f.advance(y, rowBytes);
  f.countDown(rows, groupRows);
}

/** Sums in memory, ordered by token, eight rows each. */
function memorySlots(f: FunctionBuilder, scratch: Local<"i32">, from: number): Slots {
  return (token, quad) => memorySlot(f, scratch, from + rowBytes * token + 16 * quad);
}
