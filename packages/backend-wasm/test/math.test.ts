import { floatToHalf } from "@centella/quant";
import { describe, expect, test } from "vitest";
import { targetOf } from "../src/detect.ts";
import { type FunctionBuilder, type V128, v128 } from "../src/emit/index.ts";
import { loadHalves, toHalves } from "../src/formats/half.ts";
import { exp, expCut, expFlushed, expm1Negative } from "../src/math/exp.ts";
import { log } from "../src/math/log.ts";
import { tanh } from "../src/math/tanh.ts";
import { memoryMap } from "../src/memory/memoryMap.ts";
import type { Target } from "../src/target.ts";
import { instantiate, targets } from "./shared.ts";

type VectorFunction = (f: FunctionBuilder, target: Target, x: V128) => V128;

const from = memoryMap.heap;
const count = 1 << 18;
const to = from + 4 * count;

/** Applies an emitted function to `count` floats. */
function evaluator(target: Target, body: VectorFunction): (x: Float32Array) => Float32Array {
  const { call, memory } = instantiate(
    { x: "i32", y: "i32", n: "i32" },
    (f, { x, y, n }) => {
      f.while(n, () => {
        f.store(y, body(f, target, v128.load(x)));
        f.advance(x, 16);
        f.advance(y, 16);
        f.advance(n, -4);
      });
    },
    64,
  );
  return (x) => {
    new Float32Array(memory.buffer, from).set(x);
    call(from, to, x.length);
    return new Float32Array(memory.buffer, to, x.length).slice();
  };
}

/** `expCut` times 2^112. */
const cut: VectorFunction = (f, target, x) => expCut(f, target, f.let(x), f.splatBits(112 << 23));

/** Distance between adjacent f32 at `y`. */
function ulp(y: number): number {
  const exponent = Math.max(-126, Math.floor(Math.log2(Math.abs(y))));
  return 2 ** (exponent - 23);
}

/**
 * The largest error in ulp over `count` arguments from `low` to `high`, spread over bit patterns, or evenly with
 * `even`.
 */
function worst(
  evaluate: (x: Float32Array) => Float32Array,
  exact: (x: number) => number,
  arguments_: Float32Array,
): { readonly error: number; readonly at: number } {
  const y = evaluate(arguments_);
  let [error, at] = [0, 0];
  arguments_.forEach((x, i) => {
    const want = exact(x);
    if (Math.abs(want) < 2 ** -126 || Math.abs(want) > 3.4e38) return;
    const distance = Math.abs(y[i]! - want) / ulp(want);
    if (!(distance <= error)) [error, at] = [distance, x];
  });
  return { error, at };
}

function evenly(low: number, high: number): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));
}

/** Magnitudes from `low` to `high`, evenly over the exponents; both signs with `negative`. */
function logarithmically(low: number, high: number, negative = false): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => (negative && i % 2 === 1 ? -1 : 1) * low * (high / low) ** (i / (count - 1)));
}

describe.each(targets)("relaxed: $relaxed", (target) => {
  const bounds: readonly [string, VectorFunction, (x: number) => number, Float32Array, number][] = [
    ["exp", exp, Math.exp, evenly(-87.3, 88.7), 2],
    ["expFlushed", expFlushed, Math.exp, evenly(-87.3, 88.3), 2],
    ["expCut", cut, (x: number) => Math.exp(x) * 2 ** 112, evenly(-59.9, 0), 2],
    ["exp near 0", exp, Math.exp, logarithmically(1e-30, 1, true), 1],
    ["expm1 below 0", expm1Negative, Math.expm1, evenly(-30, 0), 2],
    ["expm1 near 0", expm1Negative, Math.expm1, logarithmically(1e-30, 1).map((x) => -x), 2],
    ["tanh", tanh, Math.tanh, evenly(-12, 12), 3],
    ["tanh near 0", tanh, Math.tanh, logarithmically(1e-30, 1, true), 2],
    ["log", log, Math.log, logarithmically(1e-45, 3.4e38), 2],
    ["log near 1", log, Math.log, evenly(0.5, 2), 2],
  ];
  test.each(bounds)("%s", (_name, body, exact, values, limit) => {
    const { error, at } = worst(evaluator(target, body), exact, values);
    expect(error, `at ${at}`).toBeLessThanOrEqual(limit);
  });

  const [inf, nan] = [Number.POSITIVE_INFINITY, Number.NaN];
  test.each([
    ["exp", exp, [nan, inf, -inf, 0, -0, 100, -200], [nan, inf, 0, 1, 1, inf, 0]],
    ["expCut", cut, [nan, -inf, 0, -0, -60.5, -100, -1e30], [nan, 0, 2 ** 112, 2 ** 112, 0, 0, 0]],
    ["expFlushed", expFlushed, [nan, inf, -inf, 0, -0, 100, -88], [nan, inf, 0, 1, 1, inf, 0]],
    ["expm1", expm1Negative, [nan, -inf, 0, -100], [nan, -1, 0, -1]],
    ["tanh", tanh, [nan, inf, -inf, 0, -0, 50, -50], [nan, 1, -1, 0, -0, 1, -1]],
    ["log", log, [nan, inf, -inf, 0, -0, -1, 1], [nan, inf, nan, -inf, -inf, nan, 0]],
  ] as const)("special values of %s", (_name, body, arguments_, wanted) => {
    const padded = Float32Array.of(...arguments_, 0, 0).slice(0, Math.ceil(arguments_.length / 4) * 4);
    const y = evaluator(target, body)(Float32Array.from({ length: 8 }, (_, i) => padded[i] ?? 0));
    expect([...y.subarray(0, wanted.length)]).toEqual([...wanted]);
  });

  test("subnormal results of exp are within one subnormal step", () => {
    const values = evenly(-103, -87.4);
    const y = evaluator(target, exp)(values);
    values.forEach((x, i) => {
      expect(Math.abs(y[i]! - Math.exp(x)), String(x)).toBeLessThanOrEqual(2 ** -149 + 2 * ulp(Math.exp(x)));
    });
  });
});

test("halves round as in quant, for values of every size", () => {
  const evaluate = evaluator(targetOf(false), (f, _target, x) => toHalves(f, x));
  const random = Float32Array.from(
    { length: count },
    (_, i) => (i % 2 === 0 ? 1 : -1) * 2 ** (-30 + (50 * i) / count) * (1 + ((i * 7919) % 1000) / 1000),
  );
  random.set([
    0,
    -0,
    65504,
    65519.99,
    65520,
    1e30,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    2 ** -24,
    2 ** -25,
    2 ** -14,
  ]);
  const bits = new Int32Array(evaluate(random).buffer);
  random.forEach((x, i) => void expect(bits[i]! & 0xffff, String(x)).toBe(floatToHalf(x)));
});

test("every half is decoded exactly", async () => {
  const { halfToFloat } = await import("@centella/quant");
  const { call, memory } = instantiate(
    { x: "i32", y: "i32", n: "i32" },
    (f, { x, y, n }) => {
      f.while(n, () => {
        f.store(y, loadHalves(f, x));
        f.advance(x, 8);
        f.advance(y, 16);
        f.advance(n, -4);
      });
    },
    64,
  );
  new Uint16Array(memory.buffer, from, 65_536).forEach((_, h, halves) => {
    halves[h] = h;
  });
  call(from, to, 65_536);
  const got = new Float32Array(memory.buffer, to, 65_536);
  got.forEach((value, h) => {
    if (!Object.is(value, halfToFloat(h))) throw new Error(`half ${h}: expected ${halfToFloat(h)}, got ${value}`);
  });
});
