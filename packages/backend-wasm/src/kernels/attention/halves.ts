import { mapTuple } from "@centella/core/backend";
import {
  type FunctionBuilder,
  type FunctionRef,
  f32x4,
  i32,
  type Local,
  type ModuleBuilder,
  type Signature,
  v128,
} from "../../emit/index.ts";
import { madd, type Target } from "../../target.ts";
import { zip } from "../shared/zip.ts";
import { addressBytes, hasSpecial, largerHalves, splitHalves } from "./cacheRow.ts";
import { type Pointer, part } from "./parts.ts";
import { scoreBytes, storeScores } from "./tiles.ts";

/**
 * Queries of a tile that converts f16 elements itself. Up to four queries need no copies of the results. For more, the
 * first two store copies for the remaining ones: with four columns there are registers for that.
 */
const direct = [
  { rows: 1, stores: false },
  { rows: 2, stores: false },
  { rows: 3, stores: false },
  { rows: 4, stores: false },
  { rows: 2, stores: true },
] as const;

/** Number of queries of the first tile, if there are `count` in all. */
export function leadOf(count: Pointer): ReturnType<typeof i32.select> {
  return i32.select(i32.ltU(count, direct.length), count, 2);
}

/** Keys, or vectors of values, that are combined with a tile's queries at once. */
function columnsOf(rows: number): 2 | 4 {
  return rows > 2 ? 2 : 4;
}

const scoresSignature = {
  list: "i32",
  offset: "i32",
  q: "i32",
  keyBytes: "i32",
  tile: "i32",
  scores: "i32",
  unit: "i32",
  count: "i32",
} as const;

const valuesSignature = {
  list: "i32",
  offset: "i32",
  weights: "i32",
  tile: "i32",
  valueBytes: "i32",
  to: "i32",
  size: "i32",
  vectors: "i32",
  count: "i32",
} as const;

/** A function for `count` rows of halves in a list. Its result is not 0 if there is an infinity or a NaN among them. */
type HalfFunction<S extends Signature> = FunctionRef<S, "i32">;

/** Calls the function of the first tile, if there are `queries` in all. */
export function forLead<S extends Signature>(
  f: FunctionBuilder,
  functions: readonly HalfFunction<S>[],
  queries: Pointer,
  call: (fn: HalfFunction<S>) => void,
): void {
  functions.forEach((fn, i) => {
    f.if(i + 1 < functions.length ? i32.eq(queries, i + 1) : i32.geU(queries, functions.length), () => call(fn));
  });
}

/** Emits `attention.scores` of halves that are converted in registers. Sums have the same order. */
export function emitHalfScores(module: ModuleBuilder, target: Target): readonly HalfFunction<typeof scoresSignature>[] {
  return mapTuple(direct, ({ rows, stores }) => {
    const columns = columnsOf(rows);
    return module.value(`attention.scores.halves.${rows}${stores ? ".stored" : ""}`, scoresSignature, "i32", (f, p) => {
      const keys = f.locals("i32", columns);
      const tiles = f.locals("i32", stores ? columns : 1);
      const sums = Array.from({ length: rows }, () => f.locals("v128", columns));
      const largest = f.let(v128.zero());
      const [at, left] = f.locals("i32", 2);
      f.while(i32.gtS(p.count, 0), () => {
        keys.forEach((key, column) => void f.set(key, i32.add(i32.loadAddress(p.list, addressBytes * column), p.offset)));
        for (const tile of tiles) {
          f.set(tile, p.tile);
          f.set(p.tile, i32.add(p.tile, p.keyBytes));
        }
        for (const sum of sums.flat()) f.set(sum, v128.zero());
        f.set(at, p.q);
        f.set(left, p.keyBytes);
        f.loop((again) => {
          for (let vector = 0; vector < 4; vector++) {
            const parity = vector % 2 === 0 ? 0 : 1;
            const queries = sums.map((_, row) => () => f.let(v128.load(at, 16 * (rows * vector + row))));
            const converted = keys.map((key, column) => () => {
              const halves = f.let(v128.load(key, 8 * (vector - parity)));
              if (parity === 1) f.set(largest, largerHalves(largest, halves));
              const own = splitHalves(f, halves, parity);
              const tile = stores ? tiles[column] : undefined;
              if (tile !== undefined) f.store(tile, own, 16 * vector);
              return own;
            });
            combine(f, target, sums, queries, converted);
          }
          f.advance(at, 64 * rows);
          for (const key of keys) f.advance(key, 32);
          if (stores) for (const tile of tiles) f.advance(tile, 64);
          f.advance(left, -64);
          f.brIf(again, left);
        });
        storeScores(f, p.scores, sums, p.unit);
        f.advance(p.scores, 4 * columns);
        f.advance(p.list, addressBytes * columns);
        f.advance(p.count, -columns);
      });
      return hasSpecial(f, largest);
    });
  });
}

