import type { Operand } from "@centella/core";
import { type Expr, type FunctionBuilder, f32, f32x4, i32, type Local, v128 } from "../emit/index.ts";
import type { BuildContext, Kernel, ParamsOf, Run } from "../kernel.ts";

type Params = ParamsOf<"rope">;

/** Bytes of the table of one position: cosines, then sines, each padded to whole vectors. */
const tableBytes = (pairs: number): number => 32 * Math.ceil(pairs / 4);

export const rope: Kernel<Params> = {
  emit(module) {
    const signature = { x: "i32", y: "i32", table: "i32", heads: "i32", size: "i32", pairs: "i32" } as const;
    for (const pairing of ["half", "interleaved"] as const) {
      module.function(`rope.${pairing}`, signature, (f, { x, y, table, heads, size, pairs }) => {
        const sines = f.let(i32.add(table, i32.shl(i32.and(i32.add(pairs, 3), -4), 2)));
        const rest = f.let(i32.sub(size, i32.shl(pairs, 1)));
        const headBytes = f.let(i32.shl(size, 2));
        f.while(heads, () => {
          if (pairing === "half") rotateHalves(f, x, y, table, sines, pairs);
          else rotateInterleaved(f, x, y, table, sines, pairs);
          const done = i32.shl(pairs, 3);
          f.if(rest, () => f.memoryCopy(i32.add(y, done), i32.add(x, done), i32.shl(rest, 2)));
          f.advance(x, headBytes);
          f.advance(y, headBytes);
          f.advance(heads, -1);
        });
      });
    }
  },
  build(context, [x, positions, freqFactors], params, y) {
    const { exports } = context;
    const call = exports(`rope.${params.pairing}`);
    const table = angleTable(context, x!, positions!, freqFactors, params);
    return function* (run) {
      const [tokens, heads, size] = run.shape(x!) as readonly [number, number, number];
      const pairs = (params.dims || size) / 2;
      const at = table(run);
      const [from, to, rowBytes] = [run.address(x!), run.address(y), 4 * heads * size];
      for (let t = 0; t < tokens; t++) {
        call(from + t * rowBytes, to + t * rowBytes, at + t * tableBytes(pairs), heads, size, pairs);
        if (t % 64 === 63) yield;
      }
    };
  },
};

/**
 * Cosines and sines of a run's positions, computed in f64. Steps with the same positions and frequencies share one table, which
 * is computed again only when what it was made from has changed.
 */
function angleTable(
  { heap, max, shared, table }: BuildContext,
  x: Operand,
  positions: Operand,
  freqFactors: Operand | undefined,
  { dims, base, scale }: Params,
): (run: Run) => number {
  const [mostTokens, , size] = max(x).shape as readonly [number, number, number];
  const pairs = (dims || size) / 2;
  const key = ["rope", positions.storage.id, freqFactors?.storage.id, pairs, base, scale].join();
  return shared(key, () => {
    const address = table(mostTokens * tableBytes(pairs));
    const made = new Int32Array(mostTokens);
    let madeTokens = 0;
    let madeFactors: Float32Array | undefined;
    const frequencies = new Float64Array(pairs);
    return (run) => {
      const [tokens] = run.shape(positions) as readonly [number];
      const from = run.address(positions) / 4;
      const wanted = heap.i32.subarray(from, from + tokens);
      const factorsAt = freqFactors === undefined ? 0 : run.address(freqFactors) / 4;
      const factors = freqFactors === undefined ? undefined : heap.f32.subarray(factorsAt, factorsAt + pairs);
      const isNew = madeFactors === undefined || factors?.some((factor, i) => factor !== madeFactors![i]) === true;
      if (isNew) {
        madeFactors = factors?.slice() ?? new Float32Array(0);
        for (let i = 0; i < pairs; i++) frequencies[i] = (scale * base ** (-i / pairs)) / (factors?.[i] ?? 1);
      }
      const { f32: memory } = heap;
      for (let t = 0; t < tokens; t++) {
        if (!isNew && t < madeTokens && made[t] === wanted[t]) continue;
        const position = wanted[t]!;
        const cosines = address() / 4 + t * (tableBytes(pairs) / 4);
        const sines = cosines + 4 * Math.ceil(pairs / 4);
        for (let i = 0; i < pairs; i++) {
          memory[cosines + i] = Math.cos(position * frequencies[i]!);
          memory[sines + i] = Math.sin(position * frequencies[i]!);
        }
        made[t] = position;
      }
      madeTokens = isNew ? tokens : Math.max(madeTokens, tokens);
      return address();
    };
  });
}

type Pointer = Local<"i32">;

/** Pairs (i, i + pairs). */
function rotateHalves(f: FunctionBuilder, x: Pointer, y: Pointer, cosines: Pointer, sines: Pointer, pairs: Pointer): void {
  const [at, far, end] = [f.local("i32"), f.let(i32.shl(pairs, 2)), f.local("i32")];
  const p = f.local("v128");
  const q = f.local("v128");
  const [c, s] = [f.local("v128"), f.local("v128")];
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
  const [low, high, p, q] = [f.local("v128"), f.local("v128"), f.local("v128"), f.local("v128")];
  const [c, s] = [f.local("v128"), f.local("v128")];
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
