import type { Bool, U32 } from "@centella/gpu-kernels";
import { floatToHalf, halfToFloat } from "@centella/quant";
import { describe, expect, test } from "vitest";
import { gpuOf } from "../../src/kernels/shared/gpu.ts";
import { PtxEmitter } from "../../src/ptx/emitter.ts";
import type { LeftFragment } from "../../src/ptx/matrix.ts";
import type { Shared } from "../../src/ptx/types.ts";
import type { WarpgroupSums } from "../../src/ptx/warpgroup.ts";
import { runOn } from "./runKernel.ts";

const [rows, columns, depth] = [64, 72, 64];
const half = (x: number): number => halfToFloat(floatToHalf(x));
const x = Float32Array.from({ length: (rows + columns) * depth }, (_, i) => half(Math.sin(i * i)));
const options = { words: rows * columns, threads: 128, target: "sm_90a" } as const;

/** A step of {@link product} that a test leaves out or does wrong. */
type Step = "fence of products" | "fence of writes" | "barrier" | "wait" | "swizzle" | "stride";

/** `y = a * b^T` for `x = a [64, 64], b [72, 64]`, with operands as `form` says. */
function product(k: PtxEmitter, form: "shared" | "fragment" | "transposed", wrong?: Step): void {
  const isTransposed = form === "transposed";
  const [left, right] = [k.sharedMemory("u32", 64 * 32, 1024), k.sharedMemory("u32", isTransposed ? 2 * 64 * 32 : 72 * 32, 1024)];
  const thread = k.thread();
  const at = (row: U32, column: U32): U32 => k.mad(row, depth, column);
  const value = (index: U32) => k.ld("f32", k.at("f32", k.pointer("x", "f32"), index));
  // Words of two halves: the row, the word's place, and where it is. Pieces of four words are swizzled.
  const put = (to: Shared<"u32">, row: U32, word: U32, [low, high]: readonly [U32, U32]): void => {
    const piece = wrong === "swizzle" ? k.shiftRight(word, 2) : k.xor(k.shiftRight(word, 2), k.and(row, 7));
    const place = k.add(k.mad(row, 32, k.shiftLeft(piece, 2)), k.and(word, 3));
    k.st("u32", k.sharedAt("u32", to, place), k.roundPair("f16", value(low), value(high)));
  };
  k.for(thread, 64 * 32, 128, (i) => {
    const [row, word] = [k.shiftRight(i, 5), k.and(i, 31)];
    const first = at(row, k.mul(word, 2));
    put(left, row, word, [first, k.add(first, 1)]);
  });
  k.for(thread, 72 * 32, 128, (i) => {
    // Columns of b in pairs, or places of the depth in pairs.
    const [row, word] = isTransposed ? [k.quotient(i, 36), k.remainder(i, 36)] : [k.shiftRight(i, 5), k.and(i, 31)];
    const other = k.mul(word, 2);
    const pair = isTransposed
      ? ([at(k.add(other, rows), row), at(k.add(other, rows + 1), row)] as const)
      : ([at(k.add(row, rows), other), at(k.add(row, rows), k.add(other, 1))] as const);
    // The second 64 columns follow the 64 places of the depth of the first.
    put(
      isTransposed ? k.sharedAt("u32", right, k.mul(k.shiftRight(word, 5), 64 * 32)) : right,
      row,
      isTransposed ? k.and(word, 31) : word,
      pair,
    );
  });
  if (wrong !== "fence of writes") k.fenceAsyncProxy();
  if (wrong !== "barrier") k.sync();
  const sums = k.warpgroupSums(columns);
  const always = k.compare("lt", thread, 128);
  if (wrong !== "fence of products" && form !== "fragment") k.fenceProducts();
  const lane = k.and(thread, 31);
  const [row0, column0] = [k.mad(k.shiftRight(thread, 5), 16, k.shiftRight(lane, 2)), k.shiftLeft(k.and(lane, 3), 1)];
  for (let step = 0; step < depth / 16; step++) {
    const fragment = (): LeftFragment => {
      const word = (down: number, across: number): U32 => {
        const first = at(k.add(row0, down), k.add(column0, across + 16 * step));
        return k.roundPair("f16", value(first), value(k.add(first, 1)));
      };
      return [word(0, 0), word(8, 0), word(0, 8), word(8, 8)];
    };
    const stride = wrong === "stride" ? 2048 : 1024;
    const a = form === "fragment" ? fragment() : k.matrixDescriptor(k.sharedAt("u32", left, 8 * step), { stride });
    const b = isTransposed
      ? k.matrixDescriptor(k.sharedAt("u32", right, 16 * 32 * step), { leading: 64 * 128 })
      : k.matrixDescriptor(k.sharedAt("u32", right, 8 * step));
    if (form === "fragment") k.fenceProducts();
    k.multiplyWarpgroup("f16", sums, a, b, { adds: always, isTransposed });
  }
  k.commitProducts();
  if (wrong !== "wait") k.waitProducts(0);
  store(k, sums, row0, column0);
  if (wrong === "wait") k.waitProducts(0);
}

