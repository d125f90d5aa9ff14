import { uniform } from "@centella/conformance";
import { createProgram, type Program, type TypedArray, type Value } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend } from "../support/openBackend.ts";

// From 2.1 million elements on, a row has as many groups as a device is given at once, and each group more than its least share. The first length
// fills no vectors and no shares.
const lengths = [2_300_003, 5_000_000] as const;
const [length] = lengths;

await describeOpened("reductions of rows with millions of elements", openBackend(), ({ backend }) => {
  afterAll(() => backend.dispose());

  /** The result of a call with one row. */
  async function resultOf(data: Float32Array, record: (program: Program, x: Value) => Value): Promise<TypedArray> {
    const program = createProgram();
    program.output("y", record(program, program.input("x", "f32", [1, data.length])));
    const plan = await backend.compile(program);
    const y = await plan.run({ x: data }).y!.data();
    plan.dispose();
    return y;
  }

  /** Values from 0.5 to 1.5, so that no sum is close to 0. */
  const positive = (count: number): Float32Array => uniform(count, count).map((value) => 1 + value / 2);

  /** The largest relative error, of results that are no zeros. */
  function worstError(got: TypedArray, want: (i: number) => number): number {
    let worst = 0;
    got.forEach((value, i) => {
      worst = Math.max(worst, Math.abs(value / want(i) - 1));
    });
    return worst;
  }

  test.each(lengths)("sum of %i", async (count) => {
    const data = positive(count);
    const sum = data.reduce((before, value) => before + value, 0);
    const got = await resultOf(data, (program, x) => program.sum(x, { axis: 1 }));
    expect(got.length).toBe(1);
    expect(worstError(got, () => sum)).toBeLessThan(1e-6);
  });

  test.each(lengths)("argmax of %i, whose last elements are the largest", async (count) => {
    // The first of equal elements counts, whichever group has it.
    const data = positive(count).fill(2, count - 2);
    expect(await resultOf(data, (program, x) => program.argmax(x))).toEqual(Int32Array.of(count - 2));
    const middle = Math.floor(count / 2);
    data[middle] = 2;
    expect(await resultOf(data, (program, x) => program.argmax(x))).toEqual(Int32Array.of(middle));
  });

  test(`softmax of ${length}`, async () => {
    const data = uniform(length, length).map((value) => 4 * value);
    const sum = data.reduce((before, value) => before + Math.exp(value), 0);
    const got = await resultOf(data, (program, x) => program.softmax(x));
    expect(got.length).toBe(length);
    expect(worstError(got, (i) => Math.exp(data[i]!) / sum)).toBeLessThan(1e-5);
  });

  test(`rmsNorm of ${length}`, async () => {
    const data = positive(length);
    const squares = data.reduce((before, value) => before + value ** 2, 0);
    const factor = 1 / Math.sqrt(squares / length + 1e-5);
    const got = await resultOf(data, (program, x) => program.rmsNorm(x, program.reshape(x, { shape: [length] }), { eps: 1e-5 }));
    expect(got.length).toBe(length);
    expect(worstError(got, (i) => data[i]! ** 2 * factor)).toBeLessThan(1e-5);
  });

  test(`cumsum of ${length}`, async () => {
    const data = positive(length);
    const sums = new Float64Array(length);
    let sum = 0;
    for (let i = 0; i < length; i++) sums[i] = sum += data[i]!;
    const got = await resultOf(data, (program, x) => program.cumsum(x, { axis: 1 }));
    expect(got.length).toBe(length);
    expect(worstError(got, (i) => sums[i]!)).toBeLessThan(1e-5);
  });
});
