import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ArgumentError, createProgram, createRuntime, DeviceLostError, KernelError, ShapeError, UnsupportedError } from "../src/index.ts";
import { fakeFactory } from "./support/fakeBackend.ts";

const x = Float32Array.of(1, -2, 3, -4);

afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  [undefined, "createRuntime: expected an options object, got undefined"],
  [{}, "createRuntime: expected backends to be a list of backend factories such as reference(), got undefined"],
  [
    { backends: fakeFactory({ name: "a" }) },
    /^createRuntime: expected backends to be a list of backend factories such as reference\(\), got \{ name: "a"/,
  ],
  [{ backends: [fakeFactory] }, "createRuntime: expected backends to be a list of backend factories such as reference(), got [a function]"],
  [{ backends: [], polcy: {} }, "createRuntime: expected options among {backends, policy}, got polcy; check the spelling"],
  [{ backends: [], policy: { forse: "a" } }, /^createRuntime.policy: expected options among \{force, .*\}, got forse/],
])("options that are none are refused: %o", async (options, message) => {
  await expect(createRuntime(options as never)).rejects.toThrow(message);
});

test("console.log shows a runtime's backends, not its op methods", async () => {
  await using runtime = await createRuntime({ backends: [fakeFactory({ name: "some" })] });
  expect(inspect(runtime)).toBe("Runtime { backends: some, reference }");
});

describe("eager calls", () => {
  test("compute on the reference if there is no other backend", async () => {
    await using runtime = await createRuntime({ backends: [] });
    using a = runtime.tensor(x, [2, 2]);
    using y = await runtime.relu(await runtime.matmul(a, a));
    expect([...(await y.data())]).toEqual([0, 6, 0, 10]);
    expect(y.spec).toEqual({ dtype: "f32", shape: [2, 2] });
    expect(runtime.counters.reference?.ops).toEqual({ matmul: 1, relu: 1 });
  });

  test("take ops without inputs, and bools", async () => {
    await using runtime = await createRuntime({ backends: [] });
    using positions = await runtime.arange({ count: 3, dtype: "i32" });
    expect(await positions.data()).toEqual(Int32Array.of(0, 1, 2));
    using draw = runtime.tensor(Int32Array.of(1), []);
    using first = await runtime.random({ shape: [2], seed: 1 });
    using second = await runtime.random({ shape: [2], seed: 1, draw });
    expect(await second.data()).not.toEqual(await first.data());
    using truth = runtime.tensor(Uint8Array.of(0, 1), [2], "bool");
    using not = await runtime.logicalNot(truth);
    expect([not.spec.dtype, ...(await not.data())]).toEqual(["bool", 1, 0]);
  });

  test("take optional tensors by name", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const head = runtime.tensor(x, [1, 1, 4]);
    const positions = runtime.tensor(Int32Array.of(1));
    const freqFactors = runtime.tensor(Float32Array.of(1e9, 1e9));
    using y = await runtime.rope(head, positions, { ropeType: "neox", freqFactors });
    (await y.data()).forEach((value, i) => {
      expect(value).toBeCloseTo(x[i]!, 5);
    });
  });

  test("reject for wrong arguments", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const a = runtime.tensor(x, [2, 2]);
    await expect(runtime.matmul(a, runtime.tensor(x))).rejects.toThrow(ShapeError);
    await expect(runtime.relu(x as never)).rejects.toThrow(/relu: expected x to be a tensor/);
    await expect(runtime.sum(a, { axes: 1 } as never)).rejects.toThrow(/options among \{axis, keepDims\}, got axes/);
    await expect(runtime.assign(a, a)).rejects.toThrow(/persistent/);
    expect(() => runtime.tensor(x, [3])).toThrow(ShapeError);
  });
});

