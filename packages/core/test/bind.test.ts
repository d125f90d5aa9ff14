import { expect, test } from "vitest";
import { Binder, bind } from "../src/backend/bind.ts";
import { ArgumentError, createProgram, DisposedError, DTypeError, ShapeError } from "../src/index.ts";
import { hostTensor } from "../src/tensor.ts";

function program() {
  const recorder = createProgram();
  const T = recorder.dim("T", 4);
  recorder.input("x", "f32", [T, 3]);
  recorder.input("ids", "i32", [T]);
  return recorder;
}

const x = new Float32Array(6);
const ids = new Int32Array(2);

test("lengths determine the dims", () => {
  expect(bind(program(), { x, ids }).dims).toEqual({ T: 2 });
  expect(bind(program(), { x: new Float32Array(0), ids: new Int32Array(0) }).dims).toEqual({ T: 0 });
  expect(bind(program(), { x, ids }).inputs.get("x")?.spec).toEqual({ dtype: "f32", shape: [2, 3] });
});

test("runs with the extents of an earlier run reuse its binding, and all others are checked", () => {
  const binder = new Binder(program());
  const first = binder.bind({ x, ids });
  const again = { x: new Float32Array(6), ids: new Int32Array(2) };
  expect(binder.bind(again)).toEqual(first);
  expect(binder.bind(again).inputs.get("x")?.data).toBe(again.x);
  expect(binder.bind({ x: new Float32Array(3), ids: new Int32Array(1) }).dims).toEqual({ T: 1 });
  expect(binder.bind({ x, ids }, { T: 2 }).dims).toEqual({ T: 2 });
  expect(() => binder.bind({ x, ids }, { T: 1 })).toThrow(ShapeError);
  expect(() => binder.bind({ x, ids, z: x }, { T: 2 })).toThrow(ArgumentError);
  expect(() => binder.bind({ x }, { T: 2 })).toThrow(ArgumentError);
  expect(() => binder.bind({ x, ids: new Float32Array(2) }, { T: 2 })).toThrow(DTypeError);
  expect(() => binder.bind({ x, ids }, { S: 2 })).toThrow(ArgumentError);
  expect(() => binder.bind(undefined as never)).toThrow(ArgumentError);
});

test("an empty array whose memory was transferred is refused in every run", () => {
  const binder = new Binder(program());
  const empty = { x: new Float32Array(0), ids: new Int32Array(0) };
  binder.bind(empty);
  const detached = new Float32Array(6);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  expect(() => binder.bind({ ...empty, x: detached })).toThrow(/not detached/);
});

test("dims come from tensors before arrays", () => {
  const tensor = hostTensor({ dtype: "i32", shape: [2] }, ids);
  expect(bind(program(), { x, ids: tensor }).dims).toEqual({ T: 2 });
  expect(() => bind(program(), { x: new Float32Array(9), ids: tensor })).toThrow(ShapeError);
});

test.each([
  ["unknown input", () => bind(program(), { x, ids, z: x }), ArgumentError, /inputs among \{x, ids\}, got z/],
  ["missing input", () => bind(program(), { x }), ArgumentError, /input ids \(i32 \[T≤4\]\), got nothing/],
  ["unknown dim", () => bind(program(), { x, ids }, { S: 1 }), ArgumentError, /dims among \{T\}, got S/],
  [
    "dim above its maximum",
    () => bind(program(), { x: new Float32Array(15), ids: new Int32Array(5) }),
    ArgumentError,
    /dim T from 0 to 4, got 5/,
  ],
  ["negative dim", () => bind(program(), { x, ids }, { T: -1 }), ArgumentError, /got -1/],
  ["dim that is no whole number", () => bind(program(), { x, ids }, { T: 1.5 }), ArgumentError, /got 1.5/],
  ["length that does not divide", () => bind(program(), { x: new Float32Array(7), ids }), ShapeError, /a multiple of 3 elements/],
  [
    "lengths that disagree",
    () => bind(program(), { x, ids: new Int32Array(3) }),
    ShapeError,
    /input ids: expected 2 elements for i32 \[2\], got 3/,
  ],
  [
    "array type",
    () => bind(program(), { x: new Int32Array(6), ids }),
    DTypeError,
    /Float32Array for f32 \[2, 3\], got an Int32Array of 24 bytes/,
  ],
  [
    "plain array",
    () => bind(program(), { x: [1, 2, 3] as never, ids }, { T: 1 }),
    DTypeError,
    /input x: expected a tensor or a Float32Array for f32 .*, got \[1, 2, 3\]/,
  ],
] as const)("%s", (_name, work, error, message) => {
  expect(work).toThrow(error);
  expect(work).toThrow(message);
});

test("tensors are checked", () => {
  const rank = hostTensor({ dtype: "f32", shape: [6] }, x);
  expect(() => bind(program(), { x: rank, ids })).toThrow(/input x: expected \[T≤4, 3\], got \[6\]/);
  const dtype = hostTensor({ dtype: "f32", shape: [2] }, new Float32Array(2));
  expect(() => bind(program(), { x, ids: dtype })).toThrow(DTypeError);
  const gone = hostTensor({ dtype: "f32", shape: [2, 3] }, x);
  gone.dispose();
  expect(() => bind(program(), { x: gone, ids })).toThrow(DisposedError);
});

test("two unknown dims of one array must be given", () => {
  const recorder = createProgram();
  recorder.input("x", "f32", [recorder.dim("M", 4), recorder.dim("N", 4)]);
  expect(() => bind(recorder, { x })).toThrow(/values for dims M, N of input x, got none; pass them in dims/);
  expect(bind(recorder, { x }, { M: 2 }).dims).toEqual({ M: 2, N: 3 });
});
