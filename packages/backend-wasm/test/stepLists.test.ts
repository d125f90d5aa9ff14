import { KernelError } from "@centella/core";
import { expect, test } from "vitest";
import type { WasmBackend } from "../src/backend.ts";
import { f32, i32 } from "../src/emit/index.ts";
import { wasm } from "../src/index.ts";
import type { Call, Run, Task } from "../src/kernel.ts";
import { PlanLinker } from "../src/linking/planLinker.ts";
import { EventLoopYield } from "../src/plan/eventLoopYield.ts";
import { type RunContext, runList, runListSync } from "../src/plan/runner.ts";
import { recordStep, writeStepList } from "../src/plan/stepList.ts";
import { Control } from "../src/threads/control.ts";

const run: Run = { address: () => 0, shape: () => [], scratch: 0 };

/** What runs the list of these tasks on the backend's threads. */
function contextOf({ instance, pool }: WasmBackend, tasks: readonly Task[], changes: Partial<RunContext> = {}): RunContext {
  const { memory, baseModule } = instance;
  const ignore = (): void => undefined;
  return { memory, baseModule, pool, tasks, eventLoop: new EventLoopYield(), onThreadLost: ignore, onStep: ignore, ...changes };
}

test.each([
  ["the pool", false],
  ["the caller", true],
])("a kernel that traps on %s is a typed error, and the next run is right", async (_name, isSync) => {
  const backend = (await wasm({ threads: 2 }).open()) as WasmBackend;
  const { heap } = backend;
  const { memory } = backend.instance;
  const decode = backend.instance.exports("decode.f32");
  await backend.instance.share();
  const x = heap.alloc(4096, "other");
  const y = heap.alloc(4096, "other");
  heap.f32.fill(-1, x / 4, x / 4 + 1024);
  const call = (from: number): Call => ({ fn: decode, args: [from, y, 1024] });
  const task: Task = function* () {
    yield [call(x), call(2 ** 31), call(x)];
    yield [call(x)];
  };
  const steps: number[] = [];
  const context = contextOf(backend, [task], { onStep: (step: number) => void steps.push(step) });
  const failing = writeStepList(heap, [recordStep(memory, task, run)]);
  if (isSync) expect(() => runListSync(failing, run, context)).toThrow(KernelError);
  else await expect(runList(failing, run, context, undefined)).rejects.toThrow(KernelError);
  expect(steps).toEqual([]);
  const right: Task = function* () {
    yield [call(x), call(x), call(x)];
  };
  const list = writeStepList(heap, [recordStep(memory, right, run)]);
  if (isSync) runListSync(list, run, context);
  else await runList(list, run, context, undefined);
  expect(steps).toEqual([0]);
  expect(heap.f32.subarray(y / 4, y / 4 + 1024).every((value) => value === -1)).toBe(true);
  await backend.dispose();
});

test.each([false, true])("threads leave a list to the caller, whose functions they do not have; aborted: %s", async (isAborted) => {
  const backend = (await wasm({ threads: 2 }).open()) as WasmBackend;
  const { pool, heap, target } = backend;
  const { memory } = backend.instance;
  await backend.instance.share();
  const functions = new PlanLinker(memory, target, pool);
  const fill = functions.emit("fill", (builder, name) => {
    builder.function(name, { at: "i32", begin: "i32", end: "i32" }, (f, { at, begin, end }) => {
      f.while(i32.ltU(begin, end), () => {
        f.store(i32.add(at, i32.shl(begin, 2)), f32.const(-1));
        f.advance(begin, 1);
      });
    });
  });
  await functions.load();
  const elements = 1 << 22;
  const y = heap.alloc(4 * elements, "other");
  const results = heap.f32.subarray(y / 4, y / 4 + elements);
  // Threads that look for tiles find the list that the next step opens.
  const call: Task = () => void pool!.wake(memory, 2);
  const work: Task = () => [{ fn: fill, args: [y], total: elements, grain: elements / 64 }];
  const list = writeStepList(heap, [undefined, recordStep(memory, work, run)]);
  const context = contextOf(backend, [call, work], { pool: undefined });
  for (let repeat = 0; repeat < 10; repeat++) {
    results.fill(0);
    const controller = new AbortController();
    const done = runList(list, run, context, controller.signal);
    if (isAborted) controller.abort(new Error("enough"));
    if (isAborted) await expect(done).rejects.toThrow("enough");
    else await done;
    expect(new Control(heap).isRunning).toBe(false);
    if (!isAborted) expect(results.every((value) => value === -1)).toBe(true);
  }
  functions.dispose();
  await backend.dispose();
});

