import { describe, expect, test } from "vitest";
import { lower, type Unsupported } from "../src/compiler/lower.ts";
import { commonSubexpressions } from "../src/compiler/passes/commonSubexpressions.ts";
import { deadCode } from "../src/compiler/passes/deadCode.ts";
import { foldConstants } from "../src/compiler/passes/foldConstants.ts";
import type { FusedParams } from "../src/compiler/passes/fused.ts";
import { createProgram, type Program, reference, type Value } from "../src/index.ts";
import { beforeAndAfter, opsOf, scalar, state } from "./support/passes.ts";

describe("deadCode", () => {
  test("keeps nodes that outputs and writes depend on", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    program.tanh(program.sigmoid(x));
    program.assign(state(program), program.silu(x));
    program.output("y", program.relu(x));
    expect(beforeAndAfter(program, deadCode)).toMatchInlineSnapshot(`
      "before
      input x: f32 [4]
      persistent state: f32 [4], zeros
      %1: f32 [4] = sigmoid(x)
      %2: f32 [4] = tanh(%1)
      %4: f32 [4] = silu(x)
      state'1: f32 [4] = assign(state, %4)
      %6: f32 [4] = relu(x)
      output y: %6 to the host

      after
      input x: f32 [4]
      persistent state: f32 [4], zeros
      %4: f32 [4] = silu(x)
      state'1: f32 [4] = assign(state, %4)
      %6: f32 [4] = relu(x)
      output y: %6 to the host
      "
    `);
  });
});

describe("commonSubexpressions", () => {
  test("computes repeated calls once, step by step", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const twice = () => program.add(program.scale(x, { by: 2 }), program.constant(Float32Array.of(1), "f32", []));
    program.output("y", program.mul(program.relu(twice()), program.relu(twice())));
    program.output("z", program.scale(x, { by: 3 }));
    expect(beforeAndAfter(program, commonSubexpressions)).toMatchInlineSnapshot(`
      "before
      input x: f32 [4]
      %1: f32 [4] = scale(x, by: 2)
      %3: f32 [4] = add(%1, 1)
      %4: f32 [4] = relu(%3)
      %5: f32 [4] = scale(x, by: 2)
      %7: f32 [4] = add(%5, 1)
      %8: f32 [4] = relu(%7)
      %9: f32 [4] = mul(%4, %8)
      %10: f32 [4] = scale(x, by: 3)
      output y: %9 to the host
      output z: %10 to the host

      after
      input x: f32 [4]
      %1: f32 [4] = scale(x, by: 2)
      %3: f32 [4] = add(%1, 1)
      %4: f32 [4] = relu(%3)
      %9: f32 [4] = mul(%4, %4)
      %10: f32 [4] = scale(x, by: 3)
      output y: %9 to the host
      output z: %10 to the host
      "
    `);
  });

  test("reads before and after a write stay apart, and writes are never merged", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const first = state(program);
    const before = program.relu(first);
    const second = program.assign(first, x);
    const third = program.assign(second, x);
    program.output("y", program.sub(program.relu(third), before));
    expect(opsOf(commonSubexpressions(program))).toEqual(["relu", "assign", "assign", "relu", "sub"]);
  });

  test("0 and -0 stay apart, and so do ops that only share a name", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    program.output("a", program.div(x, scalar(program, 0)));
    program.output("b", program.div(x, scalar(program, -0)));
    program.output("c", program.scale(x, { by: -0 }));
    program.output("d", program.scale(x, { by: 0 }));
    program.output("e", program.record({ ...program.nodes[3]!.op }, [x], { by: 0 }));
    expect(opsOf(commonSubexpressions(program))).toEqual(["div", "div", "scale", "scale", "scale"]);
  });
});

