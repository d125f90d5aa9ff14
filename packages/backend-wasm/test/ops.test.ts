import { uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType, type Program, reference, type TypedArray, type Value } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wasm } from "../src/index.ts";
import { targets } from "./shared.ts";

/** Large enough for several calls of a loop, and prime. */
const many = 200_003;

interface Input {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: TypedArray;
}

const f32 = (seed: number, ...shape: number[]): Input => ({
  dtype: "f32",
  shape,
  data: uniform(
    seed,
    shape.reduce((product, extent) => product * extent, 1),
  ),
});

describe.each(targets)("results match the reference, relaxed: $relaxed", ({ relaxed }) => {
  let backend: Backend;
  let scalar: Backend;
  beforeAll(async () => {
    [backend, scalar] = [await wasm({ relaxed }).open(), await reference().open()];
  });
  afterAll(async () => {
    await backend.dispose();
    await scalar.dispose();
  });

  async function evaluate(on: Backend, inputs: readonly Input[], record: (program: Program, refs: readonly Value[]) => Value) {
    const program = createProgram();
    program.output(
      "y",
      record(
        program,
        inputs.map(({ dtype, shape }, i) => program.input(String(i), dtype, shape)),
      ),
    );
    const plan = await on.compile(program);
    const y = await plan.run(Object.fromEntries(inputs.map(({ data }, i) => [i, data]))).y!.data();
    plan.dispose();
    return y;
  }

  async function likeReference(
    inputs: readonly Input[],
    record: (program: Program, refs: readonly Value[]) => Value,
    tolerance = 0,
  ): Promise<void> {
    const [got, want] = [await evaluate(backend, inputs, record), await evaluate(scalar, inputs, record)];
    expect(got.length).toBe(want.length);
    let [worst, at] = [0, -1];
    got.forEach((value, i) => {
      const error = Object.is(value, want[i]) || value === want[i] ? 0 : Math.abs(value - want[i]!) / (1 + Math.abs(want[i]!));
      if (!(error <= worst)) [worst, at] = [error, i];
    });
    expect(worst, `at ${at}: got ${got[at]}, want ${want[at]}`).toBeLessThanOrEqual(tolerance);
  }

  test("a group over many elements with bools, halves and integers between its calls", () =>
    likeReference([f32(1, many), f32(2, many)], (p, [a, b]) => {
      const isLess = p.logicalXor(p.less(a!, b!), p.logicalNot(p.greaterEqual(a!, p.scale(b!, { by: 0.5 }))));
      const halves = p.cast(p.cast(p.add(a!, b!), { dtype: "f16" }), { dtype: "f32" });
      const whole = p.cast(p.cast(p.scale(a!, { by: 1000 }), { dtype: "i8" }), { dtype: "f32" });
      return p.where(isLess, halves, whole);
    }));

  test.each(["f16", "bf16", "i8", "u8", "i32", "u32", "bool"] as const)("a cast of many elements to %s", (dtype) =>
    likeReference([{ ...f32(3, many), data: uniform(3, many).map((x) => 300 * x) }], (p, [x]) => p.cast(x!, { dtype })),
  );

  test("broadcasts along alternate axes", () =>
    likeReference([f32(4, 3, 1, 5, 1, 7), f32(5, 1, 4, 1, 6, 1), f32(6, 3, 4, 1, 1, 7), f32(7)], (p, [a, b, c, s]) =>
      p.mul(p.sub(p.add(a!, b!), c!), s!),
    ));

  test("rows of an odd width", () =>
    likeReference([f32(8, 10_007, 13), f32(9, 13), f32(10, 10_007, 1)], (p, [x, row, column]) => p.add(p.mul(x!, row!), column!)));

  const reductions = ["sum", "sumKahan", "mean", "variance", "max", "min", "normL1", "normL2", "normLinf", "argmax", "argmin"] as const;
  test.each(reductions)("%s of rows, columns and planes", async (name) => {
    for (const [shape, axis] of [
      [[many], 0],
      [[37, 4099], 1],
      [[4099, 37], 0],
      [[5, 333, 70], 1],
    ] as const) {
      await likeReference([f32(11, ...shape)], (p, [x]) => p[name](x!, { axis }), 1e-5);
    }
  });

  const convolutions: readonly [string, number[], number[], object][] = [
    ["padded, several panels and images", [2, 5, 19, 23], [7, 5, 3, 3], { padding: [1, 1] }],
    ["strided and dilated", [1, 6, 31, 40], [9, 6, 3, 5], { stride: [2, 3], padding: [2, 4], dilation: [2, 1] }],
    ["wide, more taps than a block of k", [1, 60, 9, 60], [13, 60, 3, 3], { padding: [0, 1] }],
    ["more positions than a block of columns", [1, 3, 40, 61], [8, 3, 2, 2], {}],
    ["of one tap", [2, 40, 13, 11], [30, 40, 1, 1], {}],
    ["of one tap, strided", [2, 40, 13, 11], [30, 40, 1, 1], { stride: [2, 2] }],
    ["in groups", [2, 12, 10, 11], [15, 4, 3, 3], { groups: 3, padding: [1, 1] }],
    ["depthwise", [2, 9, 17, 33], [9, 1, 3, 3], { groups: 9, padding: [1, 1] }],
    ["depthwise, two outputs each, strided", [1, 5, 17, 33], [10, 1, 5, 3], { groups: 5, stride: [2, 2], padding: [2, 1] }],
    ["columns narrower than a vector", [1, 4, 50, 3], [6, 4, 3, 3], { padding: [1, 1] }],
  ];
  test.each(convolutions)("conv2d %s", (_name, x, w, params) =>
    likeReference([f32(21, ...x), f32(22, ...w)], (p, [image, kernel]) => p.conv2d(image!, kernel!, params), 2e-5),
  );

  test.each(["cumsum", "cumprod"] as const)("%s of rows and columns", async (name) => {
    const near1 = (shape: readonly number[]): Input => {
      const input = f32(12, ...shape);
      return { ...input, data: input.data.map((x) => 1 + x / 100) as Float32Array };
    };
    await likeReference([near1([9, 1031])], (p, [x]) => p[name](x!, { axis: 1 }), 1e-6);
    await likeReference([near1([1031, 21])], (p, [x]) => p[name](x!, { axis: 0 }), 1e-6);
  });

  // Every value occurs several times, so that the order of equal values shows.
  const ties = (shape: readonly number[]): Input => {
    const input = f32(13, ...shape);
    const data = input.data.map((x) => Math.round(50 * x) / 2) as Float32Array;
    data.set([Number.NaN, -0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN], 3);
    return { ...input, data };
  };
  test.each([true, false])("sort and argsort, descending: %s", async (descending) => {
    for (const [shape, axis] of [
      [[3, 5003], 1],
      [[1025, 7], 0],
    ] as const) {
      await likeReference([ties(shape)], (p, [x]) => p.sort(x!, { axis, descending }));
      await likeReference([ties(shape)], (p, [x]) => p.argsort(x!, { axis, descending }));
    }
  });

  test.each([true, false])("the first k of a long line, largest: %s", async (largest) => {
    for (const k of [1, 40, 1000]) {
      await likeReference([ties([2, 50_021])], (p, [x]) => p.topK(x!, { k, largest }));
      await likeReference([ties([2, 50_021])], (p, [x]) => p.topKIndices(x!, { k, largest }));
    }
  });

  test.each([
    [1, 0],
    [0, 2, 1],
    [2, 1, 0],
    [2, 0, 1],
  ])("transpose %s %s %s", (...axes) => {
    const order = axes.filter((axis) => axis !== undefined);
    const shape = order.length === 2 ? [301, 203] : [17, 61, 35];
    return likeReference([f32(14, ...shape)], (p, [x]) => p.transpose(x!, { axes: order }));
  });

  test("updates of the same place keep their order", () =>
    likeReference(
      [
        f32(15, 3, 50, 9),
        { dtype: "i32", shape: [400], data: Int32Array.from({ length: 400 }, (_, i) => (i * 7) % 50) },
        f32(16, 3, 400, 9),
      ],
      (p, [x, indices, updates]) => p.scatter(x!, indices!, updates!, { axis: 1 }),
    ));

  test("normal numbers of every size of tensor", async () => {
    for (const count of [1, 15, 16, 17, 4099])
      await likeReference([], (p) => p.random({ shape: [count], seed: 2 ** 40 + 5, distribution: "normal" }), 3e-6);
  });

  test("an index out of range reads zeros and skips updates", async () => {
    const indices = { dtype: "i32" as const, shape: [4], data: Int32Array.of(1, -1, 3, 0) };
    const x = { ...f32(0, 3, 2), data: Float32Array.of(1, 2, 3, 4, 5, 6) };
    const rows = await evaluate(backend, [x, indices], (p, [from, at]) => p.gather(from!, at!));
    expect([...rows]).toEqual([3, 4, 0, 0, 0, 0, 1, 2]);
    const updates = { ...f32(0, 4, 2), data: Float32Array.of(10, 11, 12, 13, 14, 15, 16, 17) };
    const written = await evaluate(backend, [x, indices, updates], (p, [to, at, u]) => p.scatter(to!, at!, u!));
    expect([...written]).toEqual([16, 17, 10, 11, 5, 6]);
  });
});