/** Emits `attention.values` of halves that are converted in registers. Sums have the same order. */
export function emitHalfValues(module: ModuleBuilder, target: Target): readonly HalfFunction<typeof valuesSignature>[] {
  return mapTuple(direct, ({ rows, stores }) => {
    const columns = columnsOf(rows);
    return module.value(`attention.values.halves.${rows}${stores ? ".stored" : ""}`, valuesSignature, "i32", (f, p) => {
      const sums = Array.from({ length: rows }, () => f.locals("v128", columns));
      const largest = f.let(v128.zero());
      const [at, row, tile, to, left, list] = f.locals("i32", 6);
      const forEachRow = (body: (row: readonly Local<"v128">[]) => void): void => {
        f.set(to, p.to);
        for (const own of sums) {
          body(own);
          f.set(to, i32.add(to, p.size));
        }
      };
      f.while(i32.gtS(p.vectors, 0), () => {
        forEachRow((own) => own.forEach((sum, column) => void f.set(sum, v128.load(to, part.values + 16 * column))));
        f.set(at, p.weights);
        f.set(tile, p.tile);
        f.set(list, p.list);
        f.set(left, p.count);
        f.while(left, () => {
          f.set(row, i32.add(i32.loadAddress(list), p.offset));
          const weights = sums.map((_, query) => () => f.let(v128.load32Splat(at, scoreBytes * query)));
          const halves = f.local("v128");
          const converted = Array.from({ length: columns }, (_, column) => () => {
            const parity = column % 2 === 0 ? 0 : 1;
            if (parity === 0) {
              f.set(halves, v128.load(row, 8 * column));
              f.set(largest, largerHalves(largest, halves));
            }
            const own = splitHalves(f, halves, parity);
            if (stores) f.store(tile, own, 16 * column);
            return own;
          });
          combine(f, target, sums, weights, converted);
          f.advance(at, 4);
          f.set(tile, i32.add(tile, p.valueBytes));
          f.advance(list, addressBytes);
          f.advance(left, -1);
        });
        forEachRow((own) => own.forEach((sum, column) => void f.store(to, sum, part.values + 16 * column)));
        f.advance(p.offset, 8 * columns);
        f.advance(p.tile, 16 * columns);
        f.advance(p.to, 16 * columns);
        f.advance(p.vectors, -columns);
      });
      return hasSpecial(f, largest);
    });
  });
}

/**
 * Adds the product of each row's and each column's vector to its sum. The fewer of them stay in registers while the
 * others pass.
 */
function combine(
  f: FunctionBuilder,
  target: Target,
  sums: readonly (readonly Local<"v128">[])[],
  rows: readonly (() => Local<"v128">)[],
  columns: readonly (() => Local<"v128">)[],
): void {
  if (rows.length <= 2) {
    const xs = rows.map((row) => row());
    columns.forEach((column, i) => {
      const y = column();
      for (const [x, own] of zip(xs, sums)) for (const sum of own.slice(i, i + 1)) f.set(sum, madd(target, y, x, sum));
    });
  } else {
    const ys = columns.map((column) => column());
    for (const [row, own] of zip(rows, sums)) {
      const x = row();
      for (const [y, sum] of zip(ys, own)) f.set(sum, madd(target, y, x, sum));
    }
  }
}

const interleaveSignature = { at: "i32", step: "i32", end: "i32" } as const;

/** Emits `attention.evenOdd`: pairs of vectors from `at` to `end`, `step` bytes apart, become even and odd elements. */
export function emitEvenOdd(module: ModuleBuilder): FunctionRef<typeof interleaveSignature, undefined> {
  return emitPairs(module, "attention.evenOdd", [0, 2, 4, 6], [1, 3, 5, 7]);
}

/** Emits `attention.inOrder`, the inverse of {@link emitEvenOdd}. */
export function emitInOrder(module: ModuleBuilder): FunctionRef<typeof interleaveSignature, undefined> {
  return emitPairs(module, "attention.inOrder", [0, 4, 1, 5], [2, 6, 3, 7]);
}

type Lanes = Parameters<typeof f32x4.shuffle>[2];

function emitPairs(module: ModuleBuilder, name: string, first: Lanes, second: Lanes): FunctionRef<typeof interleaveSignature, undefined> {
  return module.function(name, interleaveSignature, (f, { at, step, end }) => {
    f.while(i32.ltU(at, end), () => {
      const other = f.let(i32.add(at, step));
      const [a, b] = [f.let(v128.load(at)), f.let(v128.load(other))];
      f.store(at, f32x4.shuffle(a, b, first));
      f.store(other, f32x4.shuffle(a, b, second));
      f.set(at, i32.add(other, step));
    });
  });
}
