import { sourceOf } from "@centella/conformance";
import { createProgram, DisposedError, KernelError, type Program } from "@centella/core";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { DriverError } from "../../src/device/driver.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

let driver: InterpretedDriver;
let backend: CudaBackend;
beforeEach(() => {
  driver = new InterpretedDriver();
  backend = new CudaBackend(driver);
});

/** A promise that resolves when `open` is called. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

describe("a plan that is compiled in the background", () => {
  /** Delays modules until `release` is called. */
  function holdModules(): { readonly asked: string[]; readonly release: () => void } {
    const asked: string[] = [];
    const load = driver.loadModule.bind(driver);
    const { opened, open } = gate();
    driver.loadModule = async (image) => {
      asked.push(String(image));
      await opened;
      return load(image);
    };
    return { asked, release: open };
  }

  const program = (): Program => {
    const recorded = createProgram();
    const x = recorded.input("x", "f32", [recorded.dim("T", 64), 4]);
    const w = recorded.persistent("w", { dtype: "f32", shape: [3, 4] });
    recorded.output("y", recorded.softmax(recorded.matmul(x, w, { transposeB: true })));
    return recorded;
  };
  const w = sourceOf(new Float32Array(12));

  /** Lets all work go on that waits for nothing. */
  async function turns(): Promise<void> {
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  test("loads weights before its kernels are compiled, and its runs wait for them", async () => {
    const { asked, release } = holdModules();
    const plan = await backend.compile(program(), { background: true });
    const prepared = plan.prepare!([{ T: 1 }, { T: 64 }]);
    await plan.load("w", w);
    expect(asked.length).toBeGreaterThan(0);
    const output = plan.run({ x: new Float32Array(4) }).y!.data();
    release();
    expect([...(await output)]).toEqual([1, 1, 1].map((one) => Math.fround(one / 3)));
    await prepared;
    const before = asked.length;
    for (const rows of [1, 64]) await plan.run({ x: new Float32Array(4 * rows) }).y!.data();
    expect(asked.length).toBe(before);
  });

  test("compiles a few kernels at a time, each once", async () => {
    vi.stubGlobal("navigator", { hardwareConcurrency: 3 });
    backend = new CudaBackend(driver);
    vi.unstubAllGlobals();
    const { asked, release } = holdModules();
    const plan = await backend.compile(program(), { background: true });
    const prepared = [plan.prepare!([{ T: 1 }]), plan.prepare!([{ T: 1 }, { T: 2 }, { T: 64 }])];
    await plan.load("w", w);
    // One thread is left to read weights.
    expect(asked.length).toBe(2);
    release();
    await Promise.all(prepared);
    expect(new Set(asked).size).toBe(asked.length);
  });

  test("plans a variant while kernels of those before are compiled, as soon as a thread is free", async () => {
    vi.stubGlobal("navigator", { hardwareConcurrency: 8 });
    backend = new CudaBackend(driver);
    vi.unstubAllGlobals();
    const { asked, release } = holdModules();
    const plan = await backend.compile(program(), { background: true });
    const prepared = plan.prepare!([{ T: 1 }, { T: 64 }]);
    await turns();
    // A product and a softmax of one row, and those of many.
    expect(asked.length).toBeGreaterThan(2);
    release();
    await prepared;
  });

  test("waits while runs are under way", async () => {
    const plan = await backend.compile(program());
    await plan.load("w", w);
    const load = driver.loadModule.bind(driver);
    let loaded = 0;
    driver.loadModule = async (text) => {
      loaded++;
      return load(text);
    };
    const { finished } = driver;
    const [asked, over] = [gate(), gate()];
    driver.finished = async (...args) => {
      asked.open();
      await over.opened;
      return finished.apply(driver, args);
    };
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const output = plan.run({ x: new Float32Array(4 * 64) }).y!.data();
    await asked.opened;
    const prepared = plan.prepare!([{ T: 1 }, { T: 2 }]);
    await turns();
    expect(loaded).toBe(0);
    over.open();
    await output;
    // Another run may follow soon.
    await turns();
    expect(vi.getTimerCount()).toBe(1);
    expect(loaded).toBe(0);
    await vi.advanceTimersByTimeAsync(20);
    await prepared;
    expect(loaded).toBeGreaterThan(0);
  });

  test("may be disposed of meanwhile, and leaves nothing", async () => {
    const { release } = holdModules();
    const plan = await backend.compile(program(), { background: true });
    const prepared = plan.prepare!([{ T: 1 }, { T: 64 }]);
    plan.dispose();
    release();
    await prepared;
    await backend.idle();
    expect(backend.memory()).toMatchObject({ persistents: 0, arenas: 0, tensors: 0 });
    await expect(plan.prepare!([{ T: 1 }])).rejects.toThrow(DisposedError);
  });

  test("reports a kernel that cannot be compiled to every caller that waits for it", async () => {
    const load = driver.loadModule.bind(driver);
    driver.loadModule = async () => {
      throw new DriverError(218, "CUDA_ERROR_INVALID_PTX", "cuModuleLoadDataEx", "line 1: syntax error");
    };
    const plan = await backend.compile(program(), { background: true });
    await plan.load("w", w);
    await expect(plan.prepare!([{ T: 1 }])).rejects.toThrow(KernelError);
    await expect(plan.run({ x: new Float32Array(4) }).y!.data()).rejects.toThrow(KernelError);
    driver.loadModule = load;
    expect(await plan.run({ x: new Float32Array(4) }).y!.data()).toHaveLength(3);
  });
});