test.each(targets)("three threads give the bits of one, relaxed: $relaxed", async ({ relaxed }) => {
  const program = createProgram();
  const rows = program.input("x", "f32", [700, 333]);
  const flat = program.reshape(rows, { shape: [700 * 333] });
  const outputs = {
    group: program.gelu(program.mul(program.sigmoid(rows), program.slice(rows, { axis: 0, start: 0, end: 1 }))),
    column: program.softmax(rows, { axis: 0 }),
    row: program.logSoftmax(rows),
    sum: program.sum(rows, { axis: 0 }),
    all: program.mean(flat),
    variance: program.variance(rows, { axis: 1 }),
    running: program.cumsum(rows, { axis: 0 }),
    sorted: program.argsort(rows),
    top: program.topK(rows, { k: 20 }),
    turned: program.transpose(rows),
    random: program.random({ shape: [100_001], seed: 3, distribution: "normal" }),
    norm: program.groupNorm(program.reshape(flat, { shape: [70, 10, 333] }), program.full({ shape: [10], value: 2 }), {
      groups: 5,
      eps: 1e-5,
    }),
    pooled: program.maxPool2d(program.reshape(flat, { shape: [7, 10, 30, 111] }), { kernel: [3, 3], stride: [1, 2] }),
  };
  for (const [name, ref] of Object.entries(outputs)) program.output(name, ref);
  const x = uniform(17, 700 * 333);
  const results = await Promise.all(
    [1, 3].map(async (threads) => {
      const backend = await wasm({ relaxed, threads }).open();
      const plan = await backend.compile(program);
      const run = plan.run({ x });
      const data = await Promise.all(Object.entries(run).map(async ([name, y]) => [name, await y.data()] as const));
      await backend.dispose();
      return Object.fromEntries(data);
    }),
  );
  for (const name of Object.keys(outputs)) {
    const [one, three] = results.map((result) => result[name]!);
    expect(Buffer.compare(Buffer.from(one!.buffer), Buffer.from(three!.buffer)), name).toBe(0);
  }
});
