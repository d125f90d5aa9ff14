import { describe, expect, test } from "vitest";
import { lower, usesOf } from "../src/compiler/lower.ts";
import { fuseEpilogues } from "../src/compiler/passes/fuseEpilogues.ts";
import { fusePrologues } from "../src/compiler/passes/fusePrologues.ts";
import type { FusionLimits } from "../src/compiler/passes/grouping.ts";
import { createProgram, type Program, reference, type Value } from "../src/index.ts";
import { accept, beforeAndAfter, bodies, fuse, state } from "./support/passes.ts";

describe("fuseElementwise", () => {
  test("a DAG with broadcasting becomes one node", () => {
    const program = createProgram();
    const x = program.matmul(program.input("x", "f32", [program.dim("T", 8), 4]), program.input("w", "f32", [4, 4]));
    const gate = program.sigmoid(program.add(x, program.input("b", "f32", [4])));
    program.output("y", program.mul(gate, program.scale(x, { by: 2 })));
    expect(beforeAndAfter(program, (graph) => fuse(graph).program)).toMatchInlineSnapshot(`
      "before
      input x: f32 [T≤8, 4]
      input w: f32 [4, 4]
      input b: f32 [4]
      %2: f32 [T≤8, 4] = matmul(x, w, transposeA: false, transposeB: false, activations: "f32")
      %4: f32 [T≤8, 4] = add(%2, b)
      %5: f32 [T≤8, 4] = sigmoid(%4)
      %6: f32 [T≤8, 4] = scale(%2, by: 2)
      %7: f32 [T≤8, 4] = mul(%5, %6)
      output y: %7 to the host

      after
      input x: f32 [T≤8, 4]
      input w: f32 [4, 4]
      input b: f32 [4]
      %2: f32 [T≤8, 4] = matmul(x, w, transposeA: false, transposeB: false, activations: "f32")
      %7: f32 [T≤8, 4] = fused(%2, b)
        .0 = add(%2, b)
        .1 = sigmoid(.0)
        .2 = scale(%2, by: 2)
        .3 = mul(.1, .2)
      output y: %7 to the host
      "
    `);
  });

  test("a chain of any depth is one node", () => {
    const program = createProgram();
    let x = program.input("x", "f32", [4]);
    for (let i = 0; i < 500; i++) x = i % 2 === 0 ? program.relu(x) : program.add(x, x);
    program.output("y", x);
    const { nodes } = fuse(program).program;
    expect(nodes.length).toBe(1);
    expect((nodes[0]!.params as { body: unknown[] }).body.length).toBe(500);
  });

  test("an output, a value with another consumer, another shape and a view end a group", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const seen = program.relu(x);
    program.output("seen", seen);
    const shared = program.tanh(seen);
    program.output("sum", program.sum(shared));
    const small = program.sigmoid(program.input("s", "f32", [1]));
    const wide = program.mul(program.silu(shared), small);
    const view = program.reshape(program.gelu(wide), { shape: [2, 2] });
    program.output("y", program.relu(program.tanh(view)));
    expect(bodies(fuse(program).program)).toEqual(["relu", "tanh", "sum", "sigmoid", "silu+mul+gelu", "reshape", "tanh+relu"]);
  });

  test("a group contains no path that leaves it and returns", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const a = program.relu(x);
    const around = program.softmax(a);
    program.output("y", program.add(program.tanh(a), around));
    expect(bodies(fuse(program).program)).toEqual(["relu", "softmax", "tanh+add"]);
  });

  test("a read of a persistent does not move after a write", async () => {
    const program = createProgram();
    const first = state(program);
    const x = program.input("x", "f32", [4]);
    const read = program.add(program.reshape(first, { shape: [4] }), x);
    const second = program.assign(first, x);
    program.output("y", program.scale(program.sub(read, second), { by: 2 }));
    expect(bodies(fuse(program).program)).toEqual(["reshape", "add", "assign", "sub+scale"]);
    const plan = await (await reference().open()).compile(program);
    expect(plan.runSync!({ x: Float32Array.of(1, 2, 3, 4) }).y).toEqual(new Float32Array(4));
    expect(plan.runSync!({ x: Float32Array.of(1, 1, 1, 1) }).y).toEqual(Float32Array.of(2, 4, 6, 8));
  });

  test("a read of the newest version may move", () => {
    const program = createProgram();
    const second = program.assign(state(program), program.input("x", "f32", [4]));
    program.output("y", program.scale(program.relu(second), { by: 2 }));
    expect(bodies(fuse(program).program)).toEqual(["assign", "relu+scale"]);
  });

  const sumOf = (n: number): Program => {
    const program = createProgram();
    const inputs = Array.from({ length: n }, (_, i) => program.input(`x${i}`, "f32", [4]));
    program.output(
      "y",
      inputs.reduce((a, b) => program.add(a, b)),
    );
    return program;
  };

  test("groups stay within a backend's limits", () => {
    const inputCounts = (limits: FusionLimits): number[] =>
      fuse(sumOf(20), accept, limits).program.nodes.map(({ inputs }) => inputs.length);
    expect(inputCounts({})).toEqual([20]);
    expect(inputCounts({ maxInputs: 7 })).toEqual([2, 7, 7, 7]);
    expect(fuse(sumOf(20), accept, { maxCalls: 8 }).program.nodes.map(({ inputs }) => inputs.length)).toEqual([4, 9, 9]);
  });

  test("a refused group stays unchanged, with the reason", () => {
    const program = sumOf(4);
    const { program: same, refused } = fuse(program, () => "no kernel for three sums");
    expect(same.nodes).toEqual(program.nodes);
    expect(refused).toEqual([{ ops: ["add", "add", "add"], reason: "no kernel for three sums" }]);
    const { refused: lowered, steps } = lower(program, "toy", ({ name }) => (name === "fused" ? "one at a time" : undefined));
    expect(lowered).toEqual([{ ops: ["add", "add", "add"], reason: "one at a time" }]);
    expect(steps.length).toBe(3);
  });

  test("the reference returns the same bits with and without fusion", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 5), 3]);
    const y = program.mul(program.tanh(program.add(x, program.input("b", "f32", [3]))), program.sigmoid(x));
    program.output("y", program.gelu(program.div(y, program.input("s", "f32", []))));
    const data = { x: Float32Array.from({ length: 6 }, (_, i) => Math.sin(i)), b: Float32Array.of(0.1, 0.2, 0.3), s: Float32Array.of(3) };
    const [one, other] = await Promise.all(
      [true, false].map(async (optimize) => {
        const backend = await reference({ optimize }).open();
        const result = (await backend.compile(program)).runSync!(data).y;
        return { result, ops: backend.counters.ops };
      }),
    );
    expect(one!.ops).toEqual({ fused: 1 });
    expect(other!.ops).toEqual({ add: 1, tanh: 1, sigmoid: 1, mul: 1, div: 1, gelu: 1 });
    expect(one!.result).toEqual(other!.result);
  });
});

