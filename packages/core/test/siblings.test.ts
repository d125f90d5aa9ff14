import { describe, expect, test } from "vitest";
import { explain } from "../src/compiler/explain.ts";
import { lower } from "../src/compiler/lower.ts";
import { fuseSiblings } from "../src/compiler/passes/fuseSiblings.ts";
import { createProgram, type Program, reference, type Value } from "../src/index.ts";
import type { ProgramGraph } from "../src/program/programGraph.ts";
import { accept, beforeAndAfter, bodies, fuse, state } from "./support/passes.ts";

const weight = (program: Program, name: string, rows: number, dtype: "f32" | "q8_0" = "f32"): Value =>
  program.persistent(name, { dtype, shape: [rows, 32] });
const times = (program: Program, x: Value, w: Value): Value => program.matmul(x, w, { transposeB: true });
const siblings = (program: ProgramGraph): ProgramGraph => fuseSiblings(program, accept).program;

describe("fuseSiblings", () => {
  test("products of one tensor become one node with a result each", () => {
    const program = createProgram();
    const x = program.relu(program.input("x", "f32", [program.dim("T", 8), 32]));
    const q = times(program, x, weight(program, "wq", 6));
    const k = program.add(times(program, x, weight(program, "wk", 4, "q8_0")), program.input("bias", "f32", [4]));
    program.output("q", program.softmax(q));
    program.output("k", k);
    program.output("v", times(program, x, weight(program, "wv", 2)));
    expect(beforeAndAfter(program, siblings)).toMatchInlineSnapshot(`
      "before
      input x: f32 [T≤8, 32]
      input bias: f32 [4]
      persistent wq: f32 [6, 32], load
      persistent wk: q8_0 [4, 32], load
      persistent wv: f32 [2, 32], load
      %1: f32 [T≤8, 32] = relu(x)
      %3: f32 [T≤8, 6] = matmul(%1, wq, transposeA: false, transposeB: true, activations: "f32")
      %5: f32 [T≤8, 4] = matmul(%1, wk, transposeA: false, transposeB: true, activations: "f32")
      %7: f32 [T≤8, 4] = add(%5, bias)
      %8: f32 [T≤8, 6] = softmax(%3, axis: -1)
      %10: f32 [T≤8, 2] = matmul(%1, wv, transposeA: false, transposeB: true, activations: "f32")
      output q: %8 to the host
      output k: %7 to the host
      output v: %10 to the host

      after
      input x: f32 [T≤8, 32]
      input bias: f32 [4]
      persistent wq: f32 [6, 32], load
      persistent wk: q8_0 [4, 32], load
      persistent wv: f32 [2, 32], load
      %1: f32 [T≤8, 32] = relu(x)
      %3: f32 [T≤8, 6], %10: f32 [T≤8, 2], %7: f32 [T≤8, 4] = fused(%1, wq, wk, wv, bias)
        .0 = matmul(%1, wq, transposeA: false, transposeB: true, activations: "f32")
        .1 = matmul(%1, wk, transposeA: false, transposeB: true, activations: "f32")
        .2 = matmul(%1, wv, transposeA: false, transposeB: true, activations: "f32")
        .3 = add(.1, bias)
      %8: f32 [T≤8, 6] = softmax(%3, axis: -1)
      output q: %8 to the host
      output k: %7 to the host
      output v: %10 to the host
      "
    `);
    expect(explain(program)).toMatchInlineSnapshot(`
      "3 steps on any backend, from 6 recorded ops
      input x: f32 [T≤8, 32]
      input bias: f32 [4]
      persistent wq: f32 [6, 32], load
      persistent wk: q8_0 [4, 32], load
      persistent wv: f32 [2, 32], load
      %1: f32 [T≤8, 32] = relu(x)  (256 flops, 2,048 bytes, at 0)
      %3: f32 [T≤8, 6], %10: f32 [T≤8, 2], %7: f32 [T≤8, 4] = fused(%1, wq, wk, wv, bias)  (6,176 flops, 2,584 bytes, at 1,024, at 1,344, at 1,216)
        .0 = matmul(%1, wq, transposeA: false, transposeB: true, activations: "f32")
        .1 = matmul(%1, wk, transposeA: false, transposeB: true, activations: "f32")
        .2 = matmul(%1, wv, transposeA: false, transposeB: true, activations: "f32")
        .3 = add(.1, bias)
      %8: f32 [T≤8, 6] = softmax(%3, axis: -1)  (240 flops, 384 bytes, at 0)
      output q: %8 to the host
      output k: %7 to the host
      output v: %10 to the host
      in all: 6,672 flops, 5,016 bytes, an arena of 1,408 bytes for 1,600 bytes of temporaries
      "
    `);
  });

  test("a gated product becomes one node with one result", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [2, 32]);
    const [gate, up] = [times(program, x, weight(program, "gate", 8)), times(program, x, weight(program, "up", 8))];
    program.output("y", program.mul(program.silu(gate), up));
    expect(beforeAndAfter(fuse(program).program, siblings)).toMatchInlineSnapshot(`
      "before
      input x: f32 [2, 32]
      persistent gate: f32 [8, 32], load
      persistent up: f32 [8, 32], load
      %2: f32 [2, 8] = matmul(x, gate, transposeA: false, transposeB: true, activations: "f32")
      %4: f32 [2, 8] = matmul(x, up, transposeA: false, transposeB: true, activations: "f32")
      %6: f32 [2, 8] = fused(%2, %4)
        .0 = silu(%2)
        .1 = mul(.0, %4)
      output y: %6 to the host

      after
      input x: f32 [2, 32]
      persistent gate: f32 [8, 32], load
      persistent up: f32 [8, 32], load
      %6: f32 [2, 8] = fused(x, gate, up)
        .0 = matmul(x, gate, transposeA: false, transposeB: true, activations: "f32")
        .1 = matmul(x, up, transposeA: false, transposeB: true, activations: "f32")
        .2 = silu(.0)
        .3 = mul(.2, .1)
      output y: %6 to the host
      "
    `);
  });

  test("another tensor, other parameters, and a matrix that is computed later keep products apart", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [2, 32]);
    const y = program.input("y", "f32", [2, 32]);
    const w = weight(program, "w", 32);
    program.output("a", times(program, x, w));
    program.output("b", times(program, y, w));
    program.output("c", program.matmul(x, w));
    program.output("d", times(program, x, program.relu(w)));
    expect(bodies(siblings(program))).toEqual(["matmul", "matmul", "matmul", "relu", "matmul"]);
  });

  test("a call joins if all its inputs are computed by then and it alone reads its products", () => {
    const joined = (record: (program: Program, a: Value, b: Value, x: Value) => Value): string[] => {
      const program = createProgram();
      const x = program.input("x", "f32", [4, 32]);
      const [a, b] = [times(program, x, weight(program, "a", 4)), times(program, x, weight(program, "b", 4))];
      program.output("y", record(program, a, b, x));
      return bodies(siblings(program));
    };
    expect(joined((p, a, b) => p.mul(a, b))).toEqual(["matmul+matmul+mul"]);
    expect(joined((p, a, b) => p.mul(a, p.softmax(b)))).toEqual(["matmul+matmul", "softmax", "mul"]);
    expect(joined((p, a, b, x) => p.mul(p.sub(a, b), p.sum(x)))).toEqual(["matmul+matmul+sub", "sum", "mul"]);
    expect(joined((p, a, b) => p.mul(p.relu(a), p.max(b)))).toEqual(["matmul+matmul+relu", "max", "mul"]);
    expect(joined((p, a, b) => p.add(p.relu(a), p.reshape(p.sub(a, b), { shape: [4, 4] })))).toEqual([
      "matmul+matmul",
      "relu",
      "sub",
      "reshape",
      "add",
    ]);
    const wider = (p: Program, a: Value, b: Value): Value => p.add(p.mul(a, p.input("wide", "f32", [2, 4, 4])), b);
    expect(joined(wider)).toEqual(["matmul+matmul", "mul", "add"]);
  });

  test("an output that a call reads stays a result", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4, 32]);
    const [a, b] = [times(program, x, weight(program, "a", 4)), times(program, x, weight(program, "b", 4))];
    program.output("a", a);
    program.output("sum", program.add(a, b));
    expect(bodies(siblings(program))).toEqual(["matmul+matmul", "add"]);
  });

  test("a write between products stays after earlier reads and before later ones", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4, 4]);
    const first = program.persistent("w", { dtype: "f32", shape: [4, 4] }, { init: "zeros" });
    const other = program.input("other", "f32", [4, 4]);
    const before = program.matmul(x, first);
    const second = program.assign(first, x);
    program.output("before", before);
    program.output("other", program.matmul(x, other));
    program.output("after", program.matmul(x, second));
    expect(bodies(siblings(program))).toEqual(["matmul+matmul", "assign", "matmul"]);
    const data = { x: Float32Array.from({ length: 16 }, (_, i) => i % 3), other: new Float32Array(16).fill(1) };
    const [optimised, recorded] = await Promise.all(
      [true, false].map(async (optimize) => {
        const plan = await (await reference({ optimize }).open()).compile(program);
        return [plan.runSync!(data), plan.runSync!(data)];
      }),
    );
    expect(optimised).toEqual(recorded);
  });

  test("a refused group is tried without its epilogue, then by dtype, and noted once", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [2, 32]);
    const product = (name: string, dtype: "f32" | "q8_0"): Value => times(program, x, weight(program, name, 8, dtype));
    const [a, b, c, d] = [product("a", "f32"), product("b", "q8_0"), product("c", "f32"), product("d", "q8_0")];
    program.output("y", program.add(program.add(a, b), program.add(c, d)));
    const asked: string[] = [];
    const { program: fused, refused } = fuseSiblings(program, (inputs, { body }) => {
      const dtypes = [...new Set(inputs.slice(1).map(({ dtype }) => dtype))].join();
      asked.push(`${body.map(({ op }) => op.name).join("+")} of ${dtypes}`);
      return dtypes === "f32" && body.length === 2 ? undefined : `not for ${dtypes}`;
    });
    expect(asked).toEqual([
      "matmul+matmul+matmul+matmul+add+add of f32,q8_0",
      "matmul+matmul+matmul+matmul of f32,q8_0",
      "matmul+matmul of f32",
      // A sum with one of the remaining tensors can be the epilogue of these.
      "matmul+matmul+add of q8_0,f32",
      "matmul+matmul of q8_0",
    ]);
    expect(bodies(fused)).toEqual(["matmul+matmul", "matmul", "matmul", "add", "add", "add"]);
    expect(refused.length).toBe(4);
    const wide = fuseSiblings(program, accept, { maxInputs: 4 }).program;
    expect(bodies(wide)).toEqual(["matmul+matmul", "matmul+matmul+add", "add", "add"]);
    expect(bodies(fuseSiblings(program, accept, { maxCalls: 4 }).program)).toEqual(["matmul+matmul+matmul+matmul", "add", "add", "add"]);
  });

  test("each result of a group has its own memory until its last read", () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4, 32]);
    const [a, b] = [times(program, x, weight(program, "a", 4)), times(program, x, weight(program, "b", 4))];
    program.output("y", program.sub(program.softmax(a), program.logSoftmax(b)));
    const { steps } = lower(program, "toy", () => undefined);
    const [group] = steps;
    expect(group!.extraOutputs!.map(({ storage: { first, last } }) => [first, last])).toEqual([[0, 1]]);
    expect([group!.output.storage.first, group!.output.storage.last]).toEqual([0, 2]);
  });

  test("a state in the epilogue of a product is read before it is written", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [4, 4]);
    const [a, b] = [program.matmul(x, program.input("a", "f32", [4, 4])), program.matmul(x, program.input("b", "f32", [4, 4]))];
    const old = state(program);
    const sum = program.add(a, old);
    const next = program.assign(old, program.sum(b, { axis: 0 }));
    program.output("y", program.sub(sum, next));
    const data = Object.fromEntries(["x", "a", "b"].map((name, n) => [name, Float32Array.from({ length: 16 }, (_, i) => (i + n) % 5)]));
    const [optimised, recorded] = await Promise.all(
      [true, false].map(async (optimize) => {
        const plan = await (await reference({ optimize }).open()).compile(program);
        return [plan.runSync!(data), plan.runSync!(data)];
      }),
    );
    expect(optimised).toEqual(recorded);
  });
});
