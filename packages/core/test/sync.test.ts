import { describe, expect, test } from "vitest";
import { createRuntime, ProgramError, reference, ShapeError, UnsupportedError } from "../src/index.ts";
import { fakeFactory } from "./support/fakeBackend.ts";

const x = Float32Array.of(1, -2, 3, -4);

describe("runtime.sync", () => {
  test("computes before it returns", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const { sync } = runtime;
    const a = runtime.tensor(x, [2, 2]);
    const y = sync.relu(sync.matmul(a, a, { transposeB: true }));
    expect([...y.dataSync()]).toEqual([5, 11, 11, 25]);
    expect(y).toMatchObject({ home: "host", spec: { dtype: "f32", shape: [2, 2] } });
    expect([...(await y.data())]).toEqual([5, 11, 11, 25]);
    expect([...sync.concat([a, y], { axis: 0 }).dataSync()]).toEqual([...x, 5, 11, 11, 25]);
    expect(runtime.planCache).toMatchObject({ plans: 3, compiled: 3 });
    sync.relu(a);
    expect(runtime.planCache).toMatchObject({ compiled: 3, hits: 1 });
  });

  test("takes what awaited calls gave, once it is there", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const y = await runtime.relu(runtime.tensor(x));
    await y.ready();
    expect([...runtime.sync.neg(y).dataSync()]).toEqual([-1, -0, -3, -0]);
    expect([...y.dataSync()]).toEqual([1, 0, 3, 0]);
  });

  test("content that is still computed must be awaited", async () => {
    await using runtime = await createRuntime({ backends: [] });
    const y = await runtime.relu(runtime.tensor(x));
    const program = runtime.relu(y);
    const late = await program;
    expect(() => runtime.sync.neg(late)).toThrow(ProgramError);
    expect(() => late.dataSync()).toThrow(/expected its content to be at hand, got one to wait for; await data\(\)/);
  });

  test("passes over backends that answer later, with the reason", async () => {
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

  test("the reference that nobody gave computes within the call once an awaited call has loaded it", async () => {
    const now = fakeFactory({ name: "now", sync: true, unsupported: () => "it lacks it" });
    await using runtime = await createRuntime({ backends: [now] });
    const call = (): unknown => runtime.sync.relu(runtime.tensor(x));
    expect(call).toThrow("reference: it answers later, not within the call");
    await runtime.relu(runtime.tensor(x));
    call();
    expect(runtime.counters.reference!.submits).toBe(2);
  });

  test("the reference that was given computes within the call at once", async () => {
    await using runtime = await createRuntime({
      backends: [fakeFactory({ name: "now", sync: true, unsupported: () => "it lacks it" }), reference()],
    });
    runtime.sync.relu(runtime.tensor(x));
    expect(runtime.counters.reference!.submits).toBe(1);
  });

  test("where none can, the error names those that could", async () => {
    await using runtime = await createRuntime({ backends: [fakeFactory({ name: "later" })], policy: { force: "later" } });
    const call = (): unknown => runtime.sync.relu(runtime.tensor(x));
    expect(call).toThrow(UnsupportedError);
    expect(call).toThrow(
      "relu: unsupported: no backend can run it (later: it answers later, not within the call); those that answer within a call, where they are open: reference (where it was given), wasm (in Node and in workers), cuda",
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