function store(k: PtxEmitter, sums: WarpgroupSums, row: U32, column: U32): void {
  for (let i = 0; i < sums.columns / 2; i++) {
    const place = k.mad(k.add(row, 8 * ((i >> 1) & 1)), sums.columns, k.add(column, 8 * (i >> 2) + (i & 1)));
    k.st("f32", k.at("f32", k.pointer("y", "f32"), place), sums.get(i));
  }
}

const want = Array.from({ length: rows * columns }, (_, i) => {
  let sum = 0;
  for (let k = 0; k < depth; k++) sum += x[Math.floor(i / columns) * depth + k]! * x[(rows + (i % columns)) * depth + k]!;
  return sum;
});

function largestError(y: Float32Array): number {
  return Math.max(...want.map((value, i) => Math.abs(value - y[i]!)));
}

describe("products of a warpgroup", () => {
  test.each(["shared", "fragment", "transposed"] as const)("with operands: %s", async (form) => {
    expect(largestError(await runOn(x, (k) => product(k, form), options))).toBeLessThan(1e-4);
  });

  const faults: readonly (readonly [Step, RegExp])[] = [
    ["fence of products", /without a fence before a product/],
    ["fence of writes", /without a fence for copies and products/],
    ["barrier", /race: byte \d+ of shared memory was written by another thread/],
    ["wait", /use of a register that a product is writing/],
  ];
  test.each(faults)("without the right %s", async (wrong, message) => {
    await expect(runOn(x, (k) => product(k, "shared", wrong), options)).rejects.toThrow(message);
  });

  test.each(["swizzle", "stride"] as const)("with a wrong %s have wrong results", async (wrong) => {
    expect(largestError(await runOn(x, (k) => product(k, "shared", wrong), options))).toBeGreaterThan(0.1);
  });

  test.each([
    ["before the wait", /a register was written while a product may be reading it/],
    ["after the wait", undefined],
  ] as const)("whose left matrix in registers is written %s", async (time, message) => {
    const body = (k: PtxEmitter): void => {
      const tile = k.sharedMemory("u32", 8 * 32, 1024);
      k.for(k.thread(), 8 * 32, 128, (i) => k.st("u32", k.sharedAt("u32", tile, i), i));
      k.fenceAsyncProxy();
      k.sync();
      const sums = k.warpgroupSums(8);
      const word = k.constant("u32", 0x3c003c00);
      k.fenceProducts();
      k.multiplyWarpgroup("f16", sums, [word, word, word, word], k.matrixDescriptor(k.uniform(tile)));
      k.commitProducts();
      if (time === "after the wait") k.waitProducts(0);
      k.assign(word, 0);
      k.waitProducts(0);
    };
    const run = runOn(x, body, options);
    await (message === undefined ? run : expect(run).rejects.toThrow(message));
  });

  test("that not all warps reach are a fault", async () => {
    const body = (k: PtxEmitter): void => {
      k.if(k.compare("lt", k.thread(), 96), () => k.fenceProducts());
    };
    await expect(runOn(x, body, options)).rejects.toThrow("not all of its threads reach");
  });

  test("need sm_90a, which only their texts name", async () => {
    await expect(runOn(x, (k) => product(k, "shared"), { ...options, target: "sm_90" })).rejects.toThrow("warpgroupMatrix needs sm_90a");
    const targetOf = (body: (k: PtxEmitter) => void): string | undefined => {
      const k = new PtxEmitter("k", { x: "f32", y: "f32" }, 128, { target: "sm_90a" });
      body(k);
      return /^\.target (\w+)$/m.exec(k.text())?.[1];
    };
    expect([targetOf((k) => product(k, "shared")), targetOf((k) => k.fenceAsyncProxy())]).toEqual(["sm_90a", "sm_90"]);
    const gpuWith = (...computeCapability: readonly [number, number]) =>
      gpuOf({ name: "", computeCapability, multiprocessors: 1, totalBytes: 0, driverVersion: 12040 }).target;
    expect([gpuWith(8, 6), gpuWith(9, 0), gpuWith(10, 0)]).toEqual(["sm_80", "sm_90a", "sm_90"]);
    // Its blocks have less shared memory than texts for sm_90 take.
    expect(gpuWith(12, 0)).toBe("sm_80");
  });
});