describe("foldConstants", () => {
  test("folds scalars that are known when the program is recorded", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const three = program.add(scalar(program, 1), scalar(program, 2));
    program.output("y", program.mul(three, program.scale(program.mul(x, scalar(program, 1)), { by: 2 })));
    expect(beforeAndAfter(program, foldConstants)).toMatchInlineSnapshot(`
      "before
      input x: f32 [4]
      %3: f32 [] = add(1, 2)
      %5: f32 [4] = mul(x, 1)
      %6: f32 [4] = scale(%5, by: 2)
      %7: f32 [4] = mul(%3, %6)
      output y: %7 to the host

      after
      input x: f32 [4]
      %6: f32 [4] = scale(x, by: 2)
      %7: f32 [4] = scale(x, by: 6)
      output y: %7 to the host
      "
    `);
  });

  test.each([
    ["x * 1", (p: Program, x: Value) => p.mul(x, scalar(p, 1)), []],
    ["1 * x", (p: Program, x: Value) => p.mul(scalar(p, 1), x), []],
    ["x / 1", (p: Program, x: Value) => p.div(x, scalar(p, 1)), []],
    ["1 / x", (p: Program, x: Value) => p.div(scalar(p, 1), x), ["div"]],
    ["x - 0", (p: Program, x: Value) => p.sub(x, scalar(p, 0)), []],
    ["0 - x", (p: Program, x: Value) => p.sub(scalar(p, 0), x), ["sub"]],
    ["x + -0", (p: Program, x: Value) => p.add(x, scalar(p, -0)), []],
    ["x + 0 turns -0 into 0", (p: Program, x: Value) => p.add(x, scalar(p, 0)), ["add"]],
    ["x - -0 turns -0 into 0", (p: Program, x: Value) => p.sub(x, scalar(p, -0)), ["sub"]],
    ["x * 2", (p: Program, x: Value) => p.mul(x, scalar(p, 2)), ["scale"]],
    ["x * Infinity", (p: Program, x: Value) => p.mul(x, scalar(p, Infinity)), ["mul"]],
    ["scale by 1", (p: Program, x: Value) => p.scale(x, { by: 1 }), []],
    ["both grow", (p: Program, x: Value) => p.scale(p.scale(x, { by: 2 }), { by: -3 }), ["scale"]],
    ["both shrink", (p: Program, x: Value) => p.scale(p.scale(x, { by: 0.5 }), { by: 0.1 }), ["scale"]],
    ["an overflow on the way", (p: Program, x: Value) => p.scale(p.scale(x, { by: 1e38 }), { by: 1e-38 }), ["scale", "scale"]],
    ["a factor beyond f32", (p: Program, x: Value) => p.scale(p.scale(x, { by: 1e30 }), { by: 1e30 }), ["scale", "scale"]],
    ["a factor below f32's normal range", (p: Program, x: Value) => p.scale(p.scale(x, { by: 1e-30 }), { by: 1e-30 }), ["scale", "scale"]],
    ["a constant that stretches x", (p: Program, x: Value) => p.mul(x, p.constant(Float32Array.of(1), "f32", [1, 1])), ["mul"]],
    ["turned around, then grown", (p: Program, x: Value) => p.scale(p.scale(x, { by: -1 }), { by: 2 }), ["scale"]],
    ["grown, then turned around", (p: Program, x: Value) => p.scale(p.scale(x, { by: 2 }), { by: -1 }), ["scale"]],
    ["the smallest factor", (p: Program, x: Value) => p.scale(p.scale(x, { by: 2 ** -63 }), { by: 2 ** -63 }), ["scale"]],
    ["the largest factor", (p: Program, x: Value) => p.scale(p.scale(x, { by: 2 ** 63 }), { by: 2 ** 64 }), ["scale"]],
    ["a scalar that a run gives", (p: Program, x: Value) => p.mul(x, p.add(p.input("s", "f32", []), scalar(p, 1))), ["add", "mul"]],
    ["a scalar made from nothing", (p: Program, x: Value) => p.mul(x, p.full({ shape: [], value: 2 })), ["full", "mul"]],
    ["scalars that are spread", (p: Program, x: Value) => p.mul(x, p.expand(scalar(p, 2), { shape: [4] })), ["expand", "mul"]],
    ["scalars that are put together", (p: Program, x: Value) => p.mul(x, p.stack([1, 2, 3, 4].map((v) => scalar(p, v)))), ["stack", "mul"]],
    ["a vector constant", (p: Program, x: Value) => p.mul(x, p.constant(new Float32Array(4).fill(1), "f32", [4])), ["mul"]],
  ])("%s", (_name, record, want) => {
    const program = createProgram();
    program.output("y", record(program, program.input("x", "f32", [4])));
    expect(opsOf(deadCode(foldConstants(program)))).toEqual(want);
  });

  test("integers wrap as in the op", () => {
    const program = createProgram();
    const i32 = (value: number) => program.constant(Int32Array.of(value), "i32", []);
    program.output("y", program.add(i32(2 ** 31 - 1), i32(1)));
    program.output("z", program.add(program.input("x", "i32", [3]), i32(0)));
    const folded = foldConstants(program);
    expect(opsOf(folded)).toEqual([]);
    expect(folded.values[folded.outputs[0]!.value]!.definition).toEqual({ kind: "constant", data: Int32Array.of(-(2 ** 31)) });
    expect(folded.outputs[1]!.value).toBe(program.inputs.get("x"));
  });

  test("a constant of 16 bits is folded in its stored form", () => {
    for (const [dtype, bits] of [
      ["f16", 0x2e66],
      ["bf16", 0x3dcd],
    ] as const) {
      const program = createProgram();
      const stored = program.cast(scalar(program, 0.1), { dtype });
      program.output("stored", stored);
      const folded = foldConstants(program);
      expect(opsOf(folded)).toEqual([]);
      expect(folded.values[folded.outputs[0]!.value]!.definition).toEqual({ kind: "constant", data: Uint16Array.of(bits) });
      // 16-bit constants are not folded further.
      program.output("back", program.cast(stored, { dtype: "f32" }));
      expect(opsOf(foldConstants(program))).toEqual(["cast"]);
    }
  });

  test("a copy of a persistent keeps its value when the persistent is written later", async () => {
    const program = createProgram();
    const first = state(program);
    const copy = program.scale(first, { by: 1 });
    const half = program.scale(first, { by: 0.5 });
    program.assign(first, program.input("x", "f32", [4]));
    program.output("copy", copy);
    program.output("quarter", program.scale(half, { by: 0.5 }));
    expect(opsOf(foldConstants(program))).toEqual(["scale", "scale", "assign", "scale"]);
    const plan = await (await reference().open()).compile(program);
    plan.runSync!({ x: Float32Array.of(4, 4, 4, 4) });
    const { copy: got, quarter } = plan.runSync!({ x: new Float32Array(4) });
    expect([...got!, ...quarter!]).toEqual([4, 4, 4, 4, 1, 1, 1, 1]);
  });
});

