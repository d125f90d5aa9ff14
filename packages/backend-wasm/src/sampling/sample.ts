import { type Expr, f32, f64, i32, i32x4, type ModuleBuilder, threadIndex, v128 } from "../emit/index.ts";
import { emitFirst, entryBytes } from "../kernels/shared/order.ts";
import { philox } from "../kernels/shared/philox.ts";
import { emitExp } from "./exp.ts";

/** Parameters of the function of {@link emitSample}. */
const signature = {
  logits: "i32",
  positions: "i32",
  y: "i32",
  n: "i32",
  /** Number of candidates to sort: those of top-k, all for top-p alone, 0 if their order does not matter. */
  sorted: "i32",
  capacity: "i32",
  topP: "f64",
  temperature: "f64",
  /** Logarithm of min-p; -Infinity keeps all. */
  logMinP: "f64",
  seedLow: "i32",
  seedHigh: "i32",
  /** Whether top-k drops candidates before top-p sums the rest. */
  isTopK: "i32",
  threadScratch: "i32",
  threadScratchBytes: "i32",
  begin: "i32",
  end: "i32",
} as const;

/**
 * `sample` for rows `begin` to `end`. Follows core's sample.reference.ts operation by operation, so that the f64 sums
 * are equal. A row with NaN or Infinity, or without a finite logit, gives -1, because kernels cannot raise errors.
 */
export function emitSample(module: ModuleBuilder, name: string): void {
  const exp = emitExp(module, `${name}.exp`);
  const first = emitFirst(module, `${name}.first`);
  module.function(name, signature, (f, p) => {
    const [i, x, id, best, count] = f.locals("i32", 5);
    const [kept, at, weights, to] = f.locals("i32", 4);
    const [logit, greatest, limit] = f.locals("f32", 3);
    const [total, sum, weight, uniform] = f.locals("f64", 4);
    const a = f.let(i32.add(p.threadScratch, i32.mul(threadIndex, i32.shl(p.threadScratchBytes, 1))));
    const b = f.let(i32.add(a, p.threadScratchBytes));
    const infinity = f32.const(Number.POSITIVE_INFINITY);
    const excluded = f32.const(Number.NEGATIVE_INFINITY);
    /** exp of a logit minus the greatest one. */
    const likelihood = (of: Expr<"f32">): Expr<"f64"> => f.invoke(exp, { x: f64.sub(f64.fromF32(of), f64.fromF32(greatest)) });
    const visitRow = (body: () => void): void => {
      f.set(x, p.logits);
      f.for(i, 0, p.n, 1, () => {
        f.set(logit, f32.load(x));
        body();
        f.advance(x, 4);
      });
    };
    /** Visits the kept entries: `body` sees the index in `id` and the logit. */
    const visitKept = (body: () => void): void => {
      f.for(i, 0, kept, 1, () => {
        f.set(id, i32.load(i32.add(at, i32.shl(i, 3)), 4));
        f.set(logit, f32.load(i32.add(p.logits, i32.shl(id, 2))));
        body();
      });
    };
    f.advance(p.logits, i32.mul(i32.mul(p.begin, p.n), 4));
    f.while(i32.ltU(p.begin, p.end), () => {
      f.set(to, i32.add(p.y, i32.shl(p.begin, 2)));
      f.setI32(best, -1);
      f.setI32(count, 0);
      f.set(greatest, excluded);
      f.block((invalid) => {
        visitRow(() => {
          f.if(i32.eqz(f32.lt(logit, infinity)), () => {
            f.setI32(best, -1);
            f.br(invalid);
          });
          f.set(count, i32.add(count, f32.gt(logit, excluded)));
          f.if(f32.gt(logit, greatest), () => {
            f.set(greatest, logit);
            f.set(best, i);
          });
        });
        // All logits are excluded, or greedy sampling was requested.
        f.brIf(invalid, i32.or(i32.eqz(count), i32.eqz(f64.lt(f64.const(0), p.temperature))));
        f.set(at, a);
        f.set(kept, count);
        f.if(
          p.sorted,
          () => {
            const order = { stride: i32.const(4), n: p.n, k: p.sorted, capacity: p.capacity, flip: i32.const(-1), a, b };
            f.set(at, f.invoke(first, { x: p.logits, ...order }));
            // Excluded entries come last.
            f.set(kept, i32.select(i32.ltU(p.sorted, count), p.sorted, count));
          },
          () => {
            f.set(id, a);
            visitRow(() =>
              f.if(f32.gt(logit, excluded), () => {
                f.store(id, i, 4);
                f.advance(id, entryBytes);
              }),
            );
          },
        );
        f.if(f64.lt(p.topP, f64.const(1)), () => {
          f.set(total, f64.const(0));
          const add = (): void => f.set(total, f64.add(total, likelihood(logit)));
          f.if(
            p.isTopK,
            () => visitKept(add),
            () => visitRow(() => f.if(f32.gt(logit, excluded), add)),
          );
          f.set(sum, f64.const(0));
          f.block((found) =>
            visitKept(() => {
              f.set(sum, f64.add(sum, f64.div(likelihood(logit), total)));
              f.if(f64.ge(sum, p.topP), () => {
                f.set(kept, i32.add(i, 1));
                f.br(found);
              });
            }),
          );
        });
        f.set(limit, f32.fromF64(f64.add(f64.fromF32(greatest), p.logMinP)));
        // Weights go to the other buffer. Entries that min-p drops get a negative weight and are skipped.
        f.set(weights, i32.select(i32.eq(at, a), b, a));
        f.set(total, f64.const(0));
        visitKept(() => {
          const scaled = f32.fromF64(f64.div(f64.sub(f64.fromF32(logit), f64.fromF32(greatest)), p.temperature));
          f.set(weight, f64.const(-1));
          f.if(f32.ge(logit, limit), () => {
            f.set(weight, f.invoke(exp, { x: f64.fromF32(scaled) }));
            f.set(total, f64.add(total, weight));
            f.set(best, id);
          });
          f.store(i32.add(weights, i32.shl(i, 3)), weight);
        });
        const words = philox(
          f,
          [f.let(i32x4.splat(i32.load(i32.add(p.positions, i32.shl(p.begin, 2))))), ...[0, 1, 2].map(() => f.let(v128.zero()))],
          [p.seedLow, p.seedHigh],
        );
        const upper = f64.mul(f64.fromI32(i32.shrU(i32x4.extract(words[0]!, 0), 5)), f64.const(2 ** 26));
        f.set(uniform, f64.mul(f64.add(upper, f64.fromI32(i32.shrU(i32x4.extract(words[1]!, 0), 6))), f64.const(2 ** -53)));
        f.set(sum, f64.const(0));
        // If rounding leaves the sum just below the random number, the last entry is chosen: it is in `best`.
        f.for(i, 0, kept, 1, () => {
          f.set(weight, f64.load(i32.add(weights, i32.shl(i, 3))));
          f.if(f64.ge(weight, f64.const(0)), () => {
            f.set(sum, f64.add(sum, f64.div(weight, total)));
            f.if(f64.lt(uniform, sum), () => {
              f.set(best, i32.load(i32.add(at, i32.shl(i, 3)), 4));
              f.br(invalid);
            });
          });
        });
      });
      f.store(to, best);
      f.advance(p.logits, i32.shl(p.n, 2));
      f.advance(p.begin, 1);
    });
  });
}
