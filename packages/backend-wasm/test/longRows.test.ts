import { uniform } from "@centella/conformance";
import { type Backend, createProgram } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wasm } from "../src/index.ts";

// Rows of this length are folded in parts.
const n = 300_001;

let backends: readonly Backend[];
beforeAll(async () => {
  backends = await Promise.all([wasm({ threads: 1 }).open(), wasm({ threads: 2 }).open()]);
});
afterAll(async () => {
  for (const backend of backends) await backend.dispose();
});

type Reduction = "sum" | "sumKahan" | "prod" | "max" | "min" | "mean" | "normL1" | "normL2" | "normLinf";

/** Returns the result on one thread, after checking that two threads give the same bits. */
async function reduce(op: Reduction, x: Float32Array<ArrayBuffer>, rows = 1): Promise<Float32Array> {
  const results = await Promise.all(
    backends.map(async (backend) => {
      const program = createProgram();
      program.output("y", program[op](program.input("x", "f32", [rows, x.length / rows]), { axis: 1 }));
      const plan = await backend.compile(program);
      const y = (await plan.run({ x }).y!.data()) as Float32Array;
      plan.dispose();
      return y;
    }),
  );
  expect(new Uint32Array(results[1]!.slice().buffer)).toEqual(new Uint32Array(results[0]!.slice().buffer));
  return results[0]!;
}

test("sums, means and norms of long rows", async () => {
  const rows = 3;
  const x = uniform(1, rows * n).map((value) => value + 0.25);
  const each = (fold: (row: Float32Array) => number): number[] =>
    Array.from({ length: rows }, (_, row) => fold(x.subarray(row * n, (row + 1) * n)));
  const total = (row: Float32Array, term: (value: number) => number): number => row.reduce((sum, value) => sum + term(value), 0);
  const close = (got: Float32Array, want: number[]): void => {
    want.forEach((value, row) => {
      expect(Math.abs(got[row]! - value)).toBeLessThan(3e-7 * Math.abs(value));
    });
  };
  close(
    await reduce("sum", x, rows),
    each((row) => total(row, (value) => value)),
  );
  close(
    await reduce("sumKahan", x, rows),
    each((row) => total(row, (value) => value)),
  );
  close(
    await reduce("mean", x, rows),
    each((row) => total(row, (value) => value) / n),
  );
  close(
    await reduce("normL1", x, rows),
    each((row) => total(row, Math.abs)),
  );
  close(
    await reduce("normL2", x, rows),
    each((row) => Math.sqrt(total(row, (value) => value ** 2))),
  );
  const nearOne = x.map((value) => 1 + value * 2 ** -20);
  close(await reduce("prod", nearOne, 1), [nearOne.reduce((product, value) => product * value, 1)]);
});

test("dot of long vectors", async () => {
  const [a, b] = [uniform(1, n), uniform(2, n).map((value) => value + 0.25)];
  const want = a.reduce((sum, value, i) => sum + value * b[i]!, 0);
  const results = backends.map((backend) => {
    const program = createProgram();
    program.output("y", program.dot(program.input("a", "f32", [n]), program.input("b", "f32", [n])));
    return backend.compile(program).then((plan) => plan.run({ a, b }).y!.data());
  });
  const [one, two] = (await Promise.all(results)) as Float32Array[];
  expect(Math.abs(one![0]! - want)).toBeLessThan(1e-6 * n ** 0.5);
  expect(two).toEqual(one);
});

describe("extremes", () => {
  const largest = (x: Float32Array): number => x.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const smallest = (x: Float32Array): number => x.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const signs: readonly [string, (value: number, i: number) => number][] = [
    ["of both signs", (value) => value],
    ["not negative", (value) => Math.abs(value)],
    ["negative", (value) => -Math.abs(value) - 1e-3],
    ["negative until late", (value, i) => (i < n - 1000 ? -Math.abs(value) : Math.abs(value) / 2)],
    ["with infinities", (value, i) => (i === 5000 ? Number.POSITIVE_INFINITY : i === 9000 ? Number.NEGATIVE_INFINITY : value)],
    ["all minus infinity", () => Number.NEGATIVE_INFINITY],
    ["all infinity", () => Number.POSITIVE_INFINITY],
    ["subnormal", (value) => value * 1e-40],
  ];
  test.each(signs)("%s", async (_name, change) => {
    for (const length of [n, 70_003, 1000, 257]) {
      const x = uniform(4, n)
        .map(change)
        .slice(n - length);
      expect((await reduce("max", x))[0]).toBe(largest(x));
      expect((await reduce("min", x))[0]).toBe(smallest(x));
      expect((await reduce("normLinf", x))[0]).toBe(largest(x.map(Math.abs)));
    }
  });

  test.each([0, 300, 5000, 131_072, n - 1])("NaN of either sign at %i", async (at) => {
    for (const nan of [0x7fc00000, 0xffc00001]) {
      for (const [, change] of signs.slice(0, 3)) {
        const x = uniform(5, n).map(change);
        new Uint32Array(x.buffer)[at] = nan;
        for (const op of ["max", "min", "normLinf"] as const) expect((await reduce(op, x))[0]).toBeNaN();
      }
    }
  });
});