test("the listing of a lowered program has shapes, costs, groups and storages", () => {
  const program = createProgram();
  const T = program.dim("T", 8);
  const x = program.input("x", "f32", [T, 4]);
  const w = program.persistent("w", { dtype: "f32", shape: [4, 6] });
  const log = program.persistent("log", { dtype: "f32", shape: [] }, { init: "zeros" });
  const h = program.relu(program.add(program.matmul(x, w), program.constant(Float32Array.of(0.5), "f32", [])));
  program.output("y", program.softmax(program.reshape(h, { shape: [T, 2, 3] })));
  program.assign(log, program.sum(h));
  expect(program.explain()).toMatchInlineSnapshot(`
    "4 steps on any backend, from 7 recorded ops
    input x: f32 [T≤8, 4]
    persistent w: f32 [4, 6], load
    persistent log: f32 [], zeros
    %6: f32 [T≤8, 6] = fused(x, w, 0.5)  (480 flops, 420 bytes, at 0)
      .0 = matmul(x, w, transposeA: false, transposeB: false, activations: "f32")
      .1 = add(.0, 0.5)
      .2 = relu(.1)
    %7: f32 [T≤8, 2, 3] = reshape(%6, shape: [T≤8, 2, 3])  (view)
    %8: f32 [T≤8, 2, 3] = softmax(%7, axis: -1)  (240 flops, 384 bytes, at 192)
    %9: f32 [] = sum(%6, axis: null, keepDims: false)  (48 flops, 196 bytes, at 384)
    log'1: f32 [] = assign(log, %9)  (0 flops, 8 bytes, in log)
    output y: %8 to the host
    in all: 768 flops, 1,008 bytes, an arena of 448 bytes for 388 bytes of temporaries
    "
  `);
  const picky = {
    name: "picky",
    unsupported: ({ name }: { name: string }) => (name === "fused" ? "its kernels are made one by one" : undefined),
    memoryModel: "buffers",
  } as const;
  expect(program.explain(picky)).toMatchInlineSnapshot(`
    "6 steps on picky, from 7 recorded ops
    input x: f32 [T≤8, 4]
    persistent w: f32 [4, 6], load
    persistent log: f32 [], zeros
    %3: f32 [T≤8, 6] = matmul(x, w, transposeA: false, transposeB: false, activations: "f32")  (384 flops, 416 bytes, in buffer 0)
    %5: f32 [T≤8, 6] = add(%3, 0.5)  (48 flops, 388 bytes, in buffer 1)
    %6: f32 [T≤8, 6] = relu(%5)  (48 flops, 384 bytes, in buffer 0)
    %7: f32 [T≤8, 2, 3] = reshape(%6, shape: [T≤8, 2, 3])  (view)
    %8: f32 [T≤8, 2, 3] = softmax(%7, axis: -1)  (240 flops, 384 bytes, in buffer 1)
    %9: f32 [] = sum(%6, axis: null, keepDims: false)  (48 flops, 196 bytes, in buffer 2)
    log'1: f32 [] = assign(log, %9)  (0 flops, 8 bytes, in log)
    output y: %8 to the host
    in all: 768 flops, 1,776 bytes, 3 buffers of 388 bytes for 772 bytes of temporaries
    not fused: add + relu: its kernels are made one by one
    not fused: matmul + add: its kernels are made one by one
    "
  `);
});

