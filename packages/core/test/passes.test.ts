import { describe, expect, test } from "vitest";
import {
  commonSubexpressions,
  createProgram,
  deadCode,
  type Fusion,
  type FusionLimits,
  foldConstants,
  formatProgram,
  fuseElementwise,
  fuseEpilogues,
  lower,
  type Program,
  type ProgramGraph,
  type Ref,
  type RefusesGroup,
  reference,
  usesOf,
} from "../src/index.ts";

const accept: RefusesGroup = () => undefined;
const fuse = (program: ProgramGraph, refuses = accept, limits?: FusionLimits): Fusion => fuseElementwise(program, refuses, limits);
const opsOf = ({ nodes }: ProgramGraph): string[] => nodes.map(({ op }) => op.name);
const bodies = ({ nodes }: ProgramGraph): string[] =>
  nodes.map(({ op, params }) =>
    "body" in params ? (params.body as { op: { name: string } }[]).map((call) => call.op.name).join("+") : op.name,
  );
const scalar = (program: Program, value: number): Ref => program.constant(Float32Array.of(value), "f32", []);
const state = (program: Program): Ref => program.persistent("state", { dtype: "f32", shape: [4] }, { init: "zeros" });

function beforeAndAfter(program: ProgramGraph, pass: (program: ProgramGraph) => ProgramGraph): string {
  return `before\n${formatProgram(program)}\nafter\n${formatProgram(pass(program))}`;
}

describe("deadCode", () => {
  test("keeps what outputs and writes depend on", () => {
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
  test("computes once what is recorded twice, in steps", () => {
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

  test("a read before a write is not one after it, and writes are never merged", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const first = state(program);
    const before = program.relu(first);
    const second = program.assign(first, x);
    const third = program.assign(second, x);
    program.output("y", program.sub(program.relu(third), before));
    expect(opsOf(commonSubexpressions(program))).toEqual(["relu", "assign", "assign", "relu", "sub"]);
  });

  test("0 and -0, and ops that only share a name, stay apart", () => {
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
    ["x * 1", (p: Program, x: Ref) => p.mul(x, scalar(p, 1)), []],
    ["1 * x", (p: Program, x: Ref) => p.mul(scalar(p, 1), x), []],
    ["x / 1", (p: Program, x: Ref) => p.div(x, scalar(p, 1)), []],
    ["1 / x", (p: Program, x: Ref) => p.div(scalar(p, 1), x), ["div"]],
    ["x - 0", (p: Program, x: Ref) => p.sub(x, scalar(p, 0)), []],
    ["0 - x", (p: Program, x: Ref) => p.sub(scalar(p, 0), x), ["sub"]],
    ["x + -0", (p: Program, x: Ref) => p.add(x, scalar(p, -0)), []],
    ["x + 0 turns -0 into 0", (p: Program, x: Ref) => p.add(x, scalar(p, 0)), ["add"]],
    ["x - -0 turns -0 into 0", (p: Program, x: Ref) => p.sub(x, scalar(p, -0)), ["sub"]],
    ["x * 2", (p: Program, x: Ref) => p.mul(x, scalar(p, 2)), ["scale"]],
    ["x * Infinity", (p: Program, x: Ref) => p.mul(x, scalar(p, Infinity)), ["mul"]],
    ["scale by 1", (p: Program, x: Ref) => p.scale(x, { by: 1 }), []],
    ["both grow", (p: Program, x: Ref) => p.scale(p.scale(x, { by: 2 }), { by: -3 }), ["scale"]],
    ["both shrink", (p: Program, x: Ref) => p.scale(p.scale(x, { by: 0.5 }), { by: 0.1 }), ["scale"]],
    ["an overflow on the way", (p: Program, x: Ref) => p.scale(p.scale(x, { by: 1e38 }), { by: 1e-38 }), ["scale", "scale"]],
    ["a factor beyond f32", (p: Program, x: Ref) => p.scale(p.scale(x, { by: 1e30 }), { by: 1e30 }), ["scale", "scale"]],
    ["a factor below f32's normal range", (p: Program, x: Ref) => p.scale(p.scale(x, { by: 1e-30 }), { by: 1e-30 }), ["scale", "scale"]],
    ["a constant that stretches x", (p: Program, x: Ref) => p.mul(x, p.constant(Float32Array.of(1), "f32", [1, 1])), ["mul"]],
    ["a vector constant", (p: Program, x: Ref) => p.mul(x, p.constant(new Float32Array(4).fill(1), "f32", [4])), ["mul"]],
  ])("%s", (_name, record, want) => {
    const program = createProgram();
    program.output("y", record(program, program.input("x", "f32", [4])));
    expect(opsOf(deadCode(foldConstants(program)))).toEqual(want);
  });

  test("integers wrap as the op does", () => {
    const program = createProgram();
    const i32 = (value: number) => program.constant(Int32Array.of(value), "i32", []);
    program.output("y", program.add(i32(2 ** 31 - 1), i32(1)));
    program.output("z", program.add(program.input("x", "i32", [3]), i32(0)));
    const folded = foldConstants(program);
    expect(opsOf(folded)).toEqual([]);
    expect(folded.values[folded.outputs[0]!.value]!.definition).toEqual({ kind: "constant", data: Int32Array.of(-(2 ** 31)) });
    expect(folded.outputs[1]!.value).toBe(program.inputs.get("x"));
  });

  test("a copy of a persistent that is written later stays a copy", async () => {
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

  test("a group never contains a way out and back in", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    const a = program.relu(x);
    const around = program.softmax(a);
    program.output("y", program.add(program.tanh(a), around));
    expect(bodies(fuse(program).program)).toEqual(["relu", "softmax", "tanh+add"]);
  });

  test("a read of a persistent does not move behind a write", async () => {
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

  test("what a backend refuses is left as it was, with its reason", () => {
    const program = sumOf(4);
    const { program: same, notes } = fuse(program, () => "no kernel for three sums");
    expect(same.nodes).toEqual(program.nodes);
    expect(notes).toEqual(["add + add + add: no kernel for three sums"]);
    const { notes: lowered, steps } = lower(program, "toy", ({ name }) => (name === "fused" ? "one at a time" : undefined));
    expect(lowered).toEqual(["add + add + add: one at a time"]);
    expect(steps.length).toBe(3);
  });

  test("the reference gives the same bits with and without", async () => {
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
  test("an elementwise group joins the call that it finishes", () => {
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

  test("a result that others need, another shape, and a write in between keep them apart", () => {
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

  test("of two calls the last one is joined, and of a refused group the elementwise part stays", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4]);
    program.output("y", program.relu(program.sub(program.softmax(x), program.logSoftmax(x))));
    const elementwise = fuse(program).program;
    expect(bodies(fuseEpilogues(elementwise, accept).program)).toEqual(["softmax", "logSoftmax+sub+relu"]);
    const { program: same, notes } = fuseEpilogues(elementwise, () => "rows are done by another kernel");
    expect(bodies(same)).toEqual(["softmax", "logSoftmax", "sub+relu"]);
    expect(notes).toEqual([
      "logSoftmax + sub + relu: rows are done by another kernel",
      "softmax + sub + relu: rows are done by another kernel",
    ]);
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

test("the listing of a lowered program has shapes, costs, groups and places", () => {
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
