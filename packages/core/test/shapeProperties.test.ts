import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CentellaError, createProgram, reference, type TensorSpec, type TypedArray } from "../src/index.ts";
import { ops } from "../src/ops/index.ts";
import type { AnyOp } from "../src/program/op.ts";
import { completeParams } from "../src/program/program.ts";
import { elementCount, maxSpec } from "../src/spec.ts";

const extent = fc.integer({ min: 0, max: 4 });
const shape = (minLength = 0) => fc.array(extent, { minLength, maxLength: 4 });

/** A shape and two shapes that broadcast to it: some extents are 1, some leading axes are missing. */
const broadcasting = shape().chain((full) =>
  fc.record({ full: fc.constant(full), a: shrunk(full), b: shrunk(full) }).map(({ full: whole, a, b }) => {
    // An extent that is 1 in both shapes is 1 in the result.
    const rank = Math.max(a.length, b.length);
    const at = (part: readonly number[], axis: number): number => part[axis - rank + part.length] ?? 1;
    return { a, b, want: whole.slice(whole.length - rank).map((_, axis) => (at(a, axis) === 1 ? at(b, axis) : at(a, axis))) };
  }),
);

function shrunk(full: readonly number[]): fc.Arbitrary<number[]> {
  return fc
    .tuple(fc.integer({ min: 0, max: full.length }), fc.array(fc.boolean(), { minLength: full.length, maxLength: full.length }))
    .map(([dropped, ones]) => full.map((dim, axis) => (ones[axis] === true ? 1 : dim)).slice(dropped));
}

const f32 = (dims: readonly number[]): TensorSpec => ({ dtype: "f32", shape: dims });

function infer(op: AnyOp, inputs: readonly TensorSpec[], params: object = {}): TensorSpec {
  return op.infer(inputs, completeParams(op, params));
}

const backend = await reference().open();

async function run(op: AnyOp, inputs: readonly TensorSpec[], params: object, data: readonly TypedArray[]): Promise<readonly number[]> {
  const program = createProgram();
  const refs = inputs.map(({ dtype, shape: dims }, i) => program.input(String(i), dtype, dims));
  program.output("y", program.record(op, refs, params));
  const plan = await backend.compile(program);
  try {
    return [...plan.runSync!(Object.fromEntries(data.map((array, i) => [String(i), array]))).y!];
  } finally {
    plan.dispose();
  }
}

const counting = (dims: readonly number[], offset = 0): Float32Array =>
  Float32Array.from({ length: elementCount(dims) }, (_, i) => i + offset);

/** Element of a tensor that was broadcast to `full`, at an index of `full`. Follows the definition axis by axis. */
function broadcastAt(data: Float32Array, from: readonly number[], full: readonly number[], place: readonly number[]): number {
  const index = from.reduce((at, dim, axis) => at * dim + (dim === 1 ? 0 : place[axis + full.length - from.length]!), 0);
  return data[index]!;
}

function* places(full: readonly number[]): Generator<readonly number[]> {
  for (let i = 0; i < elementCount(full); i++) {
    let rest = i;
    yield full
      .toReversed()
      .map((dim) => {
        const at = rest % dim;
        rest = Math.floor(rest / dim);
        return at;
      })
      .toReversed();
  }
}