describe("fuseEpilogues", () => {
  test("an elementwise group becomes the epilogue of the call before it", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4, 4]);
    const product = program.matmul(x, program.input("w", "f32", [4, 4]));
    program.output("y", program.add(program.relu(program.add(product, program.input("b", "f32", [4]))), x));
    const elementwise = fuse(program).program;
    expect(beforeAndAfter(elementwise, (graph) => fuseEpilogues(graph, accept).program)).toMatchInlineSnapshot(`
      "before
      input x: f32 [4, 4]
      input w: f32 [4, 4]
      input b: f32 [4]
      %2: f32 [4, 4] = matmul(x, w, transposeA: false, transposeB: false, activations: "f32")
      %6: f32 [4, 4] = fused(%2, b, x)
        .0 = add(%2, b)
        .1 = relu(.0)
        .2 = add(.1, x)
      output y: %6 to the host

      after
      input x: f32 [4, 4]
      input w: f32 [4, 4]
      input b: f32 [4]
      %6: f32 [4, 4] = fused(x, w, b)
        .0 = matmul(x, w, transposeA: false, transposeB: false, activations: "f32")
        .1 = add(.0, b)
        .2 = relu(.1)
        .3 = add(.2, x)
      output y: %6 to the host
      "
    `);
  });

  test("another consumer, another shape, and a write in between keep calls apart", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const shared = program.softmax(x);
    program.output("shared", shared);
    program.output("a", program.relu(shared));
    program.output("b", program.mul(program.sum(x, { keepDims: true }), x));
    const first = state(program);
    const old = program.softmax(first);
    program.assign(first, x);
    program.output("c", program.relu(old));
    expect(bodies(fuseEpilogues(program, accept).program)).toEqual(bodies(program));
  });

  test("the group joins the later of two calls; if refused, its elementwise part stays a group", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    program.output("y", program.relu(program.sub(program.softmax(x), program.logSoftmax(x))));
    const elementwise = fuse(program).program;
    expect(bodies(fuseEpilogues(elementwise, accept).program)).toEqual(["softmax", "logSoftmax+sub+relu"]);
    const { program: same, refused } = fuseEpilogues(elementwise, () => "rows are done by another kernel");
    expect(bodies(same)).toEqual(["softmax", "logSoftmax", "sub+relu"]);
    expect(refused).toEqual([
      { ops: ["logSoftmax", "sub", "relu"], reason: "rows are done by another kernel" },
      { ops: ["softmax", "sub", "relu"], reason: "rows are done by another kernel" },
    ]);
  });

  test("views are not anchors, and calls without an optional tensor are", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [2, 4]);
    program.output("view", program.relu(program.reshape(x, { shape: [8] })));
    program.output("norm", program.relu(program.layerNorm(x, program.input("w", "f32", [4]), { eps: 1e-5 })));
    expect(bodies(fuseEpilogues(program, accept).program)).toEqual(["reshape", "relu", "layerNorm+relu"]);
    program.output("picked", program.relu(program.gather(x, program.input("i", "i32", [3]), { axis: 1 })));
    const backend = await reference().open();
    const { steps, refused } = lower(program, backend.name, (...call) => backend.unsupported(...call));
    expect(steps.map(({ op }) => op.name)).toEqual(["relu", "fused", "fused"]);
    expect(refused).toEqual([]);
  });

  test("a group has no more inputs than a backend takes", () => {
    const program = createProgram();
    const product = program.matmul(program.input("a", "f32", [2, 3]), program.input("b", "f32", [3, 4]));
    program.output("y", program.add(product, program.input("c", "f32", [2, 4])));
    expect(bodies(fuseEpilogues(program, accept, { maxInputs: 2, maxCalls: 9 }).program)).toEqual(["matmul", "add"]);
    expect(bodies(fuseEpilogues(program, accept, { maxInputs: 3, maxCalls: 9 }).program)).toEqual(["matmul+add"]);
  });

  test("a weight's uses are found inside a group", () => {
    const program = createProgram();
    const w = program.persistent("w", { dtype: "q8_0", shape: [8, 32] });
    program.output("y", program.relu(program.matmul(program.input("x", "f32", [1, 32]), w, { transposeB: true })));
    const lowered = lower(program, "toy", () => undefined);
    expect(lowered.steps.map(({ op }) => op.name)).toEqual(["fused"]);
    expect(usesOf(lowered, lowered.persistents[0]!.storage).map(({ op, input }) => [op.name, input])).toEqual([["matmul", 1]]);
  });
});

