import { type F32, gpuKernels } from "@centella/gpu-kernels";
import { describe, expect, test } from "vitest";
import type { PtxEmitter } from "../../src/ptx/emitter.ts";
import { parse } from "../interpreter/parse.ts";
import { shareRegisters } from "../interpreter/registers.ts";
import { runOn } from "./runKernel.ts";

/** An elementwise op; numeric parameters are 1. */
const op =
  (name: "cos" | "elu" | "exp" | "log" | "sigmoid" | "sin" | "tanh") =>
  (k: PtxEmitter, x: F32): F32 =>
    gpuKernels[name]!.element!.of(k, [x], () => k.constant("f32", 1), "f32");

/** `y[i] = f(x[i])` for any number of values. */
function map(x: Float32Array, f: (k: PtxEmitter, x: F32) => F32): Promise<Float32Array> {
  return runOn(x, (k) =>
    k.for(k.thread(), x.length, 32, (i) => {
      k.st("f32", k.at("f32", k.pointer("y", "f32"), i), f(k, k.ld("f32", k.at("f32", k.pointer("x", "f32"), i))));
    }),
  );
}

const one = Float32Array.of(1);

describe("what it finds", () => {
  const faults: readonly (readonly [string, RegExp, (k: PtxEmitter) => void])[] = [
    [
      "an access beyond the tensor",
      /read of 4 bytes outside of its tensors, 0 bytes behind the end of one of 4/,
      (k) => void k.ld("f32", k.at("f32", k.pointer("x", "f32"), 1)),
    ],
    [
      "a write to a tensor that is read",
      /write of 4 bytes outside of its tensors, before all of them/,
      (k) => k.st("f32", k.pointer("x", "f32"), k.constant("f32", 1)),
    ],
    ["a read of what nothing wrote", /unwritten/, (k) => void k.ld("f32", k.pointer("y", "f32"))],
    ["two threads writing one place", /written by two threads/, (k) => k.st("f32", k.pointer("y", "f32"), k.constant("f32", 1))],
    [
      "a missing barrier",
      /race/,
      (k) => {
        const shared = k.sharedMemory("f32", 64);
        const thread = k.thread();
        k.st("f32", k.sharedAt("f32", shared, thread), k.constant("f32", 1));
        k.if(k.compare("eq", thread, 63), () => void k.ld("f32", shared, 32));
      },
    ],
    [
      "a count that is read without a barrier",
      /race/,
      (k) => {
        const cell = k.sharedMemory("u32", 1);
        k.if(k.compare("eq", k.thread(), 0), () => k.st("u32", cell, k.constant("u32", 0)));
        k.sync();
        k.addShared(cell, 1);
        k.if(k.compare("eq", k.thread(), 63), () => void k.ld("u32", cell));
      },
    ],
    ["a barrier that some threads skip", /barrier that 7 of 64/, (k) => k.ifUniform(k.compare("lt", k.thread(), 7), () => k.sync())],
    [
      "a shuffle that some lanes skip",
      /shuffle/,
      (k) => k.if(k.compare("lt", k.thread(), 7), () => void k.shuffleXor(k.constant("f32", 1), 1)),
    ],
  ];
  for (const [name, message, body] of faults) {
    test(name, async () => {
      await expect(runOn(one, body, { threads: 64 })).rejects.toThrow(message);
    });
  }

  test("a misaligned access", async () => {
    const body = (k: PtxEmitter): void => {
      const odd = k.at("b16", k.pointer("x", "b16"), 1) as string as Parameters<typeof k.ld<"f32">>[1];
      k.ld("f32", odd);
    };
    await expect(runOn(Float32Array.of(1, 2), body)).rejects.toThrow("misaligned");
  });

  test("a register that is not assigned on every path", async () => {
    const body = (k: PtxEmitter): void => {
      let leaked: F32 | undefined;
      k.if(k.compare("lt", k.thread(), 7), () => {
        leaked = k.constant("f32", 1);
      });
      k.st("f32", k.at("f32", k.pointer("y", "f32"), k.thread()), leaked!);
    };
    await expect(runOn(one, body)).rejects.toThrow("used before it is assigned");
  });
});

