import type { ParamsOf } from "@centella/core";
import { type Operand, tupleOf } from "@centella/core/backend";
import { type Expr, type FunctionBuilder, f32, f32x4, f64, f64x2, i32, type Local, type ModuleBuilder, v128 } from "../emit/index.ts";
import type { BuildContext, Kernel, Run, Stage } from "../kernel.ts";
import { sineCosineDouble } from "../math/double.ts";

type Params = ParamsOf<"rope">;

/** Bytes of the table for one position: cosines, then sines, each padded to whole vectors. */
const tableBytes = (pairs: number): number => 32 * Math.ceil(pairs / 4);

export const rope: Kernel<"rope"> = {
  emit(module) {
    emitTable(module);
    const signature = { x: "i32", y: "i32", table: "i32", heads: "i32", size: "i32", pairs: "i32", begin: "i32", end: "i32" } as const;
    for (const ropeType of ["neox", "norm"] as const) {
      module.function(`rope.${ropeType}`, signature, (f, { x, y, table, heads, size, pairs, begin, end }) => {
        const rest = f.let(i32.sub(size, i32.shl(pairs, 1)));
        const headBytes = f.let(i32.shl(size, 2));
        const rowBytes = f.let(i32.mul(headBytes, heads));
        const half = f.let(i32.shl(i32.and(i32.add(pairs, 3), -4), 2));
        const [cosines, sines, from, to, left] = f.locals("i32", 5);
        f.while(i32.ltU(begin, end), () => {
          f.set(cosines, i32.add(table, i32.mul(begin, i32.shl(half, 1))));
          f.set(sines, i32.add(cosines, half));
          f.set(from, i32.add(x, i32.mul(begin, rowBytes)));
          f.set(to, i32.add(y, i32.mul(begin, rowBytes)));
          f.set(left, heads);
          f.while(left, () => {
            if (ropeType === "neox") rotateHalves(f, from, to, cosines, sines, pairs);
            else rotateInterleaved(f, from, to, cosines, sines, pairs);
            const done = i32.shl(pairs, 3);
            f.if(rest, () => f.memoryCopy(i32.add(to, done), i32.add(from, done), i32.shl(rest, 2)));
            f.advance(from, headBytes);
            f.advance(to, headBytes);
            f.advance(left, -1);
          });
          f.advance(begin, 1);
        });
      });
    }
  },
  build(context, [x, positions, freqFactors], params, y) {
    const call = context.exports(`rope.${params.ropeType}`);
    const table = angleTable(context, x, positions, freqFactors, params);
    return function* (run) {
      const [tokens, heads, size] = tupleOf(run.shape(x), 3);
      const pairs = (params.dims || size) / 2;
      yield* table.fill(run);
      yield { fn: call, args: [run.address(x), run.address(y), table.address(), heads, size, pairs], total: tokens, grain };
    };
  },
};

/** Tokens per tile. */
const grain = 8;

/** Cosines and sines of a run's positions. Steps with the same positions and frequencies share one table. */
interface AngleTable {
  readonly address: () => number;
  /** Fills the table, for the first step that uses it. */
  readonly fill: (run: Run) => Iterable<Stage>;
}

function angleTable(
  { exports, max, shared, table }: BuildContext,
  x: Operand,
  positions: Operand,
  freqFactors: Operand | undefined,
  { dims, base, scale }: Params,
): AngleTable {
  const [maxTokens, , size] = tupleOf(max(x).shape, 3);
  const pairs = (dims || size) / 2;
  const key = ["rope", positions.storage.id, freqFactors?.storage.id, pairs, base, scale].join();
  let isFirst = false;
  const address = shared(key, () => {
    isFirst = true;
    return table(maxTokens * tableBytes(pairs));
  });
  if (!isFirst) return { address, fill: () => [] };
  const frequencies = table(8 * pairs, (bytes) => {
    new Float64Array(bytes.buffer).set(Array.from({ length: pairs }, (_, i) => scale * base ** (-i / pairs)));
  });
  const angles = exports("rope.table");
  return {
    address,
    *fill(run) {
      const factors = freqFactors === undefined ? 0 : run.address(freqFactors);
      const [tokens] = tupleOf(run.shape(positions), 1);
      yield { fn: angles, args: [run.address(positions), frequencies(), factors, address(), pairs], total: tokens, grain };
    },
  };
}

type Pointer = Local<"i32">;

/**
 * Emits `rope.table`: for each token of a range the cosines, then the sines of `position * frequency / factor`,
 * computed in f64. `factors` may be 0.
 */
