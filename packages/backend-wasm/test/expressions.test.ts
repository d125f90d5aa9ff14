import type { DType, OpName } from "@centella/core";
import { ops } from "@centella/core/backend";
import { referenceOf } from "@centella/core/references";
import { describe, expect, test } from "vitest";
import { expressionOf } from "../src/elementwise/expressions/index.ts";
import { ModuleBuilder, v128 } from "../src/emit/index.ts";
import { loadKernelFiles } from "../src/kernels/lazy/lazyKernels.ts";
import { memoryMap } from "../src/memory/memoryMap.ts";
import type { Target } from "../src/target.ts";
import { targets } from "./shared.ts";

await loadKernelFiles();

const count = 1 << 16;
const from = memoryMap.heap;

/** Applies an op's expression to f32 tensors of `count` elements. */
function evaluator(op: OpName, target: Target): (...inputs: readonly Float32Array[]) => Float32Array {
  const inputs = ops[op].inputs.length;
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  module.function("call", { at: "i32", n: "i32" }, (f, { at, n }) => {
    f.while(n, () => {
      const values = Array.from({ length: inputs }, (_, i) => f.let(v128.load(at, 4 * count * i)));
      const dtypes = values.map((): DType => "f32");
      const scope = { f, target, inputs: dtypes, output: "f32" as const, scalars: [], variant: "" };
      f.store(at, expressionOf(op)!.emit(scope, ...values), 4 * count * inputs);
      f.advance(at, 16);
      f.advance(n, -4);
    });
  });
  const memory = new WebAssembly.Memory({ initial: 32, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  return (...data) => {
    data.forEach((values, i) => void new Float32Array(memory.buffer, from + 4 * count * i).set(values));
    (exports.call as (...args: number[]) => void)(from, Math.ceil(data[0]!.length / 4) * 4);
    return new Float32Array(memory.buffer, from + 4 * count * inputs, data[0]!.length).slice();
  };
}

/** Distance between adjacent f32 at `y`. */
function ulp(y: number): number {
  return 2 ** (Math.max(-126, Math.floor(Math.log2(Math.abs(y)))) - 23);
}

/** The largest error of normal results in ulp, and its location. */
function worst(got: Float32Array, inputs: readonly Float32Array[], exact: (...x: number[]) => number): { error: number; at: number[] } {
  let found = { error: 0, at: [] as number[] };
  got.forEach((y, i) => {
    const at = inputs.map((input) => input[i]!);
    const want = exact(...at);
    if (Math.abs(want) < 2 ** -126 || Math.abs(want) > 3.4e38) return;
    const error = Math.abs(y - want) / ulp(want);
    if (!(error <= found.error)) found = { error, at };
  });
  return found;
}

function evenly(low: number, high: number): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));
}

/** Magnitudes from `low` to `high`, evenly over the exponents; both signs with `negative`. */
function logarithmically(low: number, high: number, negative = false): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => (negative && i % 2 === 1 ? -1 : 1) * low * (high / low) ** (i / (count - 1)));
}

/** The approximation with tanh, without its cancellation. */
function gelu(x: number): number {
  return x / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}

describe.each(targets)("relaxed: $relaxed", (target) => {
  const bounds: readonly [OpName, (x: number) => number, Float32Array, number][] = [
    ["sin", Math.sin, evenly(-100, 100), 2],
    ["sin", Math.sin, logarithmically(1e-30, 1e6, true), 2],
    ["cos", Math.cos, evenly(-100, 100), 2],
    ["cos", Math.cos, logarithmically(1e-30, 1e6, true), 2],
    ["sin", Math.sin, logarithmically(1e5, 3.4e38, true), 2],
    ["cos", Math.cos, logarithmically(1e5, 3.4e38, true), 2],
    ["tan", Math.tan, logarithmically(1e5, 3.4e38, true), 4],
    ["tan", Math.tan, evenly(-100, 100), 4],
    ["asin", Math.asin, evenly(-1, 1), 2],
    ["acos", Math.acos, evenly(-1, 1), 2],
    ["atan", Math.atan, logarithmically(1e-20, 1e20, true), 2.5],
    ["sinh", Math.sinh, evenly(-89, 89), 2],
    ["sinh", Math.sinh, logarithmically(1e-30, 2, true), 2],
    ["cosh", Math.cosh, evenly(-89, 89), 2],
    ["asinh", Math.asinh, logarithmically(1e-30, 3e38, true), 1],
    ["acosh", Math.acosh, logarithmically(1, 3e38), 1],
    ["acosh", Math.acosh, evenly(1, 1.01), 1],
    ["atanh", Math.atanh, evenly(-0.99999, 0.99999), 1],
    ["atanh", Math.atanh, logarithmically(1e-30, 0.5, true), 1],
    ["sigmoid", (x) => 1 / (1 + Math.exp(-x)), evenly(-87, 100), 2.5],
    ["sigmoid", (x) => 1 / (1 + Math.exp(-x)), logarithmically(1e-30, 3e38), 2.5],
    ["silu", (x) => x / (1 + Math.exp(-x)), evenly(-87, 100), 2.5],
    ["silu", (x) => x / (1 + Math.exp(-x)), logarithmically(1e-30, 80, true), 2.5],
    ["gelu", gelu, evenly(-1, 13), 2.5],
    ["gelu", gelu, logarithmically(1e-30, 1, true), 2.5],
  ];
  test.each(bounds)("%s", (op, exact, values, limit) => {
    const { error, at } = worst(evaluator(op, target)(values), [values], exact);
    expect(error, `at ${at.join()}`).toBeLessThanOrEqual(limit);
  });

  test("gelu of large negative values", () => {
    const x = evenly(-15, -1);
    const y = evaluator("gelu", target)(x);
    // The exponent is rounded in proportion to its size, while the result that it scales falls faster.
    expect(Math.max(...x.map((value, i) => Math.abs(y[i]! - gelu(value))))).toBeLessThan(5e-8);
  });

  test("power is within 1 ulp over the whole range of f32", () => {
    const bases = logarithmically(1e-30, 1e30);
    // Covers all bases: the stride and the count are coprime.
    const exponents = Float32Array.from({ length: count }, (_, i) => -3 + (6 * ((i * 40503) % count)) / count);
    const { error, at } = worst(evaluator("power", target)(bases, exponents), [bases, exponents], (x, y) => x ** y);
    expect(error, `at ${at.join()}`).toBeLessThanOrEqual(1);
  });

  test("power follows IEEE 754 for special values", () => {
    const values = [0, -0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1e30, -1e30, 2 ** 24 + 2, Infinity, -Infinity, NaN, 1e-40, -1e-40];
    const pairs = values.flatMap((x) => values.map((y) => [x, y] as const));
    const [a, b] = [0, 1].map((i) => Float32Array.from(pairs, (pair) => pair[i]!));
    const got = evaluator("power", target)(a!, b!);
    const want = new Float32Array(pairs.length);
    referenceOf(ops.power)(
      [a!, b!].map((data) => ({ spec: { dtype: "f32", shape: [data.length] }, data })),
      {},
      { spec: { dtype: "f32", shape: [want.length] }, data: want },
    );
    got.forEach((y, i) => {
      const same = Object.is(y, want[i]!) || Math.abs(y - want[i]!) <= 2 * ulp(want[i]!);
      expect(same, `${a![i]} to the power ${b![i]}: got ${y}, want ${want[i]}`).toBe(true);
    });
  });
});
