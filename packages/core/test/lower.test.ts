import { expect, test } from "vitest";
import { lower, usesOf } from "../src/compiler/lower.ts";
import { createProgram, type Program, UnsupportedError } from "../src/index.ts";
import { programCost } from "../src/runtime/select.ts";

const lowerAll = (program: Program) => lower(program, "test", () => undefined, { memoryModel: "buffers" });
const opsOf = (program: Program) => lowerAll(program).steps.map(({ op }) => op.name);

test("nodes that no output and no write depends on are dropped", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [4]);
  const state = program.persistent("state", { dtype: "f32", shape: [4] });
  program.tanh(program.sigmoid(x));
  program.assign(state, program.silu(x));
  program.output("y", program.relu(x));
  expect(opsOf(program)).toEqual(["silu", "assign", "relu"]);
  expect(program.nodes.length).toBe(5);
});

test("views are not steps and share their input's memory", () => {
  const program = createProgram();
  const x = program.relu(program.input("x", "f32", [4]));
  const view = program.reshape(program.reshape(x, { shape: [2, 2] }), { shape: [4, 1] });
  program.output("y", program.tanh(view));
  program.output("view", view);
  const { steps, outputs } = lowerAll(program);
  expect(steps.map(({ op }) => op.name)).toEqual(["relu", "tanh"]);
  expect(steps[1]!.inputs[0]!.storage).toBe(steps[0]!.output.storage);
  expect(steps[1]!.inputs[0]!.spec.shape).toEqual([4, 1]);
  expect(outputs[1]!.operand.storage).toBe(steps[0]!.output.storage);
});

test("all versions of a persistent share one memory", () => {
  const program = createProgram();
  const state = program.persistent("state", { dtype: "f32", shape: [4] }, { init: "zeros" });
  const x = program.input("x", "f32", [4]);
  const next = program.assign(state, program.add(state, x));
  program.output("y", program.assign(next, program.mul(next, x)));
  const { steps, persistents, outputs } = lowerAll(program);
  const { storage } = persistents[0]!;
  expect(steps.map(({ op }) => op.name)).toEqual(["add", "assign", "mul", "assign"]);
  expect([steps[0]!.inputs[0], steps[1]!.output, steps[2]!.inputs[0], steps[3]!.output].map((operand) => operand!.storage)).toEqual(
    new Array(4).fill(storage),
  );
  expect(outputs[0]!.operand.storage).toBe(storage);
});

test("lifetimes run from the producing step to the last use, outputs to the end", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [4]);
  const a = program.relu(x);
  const b = program.tanh(a);
  const c = program.add(program.reshape(a, { shape: [4] }), b);
  program.output("b", b);
  program.output("c", c);
  const { storages } = lowerAll(program);
  // Of x, a, b and c.
  expect(storages.map(({ first, last }) => [first, last])).toEqual([
    [-1, 0],
    [0, 2],
    [1, 3],
    [2, 3],
  ]);
});

test("memory is planned for the maxima of symbolic dims", () => {
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [program.dim("T", 10), 3])));
  expect(lowerAll(program).storages.map(({ bytes }) => bytes)).toEqual([120, 120]);
  expect(programCost(program)).toEqual({ flops: 30, bytes: 240 });
});

test("unused persistents are left out; uses name op and input", () => {
  const program = createProgram();
  const table = program.persistent("table", { dtype: "q8_0", shape: [8, 32] });
  program.persistent("unused", { dtype: "f32", shape: [4] });
  const x = program.embedding(table, program.input("ids", "i32", [3]));
  program.output("y", program.matmul(x, table, { transposeB: true }));
  const lowered = lowerAll(program);
  expect(lowered.persistents.map(({ name }) => name)).toEqual(["table"]);
  expect(usesOf(lowered, lowered.persistents[0]!.storage).map(({ op, input }) => [op.name, input])).toEqual([
    ["embedding", 0],
    ["matmul", 1],
  ]);
});

test("the first op without a kernel is named with the reason", () => {
  const program = createProgram();
  program.output("y", program.tanh(program.relu(program.input("x", "f32", [4]))));
  const work = () => lower(program, "toy", ({ name }) => (name === "tanh" ? "no transcendental functions" : undefined));
  expect(work).toThrow(UnsupportedError);
  expect(work).toThrow("toy: tanh: unsupported: no transcendental functions");
});
