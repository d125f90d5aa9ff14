import { lastOf, mapTuple } from "@centella/core/backend";
import {
  type Expr,
  type FunctionBuilder,
  type FunctionRef,
  f32x4,
  i32,
  type Local,
  type ModuleBuilder,
  type V128,
  v128,
} from "../../emit/index.ts";
import { laneSums } from "../../matmul/lanes.ts";
import { madd, type Target } from "../../target.ts";
import { zip } from "../shared/zip.ts";
import { type Pointer, part } from "./parts.ts";

/**
 * Positions per block. Blocks start at multiples of it regardless of threads, so results depend only on the visible
 * positions.
 */
export const keyBlock = 256;

/** Positions whose keys or values are gathered together. With 64 or 128 elements they stay in the first-level cache. */
export const tileKeys = 64;

/**
 * Bytes between the scores of two rows. Not a power of two: such rows would evict each other from the first-level
 * cache.
 */
export const scoreBytes: number = 4 * keyBlock + 64;

/** Numbers of queries of a tile. With the most, twelve sums and three operands use all registers. */
const tileRows = [1, 2, 3, 4, 5, 6] as const;
const maxRows = tileRows.length;

/** Keys, or vectors of values, that are combined with a tile's queries at once. */
function columnsOf(rows: number): 2 | 4 {
  return rows > 2 ? 2 : 4;
}

/**
 * Positions of a block that a query sees, relative to the first computed one: first, end, and ALiBi's distance at the
 * first.
 */
export const range = { from: 0, end: 4, distance: 8 } as const;

/** Bytes of a {@link range}. */
export const rangeBytes = 16;

/**
 * Calls `body` with the first query and the number of queries of each tile, from query `start` on. The first tile has
 * `lead` queries, unless that is 0. Seven queries are split into five and two, eight into four and four.
 */
export function forEachTile(
  f: FunctionBuilder,
  count: Pointer,
  lead: Pointer,
  start: Pointer,
  body: (row: Pointer, rows: Pointer) => void,
): void {
  const [row, rows, left] = f.locals("i32", 3);
  f.set(row, start);
  f.set(left, i32.sub(count, start));
  f.while(left, () => {
    f.set(rows, i32.select(i32.ltU(left, maxRows), left, maxRows));
    f.set(rows, i32.select(i32.eq(left, 7), 5, i32.select(i32.eq(left, 8), 4, rows)));
    f.if(i32.ltU(row, lead), () => f.set(rows, lead));
    body(row, rows);
    f.set(row, i32.add(row, rows));
    f.set(left, i32.sub(left, rows));
  });
}

const scoresSignature = {
  rows: "i32",
  ranges: "i32",
  q: "i32",
  keys: "i32",
  keyBytes: "i32",
  scores: "i32",
  unit: "i32",
  begin: "i32",
  end: "i32",
} as const;

/**
 * Emits `attention.scores`: dot products of `rows` queries, interleaved by vectors at `q`, with the keys of positions
 * `begin` to `end`, times the power of two at `unit`. Positions that no query sees are skipped. Positions that only some queries see, and up to three
 * after the last, get unused scores. A product is added in four partial sums of every fourth element, whatever the
 * number of queries.
 */
