import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ArgumentError, createRuntime, DisposedError, type Runtime, ShapeError } from "../src/index.ts";
import { fakeFactory } from "./support/fakeBackend.ts";

let runtime: Runtime;
beforeEach(async () => {
  runtime = await createRuntime({ backends: [] });
});
afterEach(() => runtime.dispose());

describe("a lazy tensor", () => {
  test("computes a chain in one submission when it is read", async () => {
    const a = runtime.lazy(Float32Array.of(1, 2, -3, 4), [2, 2]);
    const y = a
      .matmul(runtime.lazy(Float32Array.of(1, 0, 0, -1), [2, 2]))
      .add(runtime.lazy(Float32Array.of(0.5, 0.25)))
      .relu();
    expect(y.spec).toEqual({ dtype: "f32", shape: [2, 2] });
    expect(runtime.counters.reference!.submits).toBe(0);
    expect([...(await y.data())]).toEqual([1.5, 0, 0, 0]);
    expect(runtime.counters.reference).toMatchObject({ submits: 1, ops: { fused: 1 } });
  });

  test("computes shared links once, and reads each tensor once", async () => {
    const x = runtime.tensor(Float32Array.of(1, 2));
    const shared = runtime.lazy(x).tanh();
    const y = shared.mul(shared).add(runtime.lazy(x).tanh());
    const [first, second] = await y.data();
    expect([first, second]).toEqual(
      [1, 2].map((v) => Math.fround(Math.fround(Math.fround(Math.tanh(v)) ** 2) + Math.fround(Math.tanh(v)))),
    );
    expect(runtime.counters.reference!.ops).toEqual({ fused: 1 });
  });

  test("takes options, optional tensors and other dtypes", async () => {
    const table = runtime.lazy(Float32Array.of(1, 2, 3, 4), [2, 2]);
    const rows = table.embedding(runtime.lazy(Int32Array.of(1, 0)));
    const turned = rows.reshape({ shape: [2, 1, 2] }).rope(runtime.lazy(Int32Array.of(0, 0)), {
      ropeType: "neox",
      freqFactors: runtime.lazy(Float32Array.of(1)),
    });
    expect([...(await turned.data())]).toEqual([3, 4, 1, 2]);
  });

  test("refuses a wrong call on the line that records it", async () => {
    const x = runtime.lazy(new Float32Array(6), [2, 3]);
    expect(() => x.matmul(x)).toThrow(ShapeError);
    expect(() => x.add(new Float32Array(3) as never)).toThrow(
      /add: expected b to be a lazy tensor, got a Float32Array of 12 bytes; make one with lazy\(\)/,
    );
    expect(() => x.scale({} as never)).toThrow(ArgumentError);
    expect(() => runtime.lazy(runtime.tensor(new Float32Array(1)), [1])).toThrow(/lazy: expected a tensor alone/);
    await using other = await createRuntime({ backends: [] });
    expect(() => x.add(other.lazy(new Float32Array(3)))).toThrow(/b to be of the same runtime/);
    expect("assign" in x || "kvWrite" in x).toBe(false);
  });

  test("a result can stay on the backend and start another chain", async () => {
    const mid = await runtime.lazy(Float32Array.of(1, 2)).scale({ by: 2 }).tensor();
    expect([...(await runtime.lazy(mid).relu().data())]).toEqual([2, 4]);
    const late = runtime.lazy(mid).tanh();
    mid.dispose();
    await expect(late.data()).rejects.toThrow(DisposedError);
  });

  test("a long chain does not overflow the stack", async () => {
    let x = runtime.lazy(Float32Array.of(1));
    for (let i = 0; i < 20_000; i++) x = x.scale({ by: 1 });
    expect([...(await x.data())]).toEqual([1]);
  });
});

describe("the plan cache", () => {
  test("compiles 1,000 repeats of a chain once", async () => {
    const onCompile = vi.fn();
    await using counted = await createRuntime({ backends: [fakeFactory({ name: "counted", onCompile })] });
    for (let i = 0; i < 1000; i++) {
      const y = counted.lazy(Float32Array.of(i, -i)).relu().scale({ by: 2 });
      expect([...(await y.data())]).toEqual([2 * i, 0]);
    }
    expect(onCompile).toHaveBeenCalledTimes(1);
    expect(counted.planCache).toMatchObject({ plans: 1, compiled: 1, hits: 999, evicted: 0 });
  });

  test("distinguishes chains by structure, parameters, specs and the place of each tensor", async () => {
    const [a, b] = [runtime.tensor(Float32Array.of(1, 2)), runtime.tensor(Float32Array.of(3, 4))];
    const results = [
      runtime.lazy(a).sub(runtime.lazy(b)),
      runtime.lazy(a).sub(runtime.lazy(a)),
      runtime.lazy(a).scale({ by: 0 }),
      runtime.lazy(a).scale({ by: -0 }),
      runtime.lazy(a).clip({ min: -Infinity, max: 1 }),
      runtime
        .lazy(a)
        .reshape({ shape: [2, 1] })
        .relu(),
    ];
    const data = [];
    for (const result of results) data.push([...(await result.data())]);
    expect(data).toEqual([
      [-2, -2],
      [0, 0],
      [0, 0],
      [-0, -0],
      [1, 1],
      [1, 2],
    ]);
    expect(runtime.planCache).toMatchObject({ compiled: 6, hits: 0 });
    expect([...(await runtime.lazy(b).sub(runtime.lazy(a)).data())]).toEqual([2, 2]);
    expect(runtime.planCache).toMatchObject({ compiled: 6, hits: 1 });
  });

  test("stays within its budget over 10,000 shapes", async () => {
    const onDispose = vi.fn();
    const maxPlanBytes = 2 ** 20;
    const policy = { maxPlanBytes, maxPlans: 1_000_000 };
    await using small = await createRuntime({ backends: [fakeFactory({ name: "small", onDispose })], policy });
    let most = 0;
    for (let n = 1; n <= 10_000; n++) {
      await small
        .lazy(new Float32Array(1 + (n % 100)), [1, 1 + (n % 100)])
        .add(small.lazy(new Float32Array(Math.ceil(n / 100)), [Math.ceil(n / 100), 1]))
        .relu()
        .tensor()
        .then((y) => y.dispose());
      most = Math.max(most, small.planCache.bytes);
    }
    expect(most).toBeLessThanOrEqual(maxPlanBytes);
    expect(most).toBeGreaterThan(maxPlanBytes / 2);
    const { compiled, evicted, plans } = small.planCache;
    expect(compiled).toBe(10_000);
    expect(plans + evicted).toBe(compiled);
    expect(onDispose).toHaveBeenCalledTimes(evicted);
  });

  test("a plan that failed to compile is neither kept nor counted", async () => {
    const onCompile = vi.fn(() => {
      if (onCompile.mock.calls.length === 1) throw new RangeError("bad luck");
    });
    await using unlucky = await createRuntime({ backends: [fakeFactory({ name: "unlucky", onCompile })] });
    const y = unlucky.lazy(Float32Array.of(-1)).relu();
    await expect(y.data()).rejects.toThrow("bad luck");
    expect(unlucky.planCache).toMatchObject({ plans: 0, bytes: 0 });
    expect([...(await y.data())]).toEqual([0]);
  });
});
