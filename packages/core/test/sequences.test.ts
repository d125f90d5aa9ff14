import { expect, test } from "vitest";
import { createProgram, createRuntime, reference, split } from "../src/index.ts";

async function run(
  record: (program: ReturnType<typeof createProgram>) => void,
  inputs = {},
  dims = {},
): Promise<Record<string, readonly number[]>> {
  const program = createProgram();
  record(program);
  const backend = await reference().open();
  const plan = await backend.compile(program);
  const outputs = plan.run(inputs, { dims });
  const entries = Object.entries(outputs).map(async ([name, tensor]) => [name, [...(await tensor.data())]] as const);
  return Object.fromEntries(await Promise.all(entries));
}

test("concatenated parts of a split are the original tensor", async () => {
  const x = Float32Array.from({ length: 12 }, (_, i) => i);
  const outputs = await run(
    (program) => {
      const parts = split(program, program.input("x", "f32", [2, 6]), { axis: -1, sizes: [1, 3, 0, 2] });
      expect(parts.map(({ spec }) => spec.shape)).toEqual([
        [2, 1],
        [2, 3],
        [2, 0],
        [2, 2],
      ]);
      program.output("second", parts[1]!);
      program.output("all", program.concat(parts, { axis: 1 }));
    },
    { x },
  );
  expect(outputs).toEqual({ second: [1, 2, 3, 7, 8, 9], all: [...x] });
});

test("split refuses parts that do not fit", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [5]);
  expect(() => split(program, x, { axis: 0, sizes: [2, 2] })).toThrow("split: expected whole sizes that add up to 5, got [2, 2]");
  expect(() => split(program, x, { axis: 0, sizes: [6, -1] })).toThrow(/add up to 5, got \[6, -1\]/);
  expect(() => split(program, x, { axis: 1, sizes: [5] })).toThrow(/axis to be a whole number from -1 to 0, got 1/);
});

test("ops over a list refuse other arguments", async () => {
  const program = createProgram();
  const x = program.input("x", "f32", [5]);
  // @ts-expect-error: the tensors are one argument
  expect(() => program.stack(x, x)).toThrow("stack: expected tensors to be a list of tensors, got an object; put them in [ ]");
  expect(() => program.stack([x, undefined as never])).toThrow(/stack: expected tensors\[1\] to be a handle of this program, got nothing/);
  await using runtime = await createRuntime({ backends: [] });
  const a = runtime.tensor(Float32Array.of(1, 2));
  await expect(runtime.stack([])).rejects.toThrow("stack: expected at least one of tensors, got none");
  await expect(runtime.concat([a, 3 as never], { axis: 0 })).rejects.toThrow("concat: expected tensors[1] to be a tensor, got 3");
  expect(() => runtime.lazy(a).concat([3 as never], { axis: 0 })).toThrow(/tensors\[1\] to be a lazy tensor, got 3/);
});

test("eager and lazy calls take lists", async () => {
  await using runtime = await createRuntime({ backends: [] });
  const [a, b] = [runtime.tensor(Float32Array.of(1, 2)), runtime.tensor(Float32Array.of(3, 4))];
  expect([...(await (await runtime.concat([a, b, a], { axis: 0 })).data())]).toEqual([1, 2, 3, 4, 1, 2]);
  const lazy = runtime.lazy(a);
  expect([...(await lazy.stack([runtime.lazy(b), lazy], { axis: 1 }).data())]).toEqual([1, 3, 1, 2, 4, 2]);
});

test("a table's first T rows, positions and a mask of a symbolic extent", async () => {
  const outputs = await run(
    (program) => {
      const T = program.dim("T", 4);
      const table = program.constant(Float32Array.of(1, 2, 3, 4, 5), "f32", [5, 1]);
      program.output("rows", program.slice(table, { axis: 0, end: T }));
      program.output("positions", program.arange({ count: T, dtype: "i32" }));
      const row = program.arange({ count: T });
      const column = program.transpose(program.expand(row, { shape: [1, T] }));
      const seen = program.lessEqual(row, column);
      const zeros = program.full({ shape: [T, T], value: 0 });
      program.output("mask", program.where(seen, zeros, program.full({ shape: [], value: Number.NEGATIVE_INFINITY })));
    },
    {},
    { T: 2 },
  );
  expect(outputs).toEqual({ rows: [1, 2], positions: [0, 1], mask: [0, Number.NEGATIVE_INFINITY, 0, 0] });
});

test("an index outside the axis is an error that names the index", async () => {
  const gathered = run((program) => program.output("y", program.gather(program.input("x", "f32", [3]), program.input("i", "i32", [2]))), {
    x: new Float32Array(3),
    i: Int32Array.of(1, 3),
  });
  await expect(gathered).rejects.toThrow("gather: expected indices from 0 to 2, got 3 at 1");
  const scattered = run(
    (program) => {
      const x = program.input("x", "f32", [3]);
      program.output("y", program.scatter(x, program.input("i", "i32", [1]), program.slice(x, { axis: 0, end: 1 })));
    },
    { x: new Float32Array(3), i: Int32Array.of(-1) },
  );
  await expect(scattered).rejects.toThrow("scatter: expected indices from 0 to 2, got -1 at 0");
});

test("normal numbers have mean 0 and variance 1, uniform ones fill [0, 1)", async () => {
  const { normal, uniform } = await run((program) => {
    program.output("normal", program.random({ shape: [20_000], seed: 7, distribution: "normal" }));
    program.output("uniform", program.random({ shape: [20_000], seed: 7 }));
  });
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  expect(Math.abs(mean(normal!))).toBeLessThan(0.03);
  expect(mean(normal!.map((value) => value ** 2))).toBeCloseTo(1, 1);
  expect(mean(uniform!)).toBeCloseTo(0.5, 2);
  expect(Math.min(...uniform!)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...uniform!)).toBeLessThan(1);
});