export function emitScores(module: ModuleBuilder, target: Target): FunctionRef<typeof scoresSignature, undefined> {
  const signature = { q: "i32", keys: "i32", keyBytes: "i32", scores: "i32", unit: "i32", count: "i32" } as const;
  const kernels = mapTuple(tileRows, (rows) => {
    const columns = columnsOf(rows);
    return module.function(`attention.scores.${rows}`, signature, (f, p) => {
      const keys = f.locals("i32", columns);
      const sums = Array.from({ length: rows }, () => f.locals("v128", columns));
      const vectors = f.locals("v128", columns);
      const x = f.local("v128");
      const [at, left] = f.locals("i32", 2);
      f.set(keys[0], p.keys);
      f.while(i32.gtS(p.count, 0), () => {
        for (const [before, key] of zip(keys.slice(0, -1), keys.slice(1))) f.set(key, i32.add(before, p.keyBytes));
        for (const sum of sums.flat()) f.set(sum, v128.zero());
        f.set(at, p.q);
        f.set(left, p.keyBytes);
        f.loop((again) => {
          for (let step = 0; step < 4; step++) {
            for (const [vector, key] of zip(vectors, keys)) f.set(vector, v128.load(key, 16 * step));
            sums.forEach((row, r) => {
              f.set(x, v128.load(at, 16 * (rows * step + r)));
              for (const [sum, vector] of zip(row, vectors)) f.set(sum, madd(target, vector, x, sum));
            });
          }
          f.advance(at, 64 * rows);
          for (const key of keys) f.advance(key, 64);
          f.advance(left, -64);
          f.brIf(again, left);
        });
        storeScores(f, p.scores, sums, p.unit);
        // The next key follows the last one.
        f.set(keys[0], lastOf(keys));
        f.advance(p.scores, 4 * columns);
        f.advance(p.count, -columns);
      });
    });
  });
  return module.function("attention.scores", scoresSignature, (f, { rows, ranges, q, keys, keyBytes, scores, unit, begin, end }) => {
    const { leastFrom: from, mostEnd: to } = extremes(f, rows, ranges, begin, end);
    f.set(keys, i32.add(keys, i32.mul(i32.sub(from, begin), keyBytes)));
    f.set(scores, i32.add(scores, i32.shl(from, 2)));
    const count = f.let(i32.sub(to, from));
    kernels.forEach((kernel, i) => void f.if(i32.eq(rows, i + 1), () => f.call(kernel, { q, keys, keyBytes, scores, unit, count })));
  });
}

/** Stores the scores of each row, times the power of two at `unit`: four at once, or two each of two rows. */
export function storeScores(f: FunctionBuilder, scores: Pointer, sums: readonly (readonly Local<"v128">[])[], unit: Pointer): void {
  const scaled = (four: readonly [V128, V128, V128, V128]): Local<"v128"> => f.let(f32x4.mul(laneSums(f, four), v128.load32Splat(unit)));
  const rows = sums.entries();
  for (const [row, [a, b, c, d]] of rows) {
    if (a === undefined || b === undefined) throw new RangeError("storeScores: expected two or four sums per row");
    if (c !== undefined && d !== undefined) f.store(scores, scaled([a, b, c, d]), scoreBytes * row);
    else {
      const [, [e = a, g = b] = []] = rows.next().value ?? [];
      const four = scaled([a, b, e, g]);
      f.store64Lane(scores, four, 0, scoreBytes * row);
      if (e !== a) f.store64Lane(scores, four, 1, scoreBytes * (row + 1));
    }
  }
}

interface Extremes {
  readonly leastFrom: Pointer;
  readonly mostFrom: Pointer;
  readonly leastEnd: Pointer;
  readonly mostEnd: Pointer;
}

/** Minimum and maximum of the ranges of `rows` queries, clipped to `begin` and `end`. */
function extremes(f: FunctionBuilder, rows: Pointer, ranges: Pointer, begin: Pointer, end: Pointer): Extremes {
  const [from, to] = f.locals("i32", 2);
  const [leastFrom, mostFrom, leastEnd, mostEnd] = [f.let(end), f.let(begin), f.let(end), f.let(begin)];
  const [at, left] = [f.let(ranges), f.let(rows)];
  f.while(left, () => {
    f.set(from, within(f, i32.load(at, range.from), begin, end));
    f.set(to, within(f, i32.load(at, range.end), begin, end));
    f.set(leastFrom, least(from, leastFrom));
    f.set(mostFrom, most(from, mostFrom));
    f.set(leastEnd, least(to, leastEnd));
    f.set(mostEnd, most(to, mostEnd));
    f.advance(at, rangeBytes);
    f.advance(left, -1);
  });
  return { leastFrom, mostFrom, leastEnd, mostEnd };
}

const least = (a: Pointer, b: Pointer): Expr<"i32"> => i32.select(i32.ltS(a, b), a, b);
const most = (a: Pointer, b: Pointer): Expr<"i32"> => i32.select(i32.gtS(a, b), a, b);

function within(f: FunctionBuilder, value: Expr<"i32">, begin: Pointer, end: Pointer): Pointer {
  const bounded = f.let(most(f.let(value), begin));
  return f.let(least(bounded, end));
}

const valuesSignature = {
  rows: "i32",
  ranges: "i32",
  weights: "i32",
  values: "i32",
  valueBytes: "i32",
  to: "i32",
  size: "i32",
  vectors: "i32",
  begin: "i32",
  end: "i32",
} as const;