function emitTable(module: ModuleBuilder): void {
  const signature = { positions: "i32", frequencies: "i32", factors: "i32", to: "i32", pairs: "i32", begin: "i32", end: "i32" } as const;
  module.function("rope.table", signature, (f, { positions, frequencies, factors, to, pairs, begin, end }) => {
    const half = f.let(i32.shl(i32.and(i32.add(pairs, 3), -4), 2));
    const [cosines, frequency, factor, left] = f.locals("i32", 4);
    f.while(i32.ltU(begin, end), () => {
      const position = f.let(f64.fromI32(i32.load(i32.add(positions, i32.shl(begin, 2)))));
      f.set(cosines, i32.add(to, i32.mul(begin, i32.shl(half, 1))));
      f.set(frequency, frequencies);
      f.set(factor, factors);
      f.set(left, pairs);
      f.while(left, () => {
        const own = f.let(f64.load(frequency));
        f.if(factors, () => {
          f.set(own, f64.div(own, f64.fromF32(f32.load(factor))));
          f.advance(factor, 4);
        });
        const { sine, cosine } = sineCosineDouble(f, f64x2.splat(f64.mul(position, own)));
        f.store(cosines, f32.fromF64(f64x2.extract(cosine, 0)));
        f.store(i32.add(cosines, half), f32.fromF64(f64x2.extract(sine, 0)));
        f.advance(cosines, 4);
        f.advance(frequency, 8);
        f.advance(left, -1);
      });
      f.advance(begin, 1);
    });
  });
}

/** Pairs (i, i + pairs). */
function rotateHalves(f: FunctionBuilder, x: Pointer, y: Pointer, cosines: Pointer, sines: Pointer, pairs: Pointer): void {
  const [at, far, end] = [f.local("i32"), f.let(i32.shl(pairs, 2)), f.local("i32")];
  const p = f.local("v128");
  const q = f.local("v128");
  const [c, s] = f.locals("v128", 2);
  f.set(end, i32.and(far, -16));
  f.for(at, 0, end, 16, () => {
    const [from, to] = [f.let(i32.add(x, at)), f.let(i32.add(y, at))];
    f.set(p, v128.load(from));
    f.set(q, v128.load(i32.add(from, far)));
    f.set(c, v128.load(i32.add(cosines, at)));
    f.set(s, v128.load(i32.add(sines, at)));
    f.store(to, f32x4.sub(f32x4.mul(p, c), f32x4.mul(q, s)));
    f.store(i32.add(to, far), f32x4.add(f32x4.mul(p, s), f32x4.mul(q, c)));
  });
  f.for(at, end, far, 4, () => {
    const [from, to] = [f.let(i32.add(x, at)), f.let(i32.add(y, at))];
    rotateOne(f, f32.load(from), f32.load(i32.add(from, far)), i32.add(cosines, at), i32.add(sines, at), to, i32.add(to, far));
  });
}

/** Pairs (2i, 2i + 1). */
function rotateInterleaved(f: FunctionBuilder, x: Pointer, y: Pointer, cosines: Pointer, sines: Pointer, pairs: Pointer): void {
  const [at, bytes, end] = [f.local("i32"), f.let(i32.shl(pairs, 2)), f.local("i32")];
  const [low, high, p, q] = f.locals("v128", 4);
  const [c, s] = f.locals("v128", 2);
  f.set(end, i32.and(bytes, -16));
  f.for(at, 0, end, 16, () => {
    const [from, to] = [f.let(i32.add(x, i32.shl(at, 1))), f.let(i32.add(y, i32.shl(at, 1)))];
    f.set(low, v128.load(from));
    f.set(high, v128.load(from, 16));
    f.set(c, v128.load(i32.add(cosines, at)));
    f.set(s, v128.load(i32.add(sines, at)));
    f.set(p, f32x4.shuffle(low, high, [0, 2, 4, 6]));
    f.set(q, f32x4.shuffle(low, high, [1, 3, 5, 7]));
    f.set(low, f32x4.sub(f32x4.mul(p, c), f32x4.mul(q, s)));
    f.set(high, f32x4.add(f32x4.mul(p, s), f32x4.mul(q, c)));
    f.store(to, f32x4.shuffle(low, high, [0, 4, 1, 5]));
    f.store(to, f32x4.shuffle(low, high, [2, 6, 3, 7]), 16);
  });
  f.for(at, end, bytes, 4, () => {
    const [from, to] = [f.let(i32.add(x, i32.shl(at, 1))), f.let(i32.add(y, i32.shl(at, 1)))];
    rotateOne(f, f32.load(from), f32.load(from, 4), i32.add(cosines, at), i32.add(sines, at), to, i32.add(to, 4));
  });
}

function rotateOne(
  f: FunctionBuilder,
  first: Expr<"f32">,
  second: Expr<"f32">,
  cosine: Expr<"i32">,
  sine: Expr<"i32">,
  toFirst: Expr<"i32">,
  toSecond: Expr<"i32">,
): void {
  const [p, q] = [f.let(first), f.let(second)];
  const [c, s] = [f.let(f32.load(cosine)), f.let(f32.load(sine))];
  f.store(toFirst, f32.sub(f32.mul(p, c), f32.mul(q, s)));
  f.store(toSecond, f32.add(f32.mul(p, s), f32.mul(q, c)));
}