/** Sums of a ring's slots, which copies fill for another warpgroup to multiply: `wrong` leaves out what keeps a slot until it was read. */
function ring(k: PtxEmitter, wrong?: "wait for a free slot" | "right barrier" | "wait of products"): void {
  const tile = k.sharedMemory("u32", 64 * 32, 1024);
  const [full, empty] = [k.sharedMemory("u64", 1), k.sharedMemory("u64", 1)];
  const thread = k.thread();
  k.if(k.compare("eq", thread, 0), () => {
    k.initBarrier(full, 1);
    k.initBarrier(empty, 1);
    k.fenceBarriers();
  });
  k.sync();
  k.blocksPerMultiprocessor = 1;
  const turns = 3;
  const fill = (): void => {
    k.setRegisters("decrease", 40);
    k.if(k.compare("eq", thread, 0), () =>
      k.for(0, turns, 1, (i) => {
        // The copy has landed, but it may not have been multiplied: the other warpgroup misses a phase.
        if (wrong === "right barrier") k.waitBarrier(full, k.xor(k.and(i, 1), 1));
        else if (wrong === undefined || wrong === "wait of products") k.waitBarrier(empty, k.xor(k.and(i, 1), 1));
        k.expectBytes(full, 8192);
        k.copyBulk(tile, k.pointer("x", "f32"), 8192, full);
      }),
    );
  };
  const use = (): void => {
    k.setRegisters("increase", 232);
    const sums = k.warpgroupSums(8);
    const always: Bool = k.compare("ge", thread, 0);
    k.for(0, turns, 1, (i) => {
      k.waitBarrier(full, k.and(i, 1));
      k.fenceProducts();
      k.multiplyWarpgroup("f16", sums, k.matrixDescriptor(tile), k.matrixDescriptor(tile), { adds: always });
      k.commitProducts();
      if (wrong !== "wait of products") k.waitProducts(0);
      k.syncSome(1, 128);
      k.if(k.compare("eq", k.and(thread, 127), 0), () => k.arriveBarrier(empty));
    });
    k.waitProducts(0);
    k.if(k.compare("eq", thread, 128), () => k.st("f32", k.pointer("y", "f32"), sums.get(0)));
  };
  k.if(k.compare("lt", thread, 128), fill, use);
}

describe("a ring between warpgroups", () => {
  const halves = new Uint16Array(4096).map((_, i) => floatToHalf(((i * 7) % 11) / 8));
  const content = new Float32Array(halves.buffer);
  const ringOptions = { words: 1, threads: 256, target: "sm_90a" } as const;

  test("sums what copies bring", async () => {
    const [y] = await runOn(content, (k) => ring(k), ringOptions);
    const row = Array.from({ length: 16 }, (_, i) => halfToFloat(halves[i]!));
    expect(y).toBeCloseTo(3 * row.reduce((sum, each) => sum + each * each, 0), 4);
  });

  test.each([
    ["wait for a free slot", /an arrival more than the barrier expects/],
    ["right barrier", /a wait for copies that never end/],
    ["wait of products", /while a product of threads 128 to 255 reads there/],
  ] as const)("without the %s", async (wrong, message) => {
    await expect(runOn(content, (k) => ring(k, wrong), ringOptions)).rejects.toThrow(message);
  });
});

test("warpgroups cannot have more registers than their block has at launch", async () => {
  const body = (k: PtxEmitter): void => {
    k.blocksPerMultiprocessor = 1;
    const isLast = k.compare("ge", k.thread(), 256);
    const set = (change: "increase" | "decrease", count: number) => (): void => k.setRegisters(change, count);
    k.if(isLast, set("decrease", 24), set("increase", 248));
  };
  await expect(runOn(x, body, { words: 1, threads: 384, target: "sm_90a" })).rejects.toThrow(/ask for 520 registers .* has 504/);
});

describe("copies from shared memory", () => {
  const body =
    (wrong?: "fence" | "wait" | "reuse") =>
    (k: PtxEmitter): void => {
      const buffer = k.sharedMemory("f32", 32, 128);
      const own = k.sharedAt("f32", buffer, k.thread());
      k.st("f32", own, k.convert("f32", k.thread()));
      if (wrong !== "fence") k.fenceAsyncProxy();
      k.syncWarp();
      k.if(k.compare("eq", k.thread(), 0), () => {
        k.storeBulk(k.pointer("y", "f32"), buffer, 128);
        k.commitBulk();
        if (wrong !== "wait") k.waitBulkReads(wrong === "reuse" ? 1 : 0);
      });
      k.syncWarp();
      if (wrong === "reuse") k.st("f32", own, k.constant("f32", 0));
    };
  const storeOptions = { words: 32, target: "sm_90" } as const;

  test("arrive", async () => {
    expect([...(await runOn(x, body(), storeOptions))]).toEqual(Array.from({ length: 32 }, (_, i) => i));
  });

  test.each([
    ["fence", /without a fence for copies/],
    ["wait", /the block ends while a copy of thread 0/],
    ["reuse", /while a copy of thread 0 reads there/],
  ] as const)("without the %s", async (wrong, message) => {
    await expect(runOn(x, body(wrong), storeOptions)).rejects.toThrow(message);
  });
});
