import type { U32 } from "@centella/gpu-kernels";
import { describe, expect, test } from "vitest";
import type { AtomicTraits } from "../../src/ptx/atomic.ts";
import type { PtxEmitter } from "../../src/ptx/emitter.ts";
import { PtxBuilder } from "../../src/ptx/index.ts";
import { assemble, assembler } from "../texts/assemble.ts";
import { runOn } from "./runKernel.ts";

const words = Int32Array.from({ length: 64 }, (_, i) => (i * 0x9e3779b9) | 0);
const x = new Float32Array(words.buffer);
const unsigned = Uint32Array.from(words);
const ofAll = (of: (a: number, b: number) => number): number => unsigned.reduce((a, b) => of(a, b) >>> 0);

const updates = {
  add: ofAll((a, b) => a + b),
  min: Math.min(...unsigned),
  max: Math.max(...unsigned),
  and: ofAll((a, b) => a & b),
  or: ofAll((a, b) => a | b),
  xor: ofAll((a, b) => a ^ b),
} as const;
const names = ["add", "min", "max", "and", "or", "xor"] as const;

/** 64 threads combine their words with numbers that the first one has set: in shared memory, then in global memory, with and without results. */
function updated(k: PtxEmitter): void {
  const [own, y] = [k.ld("u32", k.at("u32", k.pointer("x", "u32"), k.thread())), k.pointer("y", "u32")];
  const shared = k.sharedMemory("u32", 6);
  const counters = k.counters(12);
  const isFirst = k.compare("eq", k.thread(), 0);
  k.if(isFirst, () => {
    // Neutral elements: all bits for "min" and "and".
    for (let i = 0; i < 6; i++) k.st("u32", shared, k.constant("u32", i === 1 || i === 3 ? 0xffffffff : 0), i);
  });
  k.sync();
  for (const [i, name] of names.entries()) {
    if (name === "xor") k.atomicUpdate("u32", name, k.sharedAt("u32", shared, i), own);
    else k.atomic("u32", name, k.sharedAt("u32", shared, i), own);
    const neutral = i === 1 || i === 3 ? 0xffffffff : 0;
    // Counters are 0 at first: bits are inverted where all bits are neutral.
    const at = k.at("u32", counters, i);
    if (neutral === 0) k.atomicUpdate("u32", name, at, own);
  }
  k.sync();
  k.if(isFirst, () => {
    for (let i = 0; i < 6; i++) k.st("u32", y, k.ld("u32", shared, i), i);
    for (let i = 0; i < 6; i++) k.st("u32", y, k.atomic("u32", "add", k.at("u32", counters, i), 0), 6 + i);
  });
}