describe("inPlace", () => {
  const elementwiseGroups: Unsupported = (_op, _inputs, params) =>
    "body" in params && (params as FusedParams).body.some(({ op }) => op.elementwise !== true) ? "elementwise calls alone" : undefined;
  const toy = { name: "toy", unsupported: elementwiseGroups };

  const chain = () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4, 2]);
    const wide = program.softmax(x);
    const kept = program.tanh(wide);
    const summed = program.sum(kept, { axis: 0 });
    const next = program.softmax(program.mul(kept, summed));
    program.output("y", program.add(next, program.reshape(next, { shape: [1, 4, 2] })));
    program.output("kept", kept);
    return program;
  };

  test("an elementwise call writes over an input that it reads last, in one address space", () => {
    expect(chain().explain(toy)).toMatchInlineSnapshot(`
      "6 steps on toy, from 7 recorded ops
      input x: f32 [4, 2]
      %1: f32 [4, 2] = softmax(x, axis: -1)  (40 flops, 64 bytes, at 0)
      %2: f32 [4, 2] = tanh(%1)  (8 flops, 64 bytes, at 0, in place)
      %3: f32 [2] = sum(%2, axis: 0, keepDims: false)  (8 flops, 40 bytes, at 128)
      %4: f32 [4, 2] = mul(%2, %3)  (8 flops, 72 bytes, at 64)
      %5: f32 [4, 2] = softmax(%4, axis: -1)  (40 flops, 64 bytes, at 128)
      %6: f32 [1, 4, 2] = reshape(%5, shape: [1, 4, 2])  (view)
      %7: f32 [1, 4, 2] = add(%5, %6)  (8 flops, 96 bytes, at 64)
      output y: %7 to the host
      output kept: %2 to the host
      in all: 112 flops, 400 bytes, an arena of 192 bytes for 136 bytes of temporaries
      not fused: softmax + tanh: elementwise calls alone
      not fused: tanh + sum: elementwise calls alone
      not fused: mul + softmax: elementwise calls alone
      "
    `);
    expect(chain().explain({ ...toy, memoryModel: "buffers" })).not.toContain("in place");
  });

  const inPlaceSteps = (record: (program: Program, x: Value) => Value): readonly string[] => {
    const program = createProgram();
    program.output("y", record(program, program.softmax(program.input("x", "f32", [4, 2]))));
    const { steps } = lower(program, "any", elementwiseGroups, { memoryModel: "addressSpace" });
    return steps.filter(({ inputs, output }) => inputs.some((operand) => operand?.storage === output.storage)).map(({ op }) => op.name);
  };

  test.each([
    [
      "a temporary that is read for the last time",
      (p: Program, x: Value) => p.sum(p.tanh(p.max(p.reshape(x, { shape: [4, 2] }), { axis: 0 }))),
      ["tanh"],
    ],
    ["several calls after another", (p: Program, x: Value) => p.softmax(p.relu(p.add(p.cumsum(x), p.cumsum(x)))), ["fused"]],
    ["an input of the program", (p: Program) => p.tanh(p.input("z", "f32", [4, 2])), []],
    ["a temporary that is read again", (p: Program, x: Value) => p.matmul(p.tanh(x), x, { transposeB: true }), []],
    ["a temporary of another shape", (p: Program, x: Value) => p.add(p.sum(x, { axis: 0 }), p.input("z", "f32", [3, 2])), []],
    ["a temporary of another dtype", (p: Program, x: Value) => p.greater(x, x), []],
    [
      "a temporary that is seen under another shape",
      (p: Program, x: Value) => p.sub(p.reshape(x, { shape: [1, 4, 2] }), p.reshape(x, { shape: [4, 1, 2] })),
      [],
    ],
    ["no elementwise call", (p: Program, x: Value) => p.softmax(x), []],
  ])("%s", (_name, record, want) => {
    expect(inPlaceSteps(record)).toEqual(want);
  });
});
