import { beforeEach, describe, expect, test } from "vitest";
import { failingSource, sourceOf } from "../../conformance/src/headless.ts";
import type { Backend } from "../src/backend/backend.ts";
import { LruCache } from "../src/backend/lruCache.ts";
import { PlanBase } from "../src/backend/planBase.ts";
import { ArgumentError, createProgram, DisposedError, type Plan, type Program, ProgramError, reference, ShapeError } from "../src/index.ts";

// Tests the common behaviour of all plans on the reference. The conformance suite checks it on every backend.

let backend: Backend;
beforeEach(async () => {
  backend = await reference().open();
});

/** `y = x * w + state`, and the state becomes y. */
function accumulate(elements = 2): Program {
  const program = createProgram();
  const w = program.persistent("w", { dtype: "f32", shape: [elements] });
  const state = program.persistent("state", { dtype: "f32", shape: [2] }, { init: "zeros" });
  const product = program.mul(program.input("x", "f32", [2]), program.slice(w, { axis: 0, start: 0, end: 2 }));
  program.output("y", program.assign(state, program.add(product, state)));
  return program;
}

const ones = Float32Array.of(1, 1);

async function loaded(): Promise<Plan> {
  const plan = await backend.compile(accumulate());
  await plan.load("w", sourceOf(Float32Array.of(3, 4)));
  return plan;
}

describe("refusals", () => {
  test("a weight that was not loaded cannot be read, saved or reset", async () => {
    const plan = await backend.compile(accumulate());
    const missing = "run: expected every weight to be loaded, got none for w; call plan.load() first";
    expect(() => plan.run({ x: ones })).toThrow(new ProgramError(missing));
    expect(() => plan.runSync?.({ x: ones })).toThrow(new ProgramError(missing));
    await expect(plan.save("w")).rejects.toThrow(new ProgramError("save: expected w to be loaded, got nothing; call plan.load() first"));
    expect(() => plan.reset("w")).toThrow(
      new ProgramError("reset: expected a persistent that starts as zeros, got the weight w; load it again"),
    );
  });

  test("a persistent that the program does not declare", async () => {
    const plan = await backend.compile(accumulate());
    const unknown = new ProgramError("plan: expected a persistent of the program, got v; declare it with persistent()");
    await expect(plan.load("v", sourceOf(ones))).rejects.toThrow(unknown);
    await expect(plan.save("v")).rejects.toThrow(unknown);
    expect(() => plan.reset("v")).toThrow(unknown);
  });

  test("a source of the wrong size keeps the loaded content; a source that fails midway does not", async () => {
    const plan = await loaded();
    await expect(plan.load("w", sourceOf(new Float32Array(3)))).rejects.toThrow(ShapeError);
    await expect(plan.load("w", sourceOf(new Float32Array(3)))).rejects.toThrow(
      /^load w: expected a source of 8 bytes for f32 \[2\], got 12 bytes/,
    );
    expect(await plan.save("w")).toEqual(Float32Array.of(3, 4));
    await expect(plan.load("w", failingSource(8))).rejects.toThrow();
    expect(() => plan.run({ x: ones })).toThrow(/got none for w/);
  });

  test("runSync neither waits for queued work nor overtakes it", async () => {
    const plan = await loaded();
    const { y } = plan.run({ x: ones });
    const busy = "runSync: expected no work under way on this backend, got some that is queued; await backend.idle() first";
    expect(() => plan.runSync?.({ x: ones })).toThrow(new ProgramError(busy));
    await y?.ready();
    await backend.idle();
    expect(plan.runSync?.({ x: ones }).y).toEqual(Float32Array.of(6, 8));
  });

  test("every call of a disposed plan", async () => {
    const plan = await loaded();
    plan.dispose();
    plan.dispose();
    expect(() => plan.run({ x: ones })).toThrow(DisposedError);
    expect(() => plan.runSync?.({ x: ones })).toThrow(DisposedError);
    expect(() => plan.reset("state")).toThrow(DisposedError);
    await expect(plan.load("w", sourceOf(ones))).rejects.toThrow(DisposedError);
    await expect(plan.save("w")).rejects.toThrow(DisposedError);
    await expect(backend.compile(accumulate(), { shareWith: plan })).rejects.toThrow(DisposedError);
  });
});

describe("order", () => {
  test("loads, resets and runs take effect in the order of the calls", async () => {
    const plan = await loaded();
    const first = plan.run({ x: ones });
    const loading = plan.load("w", sourceOf(Float32Array.of(5, 6)));
    plan.reset("state");
    const saving = plan.save("state");
    expect(await first.y?.data()).toEqual(Float32Array.of(3, 4));
    await loading;
    expect(await saving).toEqual(Float32Array.of(0, 0));
    expect(await plan.run({ x: ones }).y?.data()).toEqual(Float32Array.of(5, 6));
  });

  test("a disposed plan finishes its runs, and holds no memory afterwards", async () => {
    const plan = await loaded();
    const { y } = plan.run({ x: ones });
    const loading = plan.load("w", sourceOf(Float32Array.of(5, 6)));
    plan.dispose();
    expect(await y?.data()).toEqual(Float32Array.of(3, 4));
    await loading;
    await backend.idle();
    expect(plan instanceof PlanBase && [...plan.persistents.values()].map(({ bytes }) => bytes)).toEqual([0, 0]);
  });
});

describe("shareWith", () => {
  test("shares persistents of the same name and spec until the last plan is disposed", async () => {
    const first = await loaded();
    const second = await backend.compile(accumulate(), { shareWith: first });
    const third = await backend.compile(accumulate(3), { shareWith: second });
    expect(backend.memory().persistents).toBe(8 + 8);
    first.dispose();
    expect(await second.run({ x: ones }).y?.data()).toEqual(Float32Array.of(3, 4));
    expect(() => third.run({ x: ones })).toThrow(/got none for w/);
    await third.load("w", sourceOf(Float32Array.of(1, 1, 1)));
    expect(await third.run({ x: ones }).y?.data()).toEqual(Float32Array.of(4, 5));
    second.dispose();
    expect(backend.memory().persistents).toBe(12 + 8);
    third.dispose();
    await backend.idle();
    expect(backend.memory().persistents).toBe(0);
  });

  test("refuses a plan of another backend", async () => {
    const other = await reference().open();
    const plan = await other.compile(accumulate());
    await expect(backend.compile(accumulate(), { shareWith: plan })).rejects.toThrow(ArgumentError);
  });
});

test("an LRU cache evicts what was used least recently", () => {
  const cache = new LruCache<number>(3);
  expect(["a", "b", "c"].map((key, i) => cache.set(key, i + 1))).toEqual([undefined, undefined, undefined]);
  expect(cache.get("a")).toBe(1);
  expect(cache.get("a")).toBe(1);
  expect(cache.set("b", 2)).toBeUndefined();
  expect(cache.set("e", 5)).toBe(3);
  expect(cache.get("d")).toBeUndefined();
  expect([cache.evict(), cache.evict(), cache.evict(), cache.evict()]).toEqual([1, 2, 5, undefined]);
  expect(cache.size).toBe(0);
});