describe("plan cache", () => {
  test("a repeated call compiles once; other shapes and parameters compile again", async () => {
    const onCompile = vi.fn();
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "fake", onCompile })] });
    const a = runtime.tensor(x);
    for (let i = 0; i < 5; i++) (await runtime.relu(a)).dispose();
    expect(onCompile).toHaveBeenCalledTimes(1);
    await runtime.relu(runtime.tensor(x, [2, 2]));
    expect(onCompile).toHaveBeenCalledTimes(2);
    for (const max of [1, Number.POSITIVE_INFINITY]) await runtime.clip(a, { min: Number.NEGATIVE_INFINITY, max });
    expect(onCompile).toHaveBeenCalledTimes(4);
  });

  test("distinguishes parameters that are equal in JSON", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const a = runtime.tensor(Float32Array.of(5, -5));
    const lower = await runtime.clip(a, { min: Number.NEGATIVE_INFINITY, max: Number.NEGATIVE_INFINITY });
    const upper = await runtime.clip(a, { min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY });
    expect([...(await lower.data()), ...(await upper.data())]).toEqual([Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, 5, -5]);
  });

  test("the least recently used plan is evicted, and its outputs stay valid", async () => {
    const [onCompile, onDispose] = [vi.fn(), vi.fn()];
    const backends = [fakeFactory({ name: "fake", onCompile, onDispose })];
    await using runtime = await createRuntime({ backends, policy: { maxPlans: 2 } });
    const a = runtime.tensor(x);
    const [relu] = [await runtime.relu(a), await runtime.tanh(a), await runtime.relu(a)];
    await runtime.silu(a);
    expect(onDispose).toHaveBeenCalledTimes(1);
    await runtime.relu(a);
    expect(onCompile).toHaveBeenCalledTimes(3);
    await runtime.tanh(a);
    expect(onCompile).toHaveBeenCalledTimes(4);
    expect([...(await relu.data())]).toEqual([1, 0, 3, 0]);
  });

  test("a failed compile is not kept", async () => {
    const onCompile = vi.fn(() => {
      if (onCompile.mock.calls.length === 1) throw new KernelError("relu", "", "bad luck");
    });
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "fake", onCompile })] });
    const a = runtime.tensor(x);
    await expect(runtime.relu(a)).rejects.toThrow(KernelError);
    expect([...(await (await runtime.relu(a)).data())]).toEqual([1, 0, 3, 0]);
  });
});

describe("fallback", () => {
  const lost = fakeFactory({
    name: "lost",
    onRun() {
      throw new DeviceLostError("lost", "unplugged");
    },
  });

  test("a backend that fails while running raises its error", async () => {
    await using runtime = await createRuntime({ backends: [lost] });
    await expect(runtime.relu(runtime.tensor(x))).rejects.toThrow(DeviceLostError);
  });

  test('"retry" computes on the next one', async () => {
    await using runtime = await createRuntime({ backends: [lost, fakeFactory({ name: "next" })], policy: { fallback: "retry" } });
    expect([...(await (await runtime.relu(runtime.tensor(x))).data())]).toEqual([1, 0, 3, 0]);
    expect(runtime.counters).toMatchObject({ next: { ops: { relu: 1 } }, reference: { ops: {} } });
  });

  test("a forced backend has no fallback", async () => {
    await using runtime = await createRuntime({ backends: [lost], policy: { fallback: "retry", force: "lost" } });
    await expect(runtime.relu(runtime.tensor(x))).rejects.toThrow(DeviceLostError);
  });

  test("if the last backend fails, its error is raised", async () => {
    const backends = [lost, { ...lost, name: "reference" }];
    await using runtime = await createRuntime({ backends, policy: { fallback: "retry" } });
    await expect(runtime.relu(runtime.tensor(x))).rejects.toThrow(DeviceLostError);
  });
});

describe("which backends", () => {
  const absent = {
    name: "absent",
    open: async () => {
      throw new UnsupportedError("absent", "no such library");
    },
  };

  test("an unavailable backend is skipped, and its reason is recorded", async () => {
    await using runtime = await createRuntime({ backends: [absent] });
    const program = createProgram();
    program.output("y", program.relu(program.input("x", "f32", [4])));
    const plan = await runtime.compile(program);
    expect(plan.selection.backend.name).toBe("reference");
    expect(plan.selection.rejected).toEqual([{ backend: "absent", reason: "no such library" }]);
    expect([...(await plan.run({ x }).y!.data())]).toEqual([1, 0, 3, 0]);
  });

  test("an error other than UnsupportedError is not swallowed", async () => {
    const broken = { name: "broken", open: () => Promise.reject(new TypeError("a bug")) };
    await expect(createRuntime({ backends: [broken] })).rejects.toThrow(TypeError);
  });

  test("CENTELLA_BACKEND forces one", async () => {
    vi.stubEnv("CENTELLA_BACKEND", "reference");
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "fake" })] });
    expect(runtime.backends.map(({ name }) => name)).toEqual(["reference"]);
  });

  test("the policy takes precedence over the environment", async () => {
    vi.stubEnv("CENTELLA_BACKEND", "reference");
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "fake" })], policy: { force: "fake" } });
    expect(runtime.backends.map(({ name }) => name)).toEqual(["fake"]);
  });

  test("an unknown name is an error", async () => {
    vi.stubEnv("CENTELLA_BACKEND", "cude");
    await expect(createRuntime({ backends: [fakeFactory({ name: "cuda" })] })).rejects.toThrow(ArgumentError);
    await expect(createRuntime({ backends: [fakeFactory({ name: "cuda" })] })).rejects.toThrow(
      /backend: expected one of cuda, reference, got cude; check the name/,
    );
  });

  test("a forced backend that is unavailable reports the reason", async () => {
    await using runtime = await createRuntime({ backends: [absent], policy: { force: "absent" } });
    await expect(runtime.relu(runtime.tensor(x))).rejects.toThrow(/absent: no such library/);
  });
});
