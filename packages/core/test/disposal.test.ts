import { describe, expect, test } from "vitest";
import { createProgram, createRuntime, DisposedError, type Runtime } from "../src/index.ts";
import { RuntimeCore } from "../src/runtime/runtime.ts";

function program() {
  const recorder = createProgram();
  recorder.output("y", recorder.relu(recorder.input("x", "f32", [2])));
  return recorder;
}

const spec = { dtype: "f32", shape: [2] } as const;

/** Calls of each method as users write them; undefined for methods that stay usable. */
const calls: Readonly<Record<string, ((runtime: Runtime) => unknown) | undefined>> = {
  calibrate: (runtime) => runtime.calibrate({ ms: 1 } as never),
  compile: (runtime) => runtime.compile(program()),
  custom: (runtime) => runtime.custom({ name: "twice", inputs: ["x"], infer: () => spec, reference: () => undefined }, []),
  explain: (runtime) => runtime.explain("relu", [spec]),
  lazy: (runtime) => runtime.lazy(Float32Array.of(1, 2)),
  report: undefined,
  select: (runtime) => runtime.select(program()),
  tensor: (runtime) => runtime.tensor(Float32Array.of(1, 2)),
};

describe("a disposed runtime", () => {
  test("the table has every method", () => {
    const methods = Object.entries(Object.getOwnPropertyDescriptors(RuntimeCore.prototype)).flatMap(([name, { value }]) =>
      typeof value === "function" && name !== "constructor" && name !== "dispose" ? [name] : [],
    );
    expect(Object.keys(calls)).toEqual(methods.toSorted());
  });

  test("refuses every call", async () => {
    const runtime = await createRuntime({ backends: [] });
    const x = runtime.tensor(Float32Array.of(-1, 2));
    const chain = runtime.lazy(x).relu();
    await runtime.dispose();
    await runtime.dispose();
    const all: typeof calls = { ...calls, relu: () => runtime.relu(x), "sync.relu": () => runtime.sync.relu(x), data: () => chain.data() };
    for (const [name, call] of Object.entries(all)) {
      if (call === undefined) continue;
      const error = await (async () => call(runtime))().catch((caught: unknown) => caught);
      expect(error, name).toBeInstanceOf(DisposedError);
      expect((error as Error).message, name).toMatch(/^runtime: used after dispose/);
    }
    expect(() => runtime.report()).not.toThrow();
    expect(Object.keys(runtime.counters)).toEqual(["reference"]);
  });

  test("ends pending work, except runs that were started", async () => {
    const runtime = await createRuntime({ backends: [] });
    const plan = await runtime.compile(program());
    const { y } = plan.run({ x: Float32Array.of(-1, 2) });
    const compiling = runtime.compile(program()).then(
      (late) => late.run({ x: Float32Array.of(0, 0) }),
      (error: unknown) => error,
    );
    const disposal = runtime.dispose();
    expect(await y!.data()).toEqual(Float32Array.of(0, 2));
    await disposal;
    await expect(
      Promise.resolve(compiling).then((result) => (result instanceof Error ? Promise.reject(result) : result)),
    ).rejects.toBeInstanceOf(DisposedError);
  });
});