describe("fusePrologues", () => {
  test("a group becomes the prologue of a reduction that is its only reader", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 8), 4]);
    const w = program.input("w", "f32", [4]);
    program.output("sum", program.sum(program.mul(program.tanh(x), w), { axis: 1 }));
    program.output("max", program.max(program.relu(x)));
    const seen = program.sigmoid(x);
    program.output("mean", program.mean(seen));
    program.output("seen", seen);
    const twice = program.silu(x);
    program.output("min", program.sub(program.min(twice), program.max(twice)));
    expect(beforeAndAfter(program, (graph) => fusePrologues(fuse(graph).program, accept).program)).toMatchInlineSnapshot(`
      "before
      input x: f32 [T≤8, 4]
      input w: f32 [4]
      %2: f32 [T≤8, 4] = tanh(x)
      %3: f32 [T≤8, 4] = mul(%2, w)
      %4: f32 [T≤8] = sum(%3, axis: 1, keepDims: false)
      %5: f32 [T≤8, 4] = relu(x)
      %6: f32 [] = max(%5, axis: null, keepDims: false)
      %7: f32 [T≤8, 4] = sigmoid(x)
      %8: f32 [] = mean(%7, axis: null, keepDims: false)
      %9: f32 [T≤8, 4] = silu(x)
      %10: f32 [] = min(%9, axis: null, keepDims: false)
      %11: f32 [] = max(%9, axis: null, keepDims: false)
      %12: f32 [] = sub(%10, %11)
      output sum: %4 to the host
      output max: %6 to the host
      output mean: %8 to the host
      output seen: %7 to the host
      output min: %12 to the host

      after
      input x: f32 [T≤8, 4]
      input w: f32 [4]
      %4: f32 [T≤8] = fused(x, w)
        .0 = tanh(x)
        .1 = mul(.0, w)
        .2 = sum(.1, axis: 1, keepDims: false)
      %6: f32 [] = fused(x)
        .0 = relu(x)
        .1 = max(.0, axis: null, keepDims: false)
      %7: f32 [T≤8, 4], %8: f32 [] = fused(x)
        .0 = sigmoid(x)
        .1 = mean(.0, axis: null, keepDims: false)
      %9: f32 [T≤8, 4], %10: f32 [] = fused(x)
        .0 = silu(x)
        .1 = min(.0, axis: null, keepDims: false)
      %11: f32 [] = max(%9, axis: null, keepDims: false)
      %12: f32 [] = sub(%10, %11)
      output sum: %4 to the host
      output max: %6 to the host
      output mean: %8 to the host
      output seen: %7 to the host
      output min: %12 to the host
      "
    `);
  });

  test("a group becomes the prologue of a norm that reads it as its first tensor", () => {
    const program = createProgram();
    const [x, y, w] = ["x", "y", "w"].map((name) => program.input(name, "f32", [4])) as [Value, Value, Value];
    program.output("norm", program.rmsNorm(program.add(x, y), w, { eps: 1e-5 }));
    program.output("second", program.rmsNorm(y, program.tanh(w), { eps: 1e-5 }));
    expect(bodies(fusePrologues(program, accept).program)).toEqual(["add+rmsNorm", "tanh", "rmsNorm"]);
    expect(bodies(fusePrologues(program, accept, { maxInputs: 2 }).program)[0]).toBe("add");
  });

  /** The end of a layer: a sum that is normed for the next layer and also read again. */
  const residual = (record: (program: Program, sum: Value, norm: () => Value) => void): Program => {
    const program = createProgram();
    const T = program.dim("T", 8);
    const [x, y] = ["x", "y"].map((name) => program.input(name, "f32", [T, 4])) as [Value, Value];
    const w = program.input("w", "f32", [4]);
    const sum = program.add(x, y);
    record(program, sum, () => program.rmsNorm(sum, w, { eps: 1e-5 }));
    return program;
  };

  test("a sum that is also used after its norm is an extra output of the group", () => {
    const program = residual((p, sum, norm) => p.output("z", p.add(sum, p.matmul(norm(), p.input("v", "f32", [4, 4])))));
    expect(beforeAndAfter(program, (graph) => fusePrologues(graph, accept).program)).toMatchInlineSnapshot(`
      "before
      input x: f32 [T≤8, 4]
      input y: f32 [T≤8, 4]
      input w: f32 [4]
      input v: f32 [4, 4]
      %3: f32 [T≤8, 4] = add(x, y)
      %4: f32 [T≤8, 4] = rmsNorm(%3, w, eps: 0.00001)
      %6: f32 [T≤8, 4] = matmul(%4, v, transposeA: false, transposeB: false, activations: "f32")
      %7: f32 [T≤8, 4] = add(%3, %6)
      output z: %7 to the host

      after
      input x: f32 [T≤8, 4]
      input y: f32 [T≤8, 4]
      input w: f32 [4]
      input v: f32 [4, 4]
      %3: f32 [T≤8, 4], %4: f32 [T≤8, 4] = fused(x, y, w)
        .0 = add(x, y)
        .1 = rmsNorm(.0, w, eps: 0.00001)
      %6: f32 [T≤8, 4] = matmul(%4, v, transposeA: false, transposeB: false, activations: "f32")
      %7: f32 [T≤8, 4] = add(%3, %6)
      output z: %7 to the host
      "
    `);
    expect(program.explain()).toMatchInlineSnapshot(`
      "2 steps on any backend, from 4 recorded ops
      input x: f32 [T≤8, 4]
      input y: f32 [T≤8, 4]
      input w: f32 [4]
      input v: f32 [4, 4]
      %3: f32 [T≤8, 4], %4: f32 [T≤8, 4] = fused(x, y, w)  (160 flops, 528 bytes, at 0, at 128)
        .0 = add(x, y)
        .1 = rmsNorm(.0, w, eps: 0.00001)
      %7: f32 [T≤8, 4] = fused(%4, v, %3)  (288 flops, 448 bytes, at 256)
        .0 = matmul(%4, v, transposeA: false, transposeB: false, activations: "f32")
        .1 = add(%3, .0)
      output z: %7 to the host
      in all: 448 flops, 976 bytes, an arena of 384 bytes for 384 bytes of temporaries
      "
    `);
  });

  test("a sum that is an output leaves its group", async () => {
    const program = residual((p, sum, norm) => {
      p.output("sum", sum);
      p.output("norm", norm());
    });
    expect(bodies(fusePrologues(program, accept).program)).toEqual(["add+rmsNorm"]);
    const plan = await (await reference().open()).compile(program);
    const inputs = { x: Float32Array.of(1, 2, 3, 4), y: Float32Array.of(1, 1, -1, -3), w: Float32Array.of(1, 1, 2, 2) };
    const { sum, norm } = plan.runSync!(inputs);
    expect(sum).toEqual(Float32Array.of(2, 3, 2, 1));
    // numpy: x / sqrt(mean(x**2) + 1e-5) * w
    expect([...norm!].map((value) => value.toFixed(5))).toEqual(["0.94281", "1.41421", "1.88562", "0.94281"]);
  });

  test("a sum that is read before its norm, or by a call that cannot share it, is computed on its own", () => {
    const before = residual((p, sum, norm) => p.output("z", p.mul(p.softmax(p.relu(sum)), norm())));
    expect(bodies(fusePrologues(before, accept).program)).toEqual(["add", "relu+softmax", "rmsNorm", "mul"]);
    const twice = residual((p, sum, norm) => p.output("z", p.mul(norm(), p.layerNorm(sum, p.input("v", "f32", [4]), { eps: 1e-5 }))));
    expect(bodies(fusePrologues(twice, accept).program)).toEqual(["add+rmsNorm", "layerNorm", "mul"]);
    const residue = residual((p, sum, norm) => p.output("z", p.mul(norm(), sum)));
    const { program, refused } = fusePrologues(residue, (_inputs, { extraOutputs }) =>
      extraOutputs === undefined ? undefined : "several results",
    );
    expect(bodies(program)).toEqual(["add", "rmsNorm", "mul"]);
    expect(refused).toEqual([{ ops: ["add", "rmsNorm"], reason: "several results" }]);
  });

  test("a refused group stays unchanged, and a read does not move after a write", () => {
    const program = createProgram();
    const first = state(program);
    const total = program.sum(program.relu(program.input("x", "f32", [4])));
    program.output("y", total);
    const refused = fusePrologues(program, () => "not here");
    expect(bodies(refused.program)).toEqual(["relu", "sum"]);
    expect(refused.refused).toEqual([{ ops: ["relu", "sum"], reason: "not here" }]);
    const read = program.tanh(first);
    program.assign(first, program.input("z", "f32", [4]));
    program.output("late", program.sum(read));
    expect(bodies(fusePrologues(program, accept).program)).toEqual(["relu+sum", "tanh", "assign", "sum"]);
  });
});