describe("broadcasting", () => {
  test("gives the shape by numpy's rule, in either order of the tensors", () => {
    fc.assert(
      fc.property(broadcasting, ({ a, b, want }) => {
        expect(infer(ops.add, [f32(a), f32(b)]).shape).toEqual(want);
        expect(infer(ops.add, [f32(b), f32(a)]).shape).toEqual(want);
        expect(infer(ops.less, [f32(a), f32(b)])).toEqual({ dtype: "bool", shape: want });
        expect(infer(ops.fma, [f32(a), f32(b), f32(a)]).shape).toEqual(want);
      }),
    );
  });

  test("is associative if it is defined", () => {
    fc.assert(
      fc.property(
        shape().chain((full) => fc.tuple(shrunk(full), shrunk(full), shrunk(full))),
        ([a, b, c]) => {
          const left = infer(ops.add, [infer(ops.add, [f32(a), f32(b)]), f32(c)]);
          expect(infer(ops.add, [f32(a), infer(ops.add, [f32(b), f32(c)])])).toEqual(left);
          expect(infer(ops.fma, [f32(a), f32(b), f32(c)])).toEqual(left);
        },
      ),
    );
  });

  test("gives any two shapes a common shape, or refuses them with a message", () => {
    fc.assert(
      fc.property(shape(), shape(), (a, b) => {
        const rank = Math.max(a.length, b.length);
        const at = (part: readonly number[], axis: number): number => part[axis - rank + part.length] ?? 1;
        const fits = Array.from({ length: rank }, (_, axis) => at(a, axis) === at(b, axis) || at(a, axis) === 1 || at(b, axis) === 1);
        if (fits.every(Boolean)) expect(infer(ops.mul, [f32(a), f32(b)]).shape).toHaveLength(rank);
        else expect(() => infer(ops.mul, [f32(a), f32(b)])).toThrow(/^mul: expected shapes that broadcast/);
      }),
    );
  });

  test("takes elements as defined", async () => {
    await fc.assert(
      fc.asyncProperty(broadcasting, async ({ a, b, want }) => {
        const [x, y] = [counting(a), counting(b, 100)];
        const got = await run(ops.sub, [f32(a), f32(b)], {}, [x, y]);
        const expected = [...places(want)].map((place) => broadcastAt(x, a, want, place) - broadcastAt(y, b, want, place));
        expect(got).toEqual(expected);
        const spread = await run(ops.expand, [f32(a)], { shape: want }, [x]);
        expect(spread).toEqual([...places(want)].map((place) => broadcastAt(x, a, want, place)));
      }),
      { numRuns: 60 },
    );
  });
});