/**
 * Emits `attention.values`: adds the weighted values of positions `begin` to `end` to `rows` {@link part}s of `size`
 * bytes at `to`. `values` is the address of position `begin`. Every sum is in order of positions, whatever the tiles
 * and the number of queries, and skips positions that its query does not see.
 */
export function emitValues(module: ModuleBuilder, target: Target): FunctionRef<typeof valuesSignature, undefined> {
  const signature = {
    weights: "i32",
    values: "i32",
    valueBytes: "i32",
    to: "i32",
    size: "i32",
    vectors: "i32",
    count: "i32",
  } as const;
  const kernels = mapTuple(tileRows, (rows) => {
    const columns = columnsOf(rows);
    return module.function(`attention.values.${rows}`, signature, (f, p) => {
      const [at, to, left] = f.locals("i32", 3);
      const sums = Array.from({ length: rows }, () => f.locals("v128", columns));
      const vectors = f.locals("v128", columns);
      const x = f.local("v128");
      const forEachRow = (body: (row: readonly Local<"v128">[]) => void): void => {
        f.set(to, p.to);
        for (const row of sums) {
          body(row);
          f.set(to, i32.add(to, p.size));
        }
      };
      const next = f.local("i32");
      f.while(i32.gtS(p.vectors, 0), () => {
        forEachRow((row) => row.forEach((sum, column) => void f.set(sum, v128.load(to, part.values + 16 * column))));
        f.set(next, i32.add(p.values, 16 * columns));
        f.set(at, p.weights);
        f.set(left, p.count);
        f.while(left, () => {
          vectors.forEach((vector, column) => void f.set(vector, v128.load(p.values, 16 * column)));
          sums.forEach((row, r) => {
            f.set(x, v128.load32Splat(at, scoreBytes * r));
            for (const [sum, vector] of zip(row, vectors)) f.set(sum, madd(target, vector, x, sum));
          });
          f.set(p.values, i32.add(p.values, p.valueBytes));
          f.advance(at, 4);
          f.advance(left, -1);
        });
        forEachRow((row) => row.forEach((sum, column) => void f.store(to, sum, part.values + 16 * column)));
        f.set(p.values, next);
        f.advance(p.to, 16 * columns);
        f.advance(p.vectors, -columns);
      });
    });
  });
  return module.function("attention.values", valuesSignature, (f, { rows, ranges, begin, end, weights, values, to, ...same }) => {
    const { leastFrom, mostFrom, leastEnd, mostEnd } = extremes(f, rows, ranges, begin, end);
    // If no position is visible to all queries, each has a range of its own.
    f.if(i32.geS(mostFrom, leastEnd), () => {
      f.set(mostFrom, end);
      f.set(leastEnd, end);
    });
    const add = (kernel: FunctionRef<typeof signature, undefined>, row: Pointer, from: Pointer, until: Pointer): void =>
      f.call(kernel, {
        ...same,
        weights: i32.add(i32.add(weights, i32.mul(row, scoreBytes)), i32.shl(from, 2)),
        values: i32.add(values, i32.mul(i32.sub(from, begin), same.valueBytes)),
        to: i32.add(to, i32.mul(row, same.size)),
        count: i32.sub(until, from),
      });
    const row = f.local("i32");
    /** Positions that single queries see before or after the common range. */
    const edges = (after: boolean): void =>
      f.for(row, 0, rows, 1, () => {
        const at = f.let(i32.add(ranges, i32.mul(row, rangeBytes)));
        const from = within(f, i32.load(at, range.from), after ? leastEnd : begin, end);
        const until = within(f, i32.load(at, range.end), begin, after ? end : mostFrom);
        f.if(i32.ltS(from, until), () => add(kernels[0], row, from, until));
      });
    const uneven = f.let(i32.or(i32.ne(leastFrom, mostFrom), i32.ne(leastEnd, mostEnd)));
    f.if(uneven, () => edges(false));
    f.setI32(row, 0);
    f.if(i32.ltS(mostFrom, leastEnd), () => {
      kernels.forEach((kernel, i) => void f.if(i32.eq(rows, i + 1), () => add(kernel, row, mostFrom, leastEnd)));
    });
    f.if(uneven, () => edges(true));
  });
}
