import { describe, expect, test, vi } from "vitest";
import {
  type BackendFactory,
  createProgram,
  createRuntime,
  DeviceLostError,
  formatReport,
  type Runtime,
  UnsupportedError,
} from "../src/index.ts";
import type { RuntimePolicy } from "../src/runtime/runtimeOptions.ts";
import { type Fake, fakeFactory } from "./support/fakeBackend.ts";

const x = Float32Array.of(1, -2, 3, -4);
const lost = (): never => {
  throw new DeviceLostError("dying", "unplugged");
};

/** The two ways to compute without compiling a program explicitly. */
const ways: readonly (readonly [string, (runtime: Runtime) => Promise<readonly number[]>])[] = [
  ["an eager call", async (runtime) => [...(await (await runtime.relu(runtime.tensor(x))).data())]],
  ["a lazy chain", async (runtime) => [...(await runtime.lazy(x).relu().data())]],
];

async function runtimeOf(
  dying: Omit<Fake, "name">,
  policy: RuntimePolicy,
  rest: readonly BackendFactory[] = [fakeFactory({ name: "next" })],
) {
  return createRuntime({ backends: [fakeFactory({ name: "dying", ...dying }), ...rest], policy });
}

describe.each(ways)("fallback of %s", (_name, compute) => {
  test.each([
    ["at the call", { onRun: lost }],
    ["while running", { onReady: lost }],
    ["while compiling", { onCompile: lost }],
  ])("a backend that dies %s raises its error, and again", async (_when, dying) => {
    await using runtime = await runtimeOf(dying, {});
    await expect(compute(runtime)).rejects.toThrow(DeviceLostError);
    await expect(compute(runtime)).rejects.toThrow(/the device was lost: unplugged; create the backend again/);
    expect(runtime.counters.next!.submits).toBe(0);
  });

  test.each([
    ["at the call", { onRun: lost }],
    ["while running", { onReady: lost }],
    ["while compiling", { onCompile: lost }],
  ])('"retry" after one that dies %s computes on the next, which has the calls from then on', async (_when, dying) => {
    await using runtime = await runtimeOf(dying, { fallback: "retry" });
    expect(await compute(runtime)).toEqual([1, 0, 3, 0]);
    expect(await compute(runtime)).toEqual([1, 0, 3, 0]);
    expect(runtime.counters.next!.submits).toBe(2);
    const { backends, calls } = runtime.report();
    expect(backends[0]).toMatchObject({ name: "dying", isOpen: false, device: expect.stringMatching(/the device was lost/) });
    expect(calls.find(({ backend }) => backend === "next")!.reason).toMatch(/dying: (it failed: )?dying: the device was lost/);
  });

  test('"retry" tries a backend again whose device is alive', async () => {
    const onReady = vi.fn(() => {
      if (onReady.mock.calls.length === 1) throw new UnsupportedError("dying", "a bad day");
    });
    await using runtime = await runtimeOf({ onReady }, { fallback: "retry" });
    expect(await compute(runtime)).toEqual([1, 0, 3, 0]);
    expect(runtime.counters.dying!.submits).toBe(1);
    expect(await compute(runtime)).toEqual([1, 0, 3, 0]);
    expect(runtime.counters.dying!.submits).toBe(2);
  });

  test.each(["error", "retry"] as const)("a bug does not fall back to another backend: %s", async (fallback) => {
    const onRun = (): never => {
      throw new TypeError("a bug");
    };
    await using runtime = await runtimeOf({ onRun }, { fallback });
    await expect(compute(runtime)).rejects.toThrow(TypeError);
    expect(runtime.counters.next!.submits).toBe(0);
  });

  test("a forced backend has no fallback", async () => {
    await using runtime = await runtimeOf({ onReady: lost }, { fallback: "retry", force: "dying" });
    await expect(compute(runtime)).rejects.toThrow(DeviceLostError);
  });

  test("raises the last error if all fail", async () => {
    const reference = {
      name: "reference",
      open: fakeFactory({
        name: "reference",
        onReady: () => {
          throw new UnsupportedError("reference", "no better");
        },
      }).open,
    };
    await using runtime = await runtimeOf({ onReady: lost }, { fallback: "retry" }, [reference]);
    await expect(compute(runtime)).rejects.toThrow(/reference: unsupported: no better/);
  });
});

test("a failing compiled program raises its error even with retry, because its state is lost", async () => {
  await using runtime = await runtimeOf({ onReady: lost }, { fallback: "retry" });
  const program = createProgram();
  program.output("y", program.relu(program.input("x", "f32", [4])));
  const plan = await runtime.compile(program);
  await expect(plan.run({ x }).y!.data()).rejects.toThrow(DeviceLostError);
  expect(runtime.counters.next!.submits).toBe(0);
});

describe("report", () => {
  test("lists the backend, count, reason and transfers of each op", async () => {
    const unsupported: Fake["unsupported"] = ({ name }) => (name === "tanh" ? "no tanh kernel" : undefined);
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "fake", unsupported })], policy: { trace: true } });
    const a = runtime.tensor(x);
    for (let i = 0; i < 3; i++) await runtime.relu(a);
    await runtime.tanh(a);
    await runtime.lazy(a).relu().add(runtime.lazy(x)).data();
    const program = createProgram();
    program.output("y", program.relu(program.input("x", "f32", [4])));
    const plan = await runtime.compile(program);
    await plan.run({ x }).y!.data();
    expect(() => plan.run({})).toThrow(/input x/);
    const { backends, calls } = runtime.report();
    expect(backends.map(({ name, isOpen }) => [name, isOpen])).toEqual([
      ["fake", true],
      ["reference", true],
    ]);
    const rows = calls.map(({ ms, ...rest }) => {
      expect(ms).toBeGreaterThan(0);
      return rest;
    });
    const why = "first choice that can";
    expect(rows).toHaveLength(4);
    expect(rows).toEqual(
      expect.arrayContaining([
        { op: "relu", backend: "fake", reason: why, calls: 3, failed: 0, bytesMoved: 48 },
        { op: "tanh", backend: "reference", reason: `${why}; fake: no tanh kernel`, calls: 1, failed: 0, bytesMoved: 16 },
        { op: "lazy", backend: "fake", reason: why, calls: 1, failed: 0, bytesMoved: 32 },
        { op: "program", backend: "fake", reason: why, calls: 2, failed: 1, bytesMoved: 0 },
      ]),
    );
    expect(structuredClone(runtime.report())).toEqual(runtime.report());
    const text = formatReport({ backends: [], calls: [{ ...rows[0]!, ms: 1234.5678 }] });
    expect(text).toMatch(/op +backend +calls +failed +ms +bytes moved +why\n/);
    expect(formatReport(runtime.report())).toMatch(/reference +yes +0 +1 +0 +scalar TypeScript|reference +yes/);
  });
});

test("explain takes an op or its name, and refuses calls that the op refuses", async () => {
  await using runtime = await createRuntime({ backends: [] });
  const spec = { dtype: "f32", shape: [2, 2] } as const;
  expect(runtime.explain("matmul", [spec, spec])).toMatchObject({ what: "matmul", cost: { flops: 16 }, backend: "reference" });
  expect(() => runtime.explain("matmull" as never, [spec, spec])).toThrow(
    'explain: expected op to be the name of an op or its definition, got "matmull"',
  );
  expect(() => runtime.explain("matmul", [spec])).toThrow(/2 tensors \(a, b\), got 1/);
  expect(() => runtime.explain("matmul", [spec, spec], { transpose: true })).toThrow(/options among/);
});