describe("atomic accesses", () => {
  test("combine the words of all threads, in shared and in global memory", async () => {
    const y = new Uint32Array((await runOn(x, updated, { threads: 64, words: 12 })).buffer);
    const want = names.map((name) => updates[name]);
    expect([...y.slice(0, 6)]).toEqual(want);
    expect([...y.slice(6)]).toEqual(want.map((value, i) => (i === 1 || i === 3 ? 0 : value)));
  });

  test("of signed words and floats go by their type, and return the number before", async () => {
    const body = (k: PtxEmitter): void => {
      const y = k.pointer("y", "i32");
      const cell = k.sharedMemory("i32", 1);
      const float = k.sharedMemory("f32", 1);
      k.if(k.compare("eq", k.thread(), 0), () => {
        k.st("i32", cell, k.constant("i32", 5));
        const before = [
          k.atomic("i32", "min", cell, -7),
          k.atomic("i32", "max", cell, -3),
          k.atomic("i32", "exchange", cell, 40),
          k.atomic("i32", "add", cell, -41),
          k.compareExchange("i32", cell, 0, 9),
          k.compareExchange("i32", cell, -1, 11),
          k.ld("i32", cell),
        ];
        for (const [i, value] of before.entries()) k.st("i32", y, value, i);
        k.st("f32", float, k.constant("f32", 1.5));
        const floats = [k.atomic("f32", "add", float, 0.25), k.atomic("f32", "exchange", float, -2), k.ld("f32", float)];
        for (const [i, value] of floats.entries()) k.st("f32", k.pointer("y", "f32"), value, 7 + i);
      });
    };
    const y = await runOn(x, body, { words: 10 });
    expect([...new Int32Array(y.buffer, 0, 7)]).toEqual([5, -7, -3, 40, -1, -1, 11]);
    expect([...y.slice(7)]).toEqual([1.5, 1.75, -2]);
  });

  test("need a number that was written", async () => {
    const body = (k: PtxEmitter): void => void k.atomic("u32", "or", k.sharedMemory("u32", 1), 1);
    await expect(runOn(x, body)).rejects.toThrow("an atomic access to an unwritten number");
  });

  test("meet plain accesses of other threads", async () => {
    const body = (k: PtxEmitter): void => {
      const counter = k.counters(1);
      k.atomicUpdate("u32", "max", counter, k.thread());
      k.if(k.compare("eq", k.thread(), 3), () => k.st("u32", k.pointer("y", "u32"), k.ld("u32", counter)));
    };
    await expect(runOn(x, body, { words: 1 })).rejects.toThrow("race");
  });

  test("of several blocks need a scope that has all of them", async () => {
    const body = (k: PtxEmitter, traits: AtomicTraits<"relaxed">): void => {
      k.atomicUpdate("u32", "add", k.counters(1), 1, traits);
      k.if(k.compare("eq", k.block(), 0), () => k.st("u32", k.at("u32", k.pointer("y", "u32"), k.thread()), k.thread()));
    };
    const options = { words: 32, grid: [3, 1, 1] } as const;
    await runOn(x, (k) => body(k, {}), options);
    await expect(runOn(x, (k) => body(k, { scope: "block" }), options)).rejects.toThrow("whose scope leaves out");
  });
});

type Step = "first fence" | "second fence" | "wide fence" | "release" | "acquire";

/**
 * Each of four blocks writes a number to `y` and takes a ticket. The block with the last one adds the numbers up, to word 4 of `y`. The ticket itself orders the
 * numbers ("tickets"), or fences around a relaxed one do ("fences"). `missing` leaves a step out.
 */
function lastBlock(k: PtxEmitter, means: "tickets" | "fences", missing?: Step): void {
  const y = k.pointer("y", "f32");
  const ticket = k.counters(1);
  const release = missing === "release" ? "acquire" : missing === "acquire" ? "release" : "acquireRelease";
  const traits: AtomicTraits = means === "fences" ? {} : { order: release };
  k.if(k.compare("eq", k.thread(), 0), () => {
    k.st("f32", k.at("f32", y, k.block()), k.convert("f32", k.add(k.block(), 1)));
    const scope = missing === "wide fence" ? "block" : "device";
    if (means === "fences" && missing !== "first fence") k.fence(scope);
    const isLast = k.compare("eq", k.atomic("u32", "add", ticket, 1, traits), 3);
    k.if(isLast, () => {
      if (means === "fences" && missing !== "second fence") k.fence(scope, "sequential");
      const sum = [0, 1, 2, 3].map((i) => k.ld("f32", y, i)).reduce((a, b) => k.add(a, b));
      k.st("f32", y, sum, 4);
      // The next launch counts from 0.
      k.st("u32", ticket, k.constant("u32", 0));
    });
  });
}

describe("what one block writes, another one reads", () => {
  const options = { words: 5, grid: [4, 1, 1] } as const;
  test.each(["tickets", "fences"] as const)("after %s", async (means) => {
    expect([...(await runOn(x, (k) => lastBlock(k, means), options))]).toEqual([1, 2, 3, 4, 10]);
  });

  test.each<readonly ["tickets" | "fences", Step]>([
    ["tickets", "release"],
    ["tickets", "acquire"],
    ["fences", "first fence"],
    ["fences", "second fence"],
    ["fences", "wide fence"],
  ])("after %s without the %s: a race", async (means, missing) => {
    await expect(runOn(x, (k) => lastBlock(k, means, missing), options)).rejects.toThrow("race");
  });
});

