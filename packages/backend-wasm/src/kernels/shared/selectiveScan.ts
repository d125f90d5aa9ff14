import { type Operand, tupleOf } from "@centella/core/backend";
import { type FunctionBuilder, f32, f32x4, i32, type Local, type ModuleBuilder, v128 } from "../../emit/index.ts";
import type { BuildContext, Run, Task } from "../../kernel.ts";
import { exp } from "../../math/exp.ts";
import { laneMask } from "../../matmul/lanes.ts";
import { madd, type Target } from "../../target.ts";
import { storeLanes } from "./loops.ts";

const signature = {
  x: "i32",
  dt: "i32",
  a: "i32",
  b: "i32",
  c: "i32",
  state: "i32",
  y: "i32",
  positions: "i32",
  rows: "i32",
  tokens: "i32",
  states: "i32",
  heads: "i32",
  channels: "i32",
  groups: "i32",
  size: "i32",
  decays: "i32",
  gives: "i32",
  keeps: "i32",
  begin: "i32",
  end: "i32",
} as const;

/**
 * Emits `selectiveScan(…, begin, end)`: heads `begin` to `end` of a selective scan, four state elements at a time over
 * all tokens. Writes outputs if `gives` is 1, and the final states of sequences if `keeps` is 1.
 */
export function emitScan(module: ModuleBuilder, target: Target): void {
  module.function("selectiveScan", signature, (f, p) => {
    const [h, channel, n, count, group] = f.locals("i32", 5);
    f.for(h, p.begin, p.end, 1, () => {
      f.set(group, i32.divU(i32.mul(h, p.groups), p.heads));
      f.for(channel, 0, p.channels, 1, () => {
        f.for(n, 0, p.size, 4, () => {
          f.set(count, i32.sub(p.size, n));
          scanLanes(f, target, p, { h, channel, group, n, count });
        });
      });
    });
  });
}

type Indices = Readonly<Record<"h" | "channel" | "group" | "n" | "count", Local<"i32">>>;

function scanLanes(
  f: FunctionBuilder,
  target: Target,
  p: { readonly [K in keyof typeof signature]: Local<"i32"> },
  { h, channel, group, n, count }: Indices,
): void {
  const place = f.let(i32.add(i32.mul(h, p.channels), channel));
  const mask = laneMask(f, count);
  const decay = f.local("v128");
  f.if(
    i32.eq(p.decays, 1),
    () => f.set(decay, v128.load32Splat(i32.add(p.a, i32.shl(h, 2)))),
    () => f.set(decay, v128.load(i32.add(p.a, i32.shl(i32.add(i32.mul(h, p.size), n), 2)))),
  );
  const [t, row, before, at, to] = f.locals("i32", 5);
  const [s, step] = f.locals("v128", 2);
  const stateOf = (of: Local<"i32">): void => {
    const element = i32.add(i32.mul(i32.add(i32.mul(of, i32.mul(p.heads, p.channels)), place), p.size), n);
    f.set(at, i32.add(p.state, i32.shl(element, 2)));
  };
  const keep = (): void => {
    f.if(i32.and(p.keeps, i32.ltU(before, p.states)), () => {
      stateOf(before);
      storeLanes(f, at, s, count);
    });
  };
  f.setI32(before, -1);
  f.for(t, 0, p.tokens, 1, () => {
    f.set(row, i32.load(i32.add(p.rows, i32.shl(t, 2))));
    f.if(i32.ne(row, before), () => {
      keep();
      f.set(s, v128.zero());
      f.if(i32.ltU(row, p.states), () => {
        stateOf(row);
        f.set(s, v128.load(at));
      });
      f.set(before, row);
    });
    f.if(i32.eqz(i32.load(i32.add(p.positions, i32.shl(t, 2)))), () => f.set(s, v128.zero()));
    const token = i32.mul(t, i32.mul(p.heads, p.channels));
    f.set(to, i32.shl(i32.add(token, place), 2));
    f.set(step, v128.load32Splat(i32.add(p.dt, i32.shl(i32.add(i32.mul(t, p.heads), h), 2))));
    f.set(at, i32.shl(i32.add(i32.mul(i32.add(i32.mul(t, p.groups), group), p.size), n), 2));
    const input = f32x4.mul(f32x4.mul(step, v128.load32Splat(i32.add(p.x, to))), v128.load(i32.add(p.b, at)));
    f.set(s, madd(target, exp(f, target, f32x4.mul(step, decay)), s, input));
    f.if(p.gives, () => {
      const products = f.let(v128.and(f32x4.mul(s, v128.load(i32.add(p.c, at))), mask));
      const pairs = f.let(f32x4.add(products, f32x4.shuffle(products, products, [2, 3, 0, 1])));
      const sum = f32.add(f32x4.extract(pairs, 0), f32x4.extract(pairs, 1));
      f.advance(to, p.y);
      f.if(
        n,
        () => f.store(to, f32.add(f32.load(to), sum)),
        () => f.store(to, sum),
      );
    });
  });
  keep();
}

type Inputs = Readonly<Record<"x" | "dt" | "a" | "b" | "state" | "positions" | "rows", Operand>>;

/** Results of a scan: outputs weighted by `c`, the states' next version, or both. */
interface Wanted {
  readonly outputs?: { readonly c: Operand; readonly y: Operand };
  readonly keeps?: boolean;
}

/** A step of `ssmScan`, `ssmScanWrite`, or both. */
export function scanTask(
  { exports }: BuildContext,
  { x, dt, a, b, state, positions, rows }: Inputs,
  { outputs, keeps = false }: Wanted,
): Task {
  const fn = exports("selectiveScan");
  return function* (run: Run) {
    const [tokens, heads, channels] = tupleOf(run.shape(x), 3);
    const [, groups, size] = tupleOf(run.shape(b), 3);
    const [, decays] = tupleOf(run.shape(a), 2);
    const [states] = tupleOf(run.shape(state), 4);
    const [c, y] = outputs === undefined ? [0, 0] : [run.address(outputs.c), run.address(outputs.y)];
    const addresses = [run.address(x), run.address(dt), run.address(a), run.address(b), c, run.address(state), y];
    const extents = [tokens, states, heads, channels, groups, size, decays];
    const args = [...addresses, run.address(positions), run.address(rows), ...extents, Number(outputs !== undefined), Number(keeps)];
    const work = Math.max(1, tokens * channels * size);
    yield { fn, args, total: tokens === 0 ? 0 : heads, grain: Math.max(1, Math.floor(2 ** 17 / work)) };
  };
}