test("tiles of a range cover it exactly once, whichever threads run them", async () => {
  for (const threads of [1, 3]) {
    const backend = (await wasm({ threads }).open()) as WasmBackend;
    const { pool, heap, target } = backend;
    const { memory } = backend.instance;
    const module = new PlanLinker(memory, target, pool);
    const count = module.emit("count", (builder, name) => {
      builder.function(name, { at: "i32", step: "f64", begin: "i32", end: "i32" }, (f, { at, step, begin, end }) => {
        const from = f.let(i32.add(at, i32.shl(begin, 2)));
        f.while(i32.ltU(begin, end), () => {
          f.store(from, f32.add(f32.load(from), f32.fromF64(step)));
          f.advance(from, 4);
          f.advance(begin, 1);
        });
      });
    });
    await Promise.all([backend.instance.share(), module.share()]);
    const [total, grain] = [1003, 10];
    const at = heap.allocZeroed(4 * 1024, "other");
    const task: Task = function* () {
      yield { fn: count, args: [at, 0.5], total, grain };
      yield { fn: count, args: [at, 1], total: 0, grain };
    };
    const list = writeStepList(heap, [recordStep(memory, task, run)]);
    const context = contextOf(backend, [task]);
    await runList(list, run, context, undefined);
    runListSync(list, run, context);
    await runList(list, run, { ...context, pool: undefined }, undefined);
    const counts = heap.f32.subarray(at / 4, at / 4 + 1024);
    expect(counts.every((value, i) => value === (i < total ? 1.5 : 0))).toBe(true);
    module.dispose();
    await backend.dispose();
  }
});

test("threads preempted between two tiles complete only their own stage", async () => {
  // More threads than cores, and stages of a few tiny tiles: a thread often counts its tile long after computing it.
  const backend = (await wasm({ threads: 16 }).open()) as WasmBackend;
  const { pool, heap, target } = backend;
  const { memory } = backend.instance;
  const module = new PlanLinker(memory, target, pool);
  const add = module.emit("add", (builder, name) => {
    builder.function(name, { at: "i32", begin: "i32", end: "i32" }, (f, { at, begin, end }) => {
      const cell = f.let(i32.add(at, i32.shl(begin, 2)));
      f.while(i32.ltU(begin, end), () => {
        f.store(cell, f32.add(f32.load(cell), f32.const(1)));
        f.advance(cell, 4);
        f.advance(begin, 1);
      });
    });
  });
  await Promise.all([backend.instance.share(), module.share()]);
  const tiles = Array.from({ length: 4000 }, (_, stage) => 2 + (stage % 5));
  const at = heap.allocZeroed(4 * 8 * tiles.length, "other");
  const task: Task = function* () {
    for (const [stage, total] of tiles.entries()) yield { fn: add, args: [at + 32 * stage], total, grain: 1 };
  };
  const list = writeStepList(heap, [recordStep(memory, task, run)]);
  const context = contextOf(backend, [task]);
  const runs = 400;
  for (let i = 0; i < runs; i++) await runList(list, run, context, undefined);
  const cells = heap.f32.subarray(at / 4, at / 4 + 8 * tiles.length);
  const wrong = tiles.flatMap((total, stage) => {
    const counts = [...cells.subarray(8 * stage, 8 * stage + total)];
    return counts.every((count) => count === runs) ? [] : [{ stage, counts }];
  });
  expect(wrong).toEqual([]);
  module.dispose();
  await backend.dispose();
});