describe("shared registers", () => {
  const kernel = parse(`
.visible .entry f()
.reg .u32 %u<8>;
.reg .pred %p<1>;
mov.u32 %u0, 1;
mov.u32 %u1, %u0;
mov.u32 %u2, %u1;
$L0:
add.u32 %u3, %u2, 1;
mov.u32 %u4, %u3;
setp.lt.u32 %p0, %u4, 7;
@%p0 bra $L0;
mov.u32 %u5, %u4;
ret;`);

  test("are few, and a loop keeps what it reads", () => {
    const { registers, blocks } = shareRegisters(kernel);
    expect(registers).toEqual(["u0", "u1", "u2", "p0"]);
    const texts = blocks.flatMap(({ instructions }) => instructions.map(({ name, operands }) => `${name} ${operands.join(", ")}`));
    expect(texts).toEqual([
      "mov.u32 %u0, 1",
      "mov.u32 %u1, %u0",
      "mov.u32 %u0, %u1",
      "add.u32 %u1, %u0, 1",
      "mov.u32 %u2, %u1",
      "setp.lt.u32 %p0, %u2, 7",
      "bra $L0",
      "mov.u32 %u0, %u2",
      "ret ",
    ]);
  });
});

describe("elementary functions against f64", () => {
  const values = Float32Array.from({ length: 4001 }, (_, i) => (i - 2000) / 20);
  const small = Float32Array.from({ length: 2001 }, (_, i) => (i - 1000) / 1e4);
  const worst = (got: Float32Array, x: Float32Array, f: (x: number) => number, floor: number): number =>
    Math.max(...[...got].map((y, i) => Math.abs(y - Math.fround(f(x[i]!))) / Math.max(Math.abs(f(x[i]!)), floor)));

  test("exp", async () => {
    const x = values.map((v) => Math.max(-87, Math.min(88, v)));
    expect(worst(await map(x, op("exp")), x, Math.exp, 0)).toBeLessThan(3e-7);
    expect([...(await map(Float32Array.of(-1e30, -Infinity, 89, Infinity, NaN, -100, 0), op("exp")))]).toEqual([
      0,
      0,
      Infinity,
      Infinity,
      NaN,
      Math.fround(Math.exp(-100)),
      1,
    ]);
  });

  test("elu, tanh, sigmoid, log", async () => {
    expect(worst(await map(small, op("elu")), small, (v) => (v < 0 ? Math.expm1(v) : v), 1e-30)).toBeLessThan(3e-7);
    for (const x of [small, values]) {
      expect(worst(await map(x, op("tanh")), x, Math.tanh, 1e-30)).toBeLessThan(3e-7);
      expect(worst(await map(x, op("sigmoid")), x, (v) => 1 / (1 + Math.exp(-v)), 1e-37)).toBeLessThan(4e-7);
    }
    const positive = Float32Array.from({ length: 1000 }, (_, i) => 1 + i * i * i);
    expect(worst(await map(positive, op("log")), positive, Math.log, 1)).toBeLessThan(2e-7);
    expect([...(await map(Float32Array.of(Infinity, -Infinity, NaN), op("tanh")))]).toEqual([1, -1, NaN]);
  });

  test("sine and cosine of large angles", async () => {
    const x = Float32Array.from({ length: 2000 }, (_, i) => (i - 1000) * 97.31);
    const sin = await map(x, op("sin"));
    const cos = await map(x, op("cos"));
    for (const [i, v] of x.entries()) {
      expect(Math.abs(sin[i]! - Math.sin(v))).toBeLessThan(1e-7);
      expect(Math.abs(cos[i]! - Math.cos(v))).toBeLessThan(1e-7);
    }
  });
});

test("blocks and warps run in an order that a seed gives", async () => {
  /** Each warp, in the order in which they count. */
  const orderOf = async (seed: number): Promise<readonly number[]> => {
    const body = (k: PtxEmitter): void => {
      const counter = k.counters(1);
      const warp = k.mad(k.block(), 4, k.shiftRight(k.thread(), 5));
      k.if(k.compare("eq", k.and(k.thread(), 31), 0), () => k.st("u32", k.at("u32", k.pointer("y", "u32"), k.countUp(counter)), warp));
    };
    return [...new Uint32Array((await runOn(one, body, { threads: 128, grid: [8, 1, 1], words: 32, seed })).buffer)];
  };
  const orders = await Promise.all([1, 2, 3].map(orderOf));
  expect(orders.map((order) => order.toSorted((a, b) => a - b))).toEqual(orders.map(() => Array.from({ length: 32 }, (_, i) => i)));
  expect(new Set(orders.map((order) => order.join())).size).toBe(3);
  for (const order of orders) {
    const blocks = [...new Set(order.map((warp) => warp >> 2))];
    expect(blocks).not.toEqual(blocks.toSorted((a, b) => a - b));
    const turns = blocks.map((block) => order.filter((warp) => warp >> 2 === block).map((warp) => warp & 3));
    expect(new Set(turns.map((turn) => turn.join())).size).toBeGreaterThan(2);
  }
  expect(await orderOf(2)).toEqual(orders[1]);
});
