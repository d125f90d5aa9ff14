import { expect, test } from "vitest";
import { ArgumentError, createProgram, DTypeError, ProgramError, ShapeError, type Value } from "../src/index.ts";

const state = { dtype: "f32", shape: [2] } as const;

test("names are declared once", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [2]);
  program.dim("T", 4);
  program.persistent("w", state);
  program.output("y", x);
  expect(() => program.input("x", "f32", [2])).toThrow(/input: x is declared already/);
  expect(() => program.dim("T", 4)).toThrow(/dim: T is declared already/);
  expect(() => program.persistent("w", state)).toThrow(/persistent: w is declared already/);
  expect(() => program.output("y", x)).toThrow(/output: y is declared already/);
});

test("declarations are checked", () => {
  const program = createProgram();
  expect(() => program.dim("T", 0)).toThrow(ArgumentError);
  expect(() => program.dim("T", 2.5)).toThrow(/a whole number from 1, got 2.5/);
  expect(() => program.input("x", "f32", [-1])).toThrow(ShapeError);
  expect(() => program.persistent("w", { dtype: "q8_0", shape: [2, 33] })).toThrow(/a multiple of 32/);
  expect(() => program.persistent("w", { dtype: "f32", shape: [program.dim("N", 3) as never] })).toThrow(/extents that are numbers/);
  expect(() => program.constant(Int32Array.of(1), "f32", [1])).toThrow(DTypeError);
  expect(() => program.constant(Float32Array.of(1), "f32", [2])).toThrow(/2 elements for f32 \[2\], got 1; pass as many/);
  expect(() => program.input("x", "f33" as never, [1])).toThrow(/input x: expected a dtype, got "f33"; pass e.g. "f32"/);
  expect(() => program.input("x", "f32", 4 as never)).toThrow(/input x: expected a list of extents, got 4; pass e.g. \[2, 3\]/);
});

test("an op takes its tensors, then one options object", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [2]);
  const add = program.add as (...args: unknown[]) => Value;
  expect(() => add(x)).toThrow(/add: expected 2 tensors \(a, b\), got 1/);
  expect(() => add(x, undefined)).toThrow(/add: expected b to be a handle of this program, got nothing/);
  expect(() => add(x, 3)).toThrow(/add: expected b to be a handle of this program, got 3/);
  expect(() => add(x, x, {}, {})).toThrow(/got 4 arguments/);
  expect(() => add(x, x, { axis: 1 })).toThrow(/options among \{\}, got axis/);
});

test("values of two programs do not mix", () => {
  const [one, two] = [createProgram(), createProgram()];
  const [x, y] = [one.input("x", "f32", [2]), two.input("y", "f32", [2])];
  expect(() => one.add(x, y)).toThrow(ProgramError);
  expect(() => one.add(x, y)).toThrow(/add: b belongs to another program; record all ops of a chain in one program/);
  expect(() => one.output("y", y)).toThrow(/belongs to another program/);
});

test("an old version of a persistent is refused", () => {
  const program = createProgram();
  const s = program.persistent("s", state);
  const next = program.assign(s, program.input("x", "f32", [2]));
  expect(() => program.relu(s)).toThrow(/relu: x is an old version of s, which was written since; use what the writing op returned/);
  expect(() => program.assign(s, next)).toThrow(ProgramError);
  expect(program.relu(next).spec.shape).toEqual([2]);
});

test("a view of an old version is refused too", () => {
  const program = createProgram();
  const s = program.persistent("s", state);
  const view = program.reshape(program.reshape(s, { shape: [2, 1] }), { shape: [1, 2] });
  program.relu(view);
  const next = program.assign(s, program.input("x", "f32", [2]));
  expect(() => program.relu(view)).toThrow(/relu: x is an old version of s/);
  expect(program.reshape(next, { shape: [1, 2] }).spec.shape).toEqual([1, 2]);
});

test("a version that is an output cannot be written afterwards", () => {
  const program = createProgram();
  const s = program.persistent("s", state);
  program.output("before", program.reshape(s, { shape: [2, 1] }));
  const write = () => program.assign(s, program.input("x", "f32", [2]));
  expect(write).toThrow(/assign: output before is the version of s before this write; declare the output of what assign returns/);
});

test("symbolic dims flow through the shape rules", () => {
  const program = createProgram();
  const T = program.dim("T", 8);
  const x = program.input("x", "f32", [T, 6]);
  expect(program.matmul(x, program.input("w", "f32", [6, 3])).spec.shape).toEqual([T, 3]);
  expect(program.add(x, program.input("b", "f32", [6])).spec.shape).toEqual([T, 6]);
  expect(program.sum(x, { axis: 0 }).spec.shape).toEqual([6]);
  expect(program.max(x, { axis: 0, keepDims: true }).spec.shape).toEqual([1, 6]);
  expect(program.mean(x, { axis: 1 }).spec.shape).toEqual([T]);
  expect(program.argmax(x).spec).toEqual({ dtype: "i32", shape: [T] });
  expect(program.reshape(x, { shape: [2, T, 3] }).spec.shape).toEqual([2, T, 3]);
  expect(program.matmul(x, x, { transposeB: true }).spec.shape).toEqual([T, T]);
  expect(program.embedding(x, program.input("ids", "i32", [T, 2])).spec.shape).toEqual([T, 2, 6]);
});