describe("shape rules", () => {
  const withAxis = shape(1).chain((dims) => fc.record({ dims: fc.constant(dims), axis: fc.integer({ min: 0, max: dims.length - 1 }) }));

  test("a negative axis is the one counted from the end", () => {
    fc.assert(
      fc.property(withAxis, ({ dims, axis }) => {
        const x = f32(dims);
        for (const [op, params] of [
          [ops.sum, {}],
          [ops.sum, { keepDims: true }],
          [ops.softmax, {}],
          [ops.cumsum, {}],
          [ops.sort, {}],
          [ops.slice, { start: 0, end: 0 }],
        ] as const satisfies readonly (readonly [AnyOp, object])[]) {
          expect(infer(op, [x], { ...params, axis: axis - dims.length })).toEqual(infer(op, [x], { ...params, axis }));
        }
        expect(infer(ops.concat, [x, x, x], { axis: axis - dims.length })).toEqual(infer(ops.concat, [x, x, x], { axis }));
        expect(infer(ops.stack, [x, x], { axis: axis - dims.length - 1 })).toEqual(infer(ops.stack, [x, x], { axis }));
      }),
    );
  });

  test("every op with an axis refuses an axis out of range", () => {
    fc.assert(
      fc.property(withAxis, fc.integer({ min: 0, max: 3 }), ({ dims, axis }, beyond) => {
        const away = axis % 2 === 0 ? dims.length + beyond : -dims.length - 1 - beyond;
        for (const op of [ops.sum, ops.prod, ops.softmax, ops.cumsum, ops.sort, ops.argsort, ops.argmax, ops.mean]) {
          expect(() => infer(op, [f32(dims)], { axis: away })).toThrow(CentellaError);
        }
      }),
    );
  });

  test("a reduction keeps or drops its axis and nothing else", () => {
    fc.assert(
      fc.property(withAxis, ({ dims, axis }) => {
        expect(infer(ops.sum, [f32(dims)], { axis }).shape).toEqual(dims.toSpliced(axis, 1));
        expect(infer(ops.sum, [f32(dims)], { axis, keepDims: true }).shape).toEqual(dims.with(axis, 1));
        expect(infer(ops.any, [{ dtype: "bool", shape: dims }], { axis })).toEqual({ dtype: "bool", shape: dims.toSpliced(axis, 1) });
      }),
    );
  });

  test("concatenated parts are the original tensor", async () => {
    await fc.assert(
      fc.asyncProperty(withAxis, fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 }), async ({ dims, axis }, cuts) => {
        const extents = [0, ...cuts.map((cut) => Math.min(cut, dims[axis]!)).sort(), dims[axis]!];
        const program = createProgram();
        const x = program.input("x", "f32", dims);
        const parts = extents.slice(1).map((end, i) => program.slice(x, { axis, start: extents[i]!, end }));
        program.output("y", program.concat(parts, { axis }));
        const plan = await backend.compile(program);
        expect([...plan.runSync!({ x: counting(dims) }).y!]).toEqual([...counting(dims)]);
        plan.dispose();
      }),
      { numRuns: 60 },
    );
  });

  test("a transpose and its inverse give the original tensor, and each element moves as defined", async () => {
    const permuted = shape().chain((dims) =>
      fc.record({
        dims: fc.constant(dims),
        axes: fc.shuffledSubarray(
          dims.map((_, axis) => axis),
          { minLength: dims.length },
        ),
      }),
    );
    await fc.assert(
      fc.asyncProperty(permuted, async ({ dims, axes }) => {
        const back = axes.map((_, axis) => axes.indexOf(axis));
        const turned = infer(ops.transpose, [f32(dims)], { axes });
        expect(turned.shape).toEqual(axes.map((axis) => dims[axis]));
        const there = await run(ops.transpose, [f32(dims)], { axes }, [counting(dims)]);
        expect(await run(ops.transpose, [maxSpec(turned)], { axes: back }, [Float32Array.from(there)])).toEqual([...counting(dims)]);
        const places1 = [...places(maxSpec(turned).shape)];
        expect(there).toEqual(
          places1.map((place) =>
            broadcastAt(
              counting(dims),
              dims,
              dims,
              back.map((axis) => place[axis]!),
            ),
          ),
        );
      }),
      { numRuns: 60 },
    );
  });

  test("the shape of a product broadcasts batch axes and drops inner extents", () => {
    const side = fc.integer({ min: 0, max: 3 });
    fc.assert(
      fc.property(broadcasting, side, side, side, fc.boolean(), fc.boolean(), ({ a, b, want }, m, n, k, transposeA, transposeB) => {
        const left = f32([...a, ...(transposeA ? [k, m] : [m, k])]);
        const right = f32([...b, ...(transposeB ? [n, k] : [k, n])]);
        expect(infer(ops.matmul, [left, right], { transposeA, transposeB }).shape).toEqual([...want, m, n]);
      }),
    );
  });

  test("sorted lines are in order and have the same elements, also when taken by argsort", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.float({ noDefaultInfinity: false }), fc.constantFrom(1, 2, 0, -0)), { minLength: 1, maxLength: 12 }),
        async (values) => {
          const x = Float32Array.from(values);
          const spec = f32([x.length]);
          const sorted = await run(ops.sort, [spec], {}, [x]);
          // The sort is stable and −0 equals 0, so zeros of both signs keep their order.
          expect(sorted).toEqual([...x].sort((p, q) => (Number.isNaN(p) ? 1 : Number.isNaN(q) ? -1 : p - q)));
          const order = await run(ops.argsort, [spec], {}, [x]);
          const taken = await run(ops.takeAlongAxis, [spec, { dtype: "i32", shape: [x.length] }], {}, [x, Int32Array.from(order)]);
          expect(taken).toEqual(sorted);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("element counts that overflow are refused when they are recorded", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2 ** 27, max: 2 ** 40 }), fc.integer({ min: 2 ** 27, max: 2 ** 40 }), (m, n) => {
        const program = createProgram();
        const a = program.input("a", "f32", [m, 1]);
        const b = program.input("b", "f32", [1, n]);
        expect(() => program.add(a, b)).toThrow(/^add: expected at most 2\^53 - 1 elements, got \[/);
        expect(() => program.matmul(a, b)).toThrow(/^matmul: expected at most/);
        expect(() => program.expand(a, { shape: [m, n] })).toThrow(/^expand: expected at most/);
        expect(() => program.full({ shape: [m, n], value: 0 })).toThrow(/^full: expected at most/);
        expect(() => program.input("c", "f32", [m, n])).toThrow(/^input c: expected at most/);
        expect(() => program.persistent("p", { dtype: "f32", shape: [m, n] })).toThrow(/^persistent p: expected at most/);
      }),
      { numRuns: 20 },
    );
  });
});

test("a tensor that does not fit into memory has its own error", async () => {
  const program = createProgram();
  program.output("y", program.full({ shape: [2 ** 26, 2 ** 26], value: 1 }));
  const plan = await backend.compile(program);
  await expect(plan.run({}).y!.data()).rejects.toMatchObject({ code: "outOfMemory", requested: 2 ** 54 });
});
