import { describe, expect, test } from "vitest";
import type { Backend } from "../src/backend/backend.ts";
import {
  createProgram,
  createRuntime,
  DeviceLostError,
  NotLoadedError,
  ProgramError,
  reference,
  ShapeError,
  UnsupportedError,
} from "../src/index.ts";
import { fakeFactory } from "./support/fakeBackend.ts";

const x = Float32Array.of(1, -2, 3, -4);

describe("runtime.sync", () => {
  test("computes before it returns", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const { sync } = runtime;
    const a = runtime.tensor(x, [2, 2]);
    const y = sync.relu(sync.matmul(a, a, { transposeB: true }));
    expect([...y.dataSync()]).toEqual([5, 11, 11, 25]);
    expect(y).toMatchObject({ device: "host", spec: { dtype: "f32", shape: [2, 2] } });
    expect([...(await y.data())]).toEqual([5, 11, 11, 25]);
    expect([...sync.concat([a, y], { axis: 0 }).dataSync()]).toEqual([...x, 5, 11, 11, 25]);
    expect(runtime.planCache).toMatchObject({ plans: 3, compiled: 3 });
    sync.relu(a);
    expect(runtime.planCache).toMatchObject({ compiled: 3, hits: 1 });
  });

  test("takes results of awaited calls once they are computed", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const y = await runtime.relu(runtime.tensor(x));
    await y.ready();
    expect([...runtime.sync.neg(y).dataSync()]).toEqual([-1, -0, -3, -0]);
    expect([...y.dataSync()]).toEqual([1, 0, 3, 0]);
  });

  test("results that are still being computed must be awaited", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const y = await runtime.relu(runtime.tensor(x));
    const program = runtime.relu(y);
    const late = await program;
    expect(() => runtime.sync.neg(late)).toThrow(ProgramError);
    expect(() => late.dataSync()).toThrow(/expected its content to be at hand, got one to wait for; await data\(\)/);
  });

  test("passes over asynchronous backends with the reason", async () => {
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "later" }), fakeFactory({ name: "now", sync: true })] });
    runtime.sync.relu(runtime.tensor(x));
    expect(runtime.counters.now!.submits).toBe(1);
    expect(runtime.report().calls[0]!.reason).toBe("first choice that can; later: it answers later, not within the call");
    expect(runtime.explain("relu", [{ dtype: "f32", shape: [1] }], {}, { sync: true }).verdicts[0]).toEqual({
      backend: "later",
      takes: false,
      reason: "it answers later, not within the call",
    });
  });

  test("a backend must be able to compile within the call too", async () => {
    const half = fakeFactory({ name: "half" });
    const open = async () => Object.assign(await half.open(), { syncAvailable: true });
    await using runtime = await createRuntime({ backends: [{ name: "half", open }] });
    runtime.sync.relu(runtime.tensor(x));
    expect(runtime.counters.reference!.submits).toBe(1);
  });

  test("a small call goes to the last backend that computes within the call", async () => {
    const thresholds = { now: { memory: { min: 1e6, unit: "bytes" } }, slower: { memory: { min: "never", unit: "bytes" } } } as const;
    const backends = ["now", "slower"].map((name) => fakeFactory({ name, sync: true }));
    await using runtime = await createRuntime({ backends: [...backends, fakeFactory({ name: "later" })], policy: { thresholds } });
    expect([...runtime.sync.relu(runtime.tensor(x)).dataSync()]).toEqual([1, 0, 3, 0]);
    expect(runtime.report().calls).toMatchObject([
      {
        backend: "slower",
        reason: expect.stringMatching(/^relu on host data never repays the transfer, but no other backend can run it; now: /),
      },
    ]);
    expect(runtime.explain("relu", [{ dtype: "f32", shape: [4] }], {}, { sync: true }).backend).toBe("slower");
  });

  test("code that must be awaited first leaves the call to the next backend", async () => {
    const unready = async (): Promise<Backend> => {
      const backend = await fakeFactory({ name: "page", sync: true }).open();
      const compileSync = (): never => {
        throw new NotLoadedError("page: relu", "its kernel must be waited for");
      };
      return Object.assign(backend, { compileSync });
    };
    const page = { name: "page", open: unready };
    await using runtime = await createRuntime({ backends: [page, reference()] });
    expect([...runtime.sync.relu(runtime.tensor(x)).dataSync()]).toEqual([1, 0, 3, 0]);
    await using alone = await createRuntime({ backends: [page] });
    expect(() => alone.sync.relu(alone.tensor(x))).toThrow("page: relu: unsupported: its kernel must be waited for");
  });

  test("the implicit reference computes within the call once an awaited call has loaded it", async () => {
    const now = fakeFactory({ name: "now", sync: true, unsupported: () => "it lacks it" });
    await using runtime = await createRuntime({ backends: [now] });
    const call = (): unknown => runtime.sync.relu(runtime.tensor(x));
    expect(call).toThrow("reference: it answers later, not within the call");
    await runtime.relu(runtime.tensor(x));
    call();
    expect(runtime.counters.reference!.submits).toBe(2);
  });

  test("an explicit reference computes within the first call", async () => {
    await using runtime = await createRuntime({
      backends: [fakeFactory({ name: "now", sync: true, unsupported: () => "it lacks it" }), reference()],
    });
    runtime.sync.relu(runtime.tensor(x));
    expect(runtime.counters.reference!.submits).toBe(1);
  });

  test("a backend that fails within the call raises its error; with retry the next one that can computes", async () => {
    const lost = (): void => {
      throw new DeviceLostError("dying", "the driver was reset");
    };
    const backends = [fakeFactory({ name: "dying", sync: true, onRun: lost }), fakeFactory({ name: "later" }), reference()];
    await using strict = await createRuntime({ backends });
    expect(() => strict.sync.relu(strict.tensor(x))).toThrow(DeviceLostError);
    await using runtime = await createRuntime({ backends, policy: { fallback: "retry" } });
    const y = runtime.sync.relu(runtime.tensor(x));
    expect([...y.dataSync()]).toEqual([1, 0, 3, 0]);
    expect(runtime.report().calls).toMatchObject([
      { op: "relu", calls: 1, failed: expect.any(Number) },
      { op: "relu", calls: 1, failed: expect.any(Number) },
    ]);
    const failed = runtime.report().calls.find(({ backend }) => backend === "dying")!;
    expect(failed).toMatchObject({ calls: 1, failed: 1 });
    runtime.sync.relu(runtime.tensor(x));
    const reason = "first choice that can; dying: dying: the device was lost: the driver was reset";
    expect(runtime.report().calls.find(({ backend }) => backend === "reference")!.reason).toContain(reason.slice(0, 30));
    expect(runtime.report().calls.find(({ backend }) => backend === "dying")).toMatchObject({ calls: 1 });
  });

  test("with retry, wrong calls and bugs raise their errors, and so does a backend without a successor", async () => {
    const policy = { fallback: "retry" } as const;
    const bug = (): void => {
      throw new RangeError("a bug");
    };
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "now", sync: true, onRun: bug }), reference()], policy });
    expect(() => runtime.sync.relu(runtime.tensor(x))).toThrow("a bug");
    expect(() => runtime.sync.matmul(runtime.tensor(x), runtime.tensor(x))).toThrow(ShapeError);
    const lost = (): void => {
      throw new DeviceLostError("dying", "the driver was reset");
    };
    const dying = fakeFactory({ name: "dying", sync: true, onRun: lost });
    await using alone = await createRuntime({ backends: [dying], policy: { ...policy, force: "dying" } });
    expect(() => alone.sync.relu(alone.tensor(x))).toThrow("the device was lost: the driver was reset");
  });

  test("runs of a compiled program within the call are in the report", async () => {
    await using runtime = await createRuntime({ backends: [reference()] });
    const program = createProgram();
    program.output("y", program.relu(program.input("x", "f32", [4])));
    const plan = await runtime.compile(program);
    plan.runSync!({ x });
    expect(() => plan.runSync!({})).toThrow(/input x/);
    await plan.run({ x }).y!.data();
    expect(runtime.report().calls).toMatchObject([{ op: "program", backend: "reference", calls: 3, failed: 1 }]);
  });

  test("without a synchronous backend the error says how to get one", async () => {
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "later" })], policy: { force: "later" } });
    const call = (): unknown => runtime.sync.relu(runtime.tensor(x));
    expect(call).toThrow(UnsupportedError);
    expect(call).toThrow(
      "relu: unsupported: no backend can run it (later: it answers later, not within the call); none of them computes within a call: await it, or give createRuntime reference() or another backend that does",
    );
  });

  test("wrong arguments throw, and failed calls are counted", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const a = runtime.tensor(x);
    expect(() => runtime.sync.matmul(a, runtime.tensor(x, [2, 2]))).toThrow(ShapeError);
    expect(() => runtime.sync.relu(x as never)).toThrow(/relu: expected x to be a tensor/);
    expect(() => runtime.sync.gather(a, runtime.tensor(Int32Array.of(9)))).toThrow(/indices from 0 to 3, got 9/);
    expect(runtime.report().calls).toMatchObject([{ op: "gather", calls: 1, failed: 1 }]);
  });
});
