import { sourceOf } from "@centella/conformance";
import { type CustomOp, createProgram, OutOfMemoryError, type Plan, type Program } from "@centella/core";
import { beforeEach, describe, expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { DriverError } from "../../src/device/driver.ts";
import { PtxBuilder } from "../../src/ptx/index.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

type Method =
  | "loadModule"
  | "loadModuleSync"
  | "kernel"
  | "launch"
  | "endCapture"
  | "launchGraph"
  | "createTimer"
  | "alloc"
  | "allocPinned";

let driver: InterpretedDriver;
let backend: CudaBackend;
beforeEach(() => {
  driver = new InterpretedDriver();
  backend = new CudaBackend(driver);
});

/** Makes the driver refuse a call from now on. */
function refuse(method: Method, status: number, call: string): void {
  const names: Readonly<Record<number, string>> = { 1: "INVALID_VALUE", 2: "OUT_OF_MEMORY", 500: "NOT_FOUND" };
  driver[method] = () => {
    throw new DriverError(status, `CUDA_ERROR_${names[status] ?? "LAUNCH_OUT_OF_RESOURCES"}`, call);
  };
}

function relu(): Program {
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [4])));
  return program;
}

const x = new Float32Array(4);

describe("no memory", () => {
  const run = async (plan: Plan): Promise<unknown> => plan.run({ x }).y!.data();

  test.each<[Method, string, (plan: Plan) => unknown]>([
    ["loadModule", "cuLibraryLoadData", () => backend.compile(relu())],
    ["loadModuleSync", "cuLibraryLoadData", () => backend.compileSync(relu())],
    ["kernel", "cuKernelGetFunction", () => backend.compile(relu())],
    ["launch", "cuLaunchKernelEx", run],
    ["endCapture", "cuGraphInstantiateWithFlags", run],
    ["launchGraph", "cuGraphLaunch", run],
    ["createTimer", "cuEventCreate", (plan) => plan.profile({ x })],
  ])("%s: the driver does not report how much it needs", async (method, call, work) => {
    // Of another kernel, which is loaded before.
    const other = createProgram();
    other.output("y", other.neg(other.input("x", "f32", [4])));
    const plan = await backend.compile(other);
    driver.memoryInfo = () => ({ free: 1000, total: 2 ** 30 });
    refuse(method, 2, call);
    const error: unknown = await Promise.resolve(plan)
      .then(work)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error).toMatchObject({
      ...{ requested: undefined, free: 1000, device: "PTX interpreter" },
      message: `PTX interpreter: expected more bytes of free memory, got 1000; ${call} does not report how many; use a smaller model, a shorter context or another backend`,
    });
  });

  test("timers that were created are freed if one cannot be", async () => {
    const plan = await backend.compile(relu());
    const { createTimer } = driver;
    driver.createTimer = () => {
      if (driver.liveTimers > 0) throw new DriverError(2, "CUDA_ERROR_OUT_OF_MEMORY", "cuEventCreate");
      return createTimer.call(driver);
    };
    await expect(plan.profile({ x })).rejects.toThrow(OutOfMemoryError);
    expect(driver.liveTimers).toBe(0);
  });

  test("for a tensor: the bytes that it takes, and those that are free", async () => {
    refuse("alloc", 2, "cuMemAlloc");
    const { free } = driver.memoryInfo();
    expect(() => backend.upload({ dtype: "f32", shape: [1000] }, new Float32Array(1000))).toThrow(
      `PTX interpreter: expected 4000 bytes of free memory, got ${free}; use a smaller model, a shorter context or another backend`,
    );
  });

  test("of the host", async () => {
    const program = createProgram();
    program.output("w", program.persistent("w", { dtype: "f32", shape: [1000] }));
    const plan = await backend.compile(program);
    refuse("allocPinned", 2, "cuMemHostAlloc");
    const error: unknown = await plan.load("w", sourceOf(new Float32Array(1000))).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error).toMatchObject({
      ...{ requested: 4000, free: undefined, device: "host" },
      message:
        "host: expected 4000 bytes of free memory, got less; the driver refused page-locked memory for copies to and from PTX interpreter; free memory of the host, or use a smaller model",
    });
  });
});

test("a run that gets no page-locked memory for its results keeps none for its inputs", async () => {
  const plan = await backend.compile(relu());
  const { allocPinned } = driver;
  driver.allocPinned = (bytes) => {
    refuse("allocPinned", 2, "cuMemHostAlloc");
    return allocPinned.call(driver, bytes);
  };
  await expect(plan.run({ x }).y!.data()).rejects.toThrow(OutOfMemoryError);
  plan.dispose();
  await backend.idle();
  expect(backend.memory()).toEqual({ persistents: 0, arenas: 0, tensors: 0, other: 0 });
});

describe("a kernel of the user's own that the driver refuses", () => {
  /** An op that copies a number, in a kernel that is loaded as `entry`. */
  const copy = (entry = "copy"): CustomOp => ({
    name: "copyOne",
    inputs: ["x"],
    infer: ([of]) => of!,
    reference([of], _params, y) {
      y.data.set(of!.data);
    },
    ptx: {
      launch() {
        const k = new PtxBuilder("copy", ["x", "y", "dims"], 32);
        const at = (name: string) => k.at("f32", k.pointer(name, "f32"), 0);
        k.st("f32", at("y"), k.ld("f32", at("x")));
        return { ptx: k.text(), entry, grid: [1, 1, 1], block: [32, 1, 1] };
      },
    },
  });
  const compiled = async (op: CustomOp): Promise<unknown> => {
    const program = createProgram();
    program.output("y", program.custom(op, [program.input("x", "f32", [1])]));
    return (await backend.compile(program)).run({ x: Float32Array.of(1) }).y!.data();
  };

  test("by an entry that its text does not have", async () => {
    await expect(compiled(copy("copies"))).rejects.toThrow(
      "PTX interpreter: copyOne: cuLibraryGetKernel: CUDA_ERROR_NOT_FOUND (500)\ncopies; the text has no kernel of the name `entry`",
    );
  });

  test.each<[Method, number, string, string]>([
    ["loadModule", 500, "cuLibraryGetKernel", "CUDA_ERROR_NOT_FOUND (500); the text has no kernel of the name `entry`"],
    ["kernel", 1, "cuFuncSetAttribute", "CUDA_ERROR_INVALID_VALUE (1); `sharedBytes` is more than a block of this GPU may have"],
    ["launch", 1, "cuTensorMapEncodeTiled", "CUDA_ERROR_INVALID_VALUE (1); check `columns`, `rows` and `boxRows` of its `maps`"],
    ["launch", 1, "cuLaunchKernelEx", "CUDA_ERROR_INVALID_VALUE (1); check its `grid`, `block` and `sharedBytes`"],
    [
      "launch",
      701,
      "cuLaunchKernelEx",
      "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701); a block has too many threads for its registers and shared memory: use fewer threads or less of both",
    ],
  ])("in %s, with %i of %s: what to do", async (method, status, call, words) => {
    refuse(method, status, call);
    await expect(compiled(copy())).rejects.toThrow(`PTX interpreter: copyOne: ${call}: ${words}`);
    // The backend's own kernels are not the user's to change.
    const error: unknown = await backend
      .compile(relu())
      .then((plan) => plan.run({ x }).y!.data())
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: `PTX interpreter: relu: ${call}: ${words.split(";")[0]}` });
  });
});