/** Each of two warps writes a number to shared memory and takes a ticket there; the last thread reads all. */
function lastThread(k: PtxEmitter, order: "fences" | "acquireRelease" | "relaxed"): void {
  const numbers = k.sharedMemory("u32", 64);
  const ticket = k.sharedMemory("u32", 1);
  const own = k.thread();
  k.if(k.compare("eq", own, 0), () => k.st("u32", ticket, k.constant("u32", 0)));
  k.sync();
  k.st("u32", k.sharedAt("u32", numbers, own), own);
  if (order === "fences") k.fence("block");
  const before = k.atomic("u32", "add", ticket, 1, order === "fences" ? {} : { order });
  k.if(k.compare("eq", before, 63), () => {
    if (order === "fences") k.fence("block");
    const sum = k.variable("u32", 0);
    k.for(0, 64, 1, (i: U32) => sum.set(k.add(sum.get(), k.ld("u32", k.sharedAt("u32", numbers, i)))));
    k.st("u32", k.pointer("y", "u32"), sum.get());
  });
}

describe("what threads of a block write, the last one reads", () => {
  test.each(["fences", "acquireRelease"] as const)("after %s", async (order) => {
    const y = await runOn(x, (k) => lastThread(k, order), { threads: 64, words: 1 });
    expect(new Uint32Array(y.buffer)[0]).toBe((64 * 63) / 2);
  });

  test("after nothing: a race", async () => {
    await expect(runOn(x, (k) => lastThread(k, "relaxed"), { threads: 64, words: 1 })).rejects.toThrow("race");
  });
});

test("the scope of a cluster needs sm_90", () => {
  const k = new PtxBuilder("k", ["y"], 32);
  expect(() => k.fence("cluster")).toThrow("cluster needs sm_90");
  expect(() => k.atomic("u32", "add", k.pointer("y", "u32"), 1, { scope: "cluster" })).toThrow("cluster needs sm_90");
});

test("operations that a type lacks do not compile", () => {
  const k = new PtxBuilder("k", ["y"], 32);
  const wrong = (): void => {
    // @ts-expect-error: floats have no minimum in memory.
    k.atomic("f32", "min", k.pointer("y", "f32"), 1);
    // @ts-expect-error: an exchange without its result is a store.
    k.atomicUpdate("u32", "exchange", k.pointer("y", "u32"), 1);
    // @ts-expect-error: without a result, nothing is acquired.
    k.atomicUpdate("u32", "add", k.pointer("y", "u32"), 1, { order: "acquire" });
  };
  expect(wrong).toBeTypeOf("function");
});

test.skipIf(assembler === undefined).each(["sm_80", "sm_90"] as const)(
  "ptxas assembles all of them for %s (needs ptxas)",
  async (target) => {
    const k = new PtxBuilder("atomics", ["y"], 32, target);
    const scopes = ["block", "device", "system", ...(target === "sm_90" ? ["cluster"] : [])] as const as readonly ("block" | "cluster")[];
    for (const scope of scopes) {
      for (const order of ["acquireRelease", "sequential"] as const) k.fence(scope, order);
      for (const order of ["relaxed", "acquire", "release", "acquireRelease"] as const) {
        const traits = { scope, order };
        for (const address of [
          <E extends "u32" | "i32" | "f32">(elem: E) => k.pointer("y", elem),
          <E extends "u32" | "i32" | "f32">(elem: E) => k.sharedMemory(elem, 1),
        ]) {
          for (const name of [...names, "exchange"] as const) k.atomic("u32", name, address("u32"), k.thread(), traits);
          for (const name of ["add", "min", "max", "exchange"] as const) k.atomic("i32", name, address("i32"), -1, traits);
          for (const name of ["add", "exchange"] as const) k.atomic("f32", name, address("f32"), 1, traits);
          k.compareExchange("u32", address("u32"), 0, k.thread(), traits);
          if (order === "acquire" || order === "acquireRelease") continue;
          for (const name of names) k.atomicUpdate("u32", name, address("u32"), 1, { scope, order });
          for (const name of ["add", "min", "max"] as const) k.atomicUpdate("i32", name, address("i32"), 1, { scope, order });
          k.atomicUpdate("f32", "add", address("f32"), 1, { scope, order });
        }
      }
    }
    expect(await assemble({ ptx: k.text(), entry: k.entry, sharedBytes: k.dynamicSharedBytes }, target)).toMatchObject({ said: undefined });
  },
);
