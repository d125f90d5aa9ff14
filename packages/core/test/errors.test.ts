import { expect, test } from "vitest";
import {
  ArgumentError,
  CentellaError,
  DeviceLostError,
  DisposedError,
  DTypeError,
  KernelError,
  OutOfMemoryError,
  ProgramError,
  ShapeError,
  UnsupportedError,
} from "../src/index.ts";

test.each([
  [new ShapeError("dot", "b [3]", "f32 [4]", "slice b"), "shape", "dot: expected b [3], got f32 [4]; slice b"],
  [new DTypeError("dot", "b in f32", "f16"), "dtype", "dot: expected b in f32, got f16"],
  [new ArgumentError("clip", "min", "none"), "argument", "clip: expected min, got none"],
  [new ProgramError("run: load first"), "program", "run: load first"],
  [new UnsupportedError("cuda: dot", "no kernel"), "unsupported", "cuda: dot: unsupported: no kernel"],
  [new OutOfMemoryError("H200", 10, 5, "buy more"), "outOfMemory", "H200: expected 10 bytes of free memory, got 5; buy more"],
  [
    new OutOfMemoryError("H200", 10, { limit: 5, tensor: "input x" }, "split it"),
    "outOfMemory",
    "H200: expected at most 5 bytes for one tensor on this device, got 10 for input x; split it",
  ],
  [new DeviceLostError("H200", "reset"), "deviceLost", "H200: the device was lost: reset; create the backend again and reload the model"],
  [
    new KernelError("relu", "fn", " line 3 \n"),
    "kernel",
    "relu: the generated kernel failed: line 3; this is a bug in the backend, please report it",
  ],
  [new DisposedError("plan"), "disposed", "plan: used after dispose(); keep the handle alive until its last use"],
] as const)("%s", (error, code, message) => {
  expect(error).toBeInstanceOf(CentellaError);
  expect(error.name).toBe(error.constructor.name);
  expect([error.code, error.message]).toEqual([code, message]);
});

test("errors keep their fields", () => {
  expect(new OutOfMemoryError("H200", 10)).toMatchObject({ requested: 10, free: undefined, limit: undefined, device: "H200" });
  expect(new OutOfMemoryError("H200", 10, { limit: 5 })).toMatchObject({ requested: 10, free: undefined, limit: 5 });
  expect(new OutOfMemoryError("H200", 10, { limit: 5 }).message).toContain("on this device, got 10;");
  expect(new OutOfMemoryError("H200", 10).message).toContain("got less;");
  const unknown = [new OutOfMemoryError("H200", undefined, 5), new OutOfMemoryError("H200", undefined)];
  expect(unknown.map(({ message }) => message.split(";")[0])).toEqual([
    "H200: expected more bytes of free memory, got 5",
    "H200: expected more bytes of free memory, got too few",
  ]);
  expect(new UnsupportedError("x", "why")).toMatchObject({ reason: "why" });
  expect(new KernelError("relu", "source", "")).toMatchObject({ op: "relu", source: "source", log: "" });
});
