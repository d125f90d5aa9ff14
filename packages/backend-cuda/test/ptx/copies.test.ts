import { describe, expect, test } from "vitest";
import type { PtxEmitter } from "../../src/ptx/emitter.ts";
import { runOn } from "./runKernel.ts";

const threads = 64;

/** A step of {@link reversed} that a test leaves out. */
type Step = "commit" | "wait" | "barrier" | "second barrier";

/** Each thread copies four numbers to shared memory, twice to the same place, and stores those of the thread at the block's other end. */
function reversed(k: PtxEmitter, missing?: Step): void {
  const [x, y] = [k.pointer("x", "u32"), k.pointer("y", "u32")];
  const [buffer, thread] = [k.sharedMemory("u32", 4 * threads), k.thread()];
  const other = k.sub(k.constant("u32", threads - 1), thread);
  for (const round of [0, 1]) {
    const from = k.at("u32", x, 4 * threads * round);
    k.copyPiece(k.sharedAtBytes(buffer, k.mul(thread, 16)), k.atBytes(from, thread, 16));
    if (missing !== "commit") k.commitCopies();
    if (missing !== "wait") k.waitCopies(0);
    if (missing !== "barrier") k.sync();
    const to = k.atBytes<"u32">(k.at("u32", y, 4 * threads * round), thread, 16);
    k.stVector("u32", to, k.ldVector("u32", k.sharedAtBytes(buffer, k.mul(other, 16))));
    if (missing !== "second barrier") k.sync();
  }
}

const x = Float32Array.from({ length: 8 * threads }, (_, i) => i * i);
const options = { threads };

describe("copies of 16 bytes to shared memory", () => {
  test("can be read by all threads after a wait and a barrier", async () => {
    const want = x.map((_, i) => {
      const [round, within] = [Math.floor(i / (4 * threads)), i % (4 * threads)];
      return x[4 * threads * round + 4 * (threads - 1 - (within >> 2)) + (within & 3)]!;
    });
    expect([...(await runOn(x, reversed, options))]).toEqual([...want]);
  });

  const faults: readonly (readonly [Step, RegExp])[] = [
    ["commit", /whose copy is under way/],
    ["wait", /whose copy is under way/],
    ["barrier", /read of unwritten byte/],
    ["second barrier", /whose copy is under way|was written by another thread|was read by another thread/],
  ];
  test.each(faults)("without the %s", async (missing, message) => {
    await expect(runOn(x, (k) => reversed(k, missing), options)).rejects.toThrow(message);
  });

  test("that are never waited for", async () => {
    const body = (k: PtxEmitter): void => k.copyPiece(k.sharedMemory("u32", 4), k.pointer("x", "u32"));
    await expect(runOn(x, (k) => k.if(k.compare("eq", k.thread(), 0), () => body(k)))).rejects.toThrow("did not wait for");
  });

  test("to places that are no multiples of 16", async () => {
    const body = (k: PtxEmitter): void => k.copyPiece(k.sharedAt("u32", k.sharedMemory("u32", 8), 1), k.pointer("x", "u32"));
    await expect(runOn(x, body)).rejects.toThrow("expected 16 at multiples of 16");
  });
});

/** One thread copies 16 bytes to shared memory, of which it reads `bytes`, and from there to y by a bulk copy. */
function forwarded(k: PtxEmitter, bytes: number, missing?: "wait" | "fence"): void {
  k.if(k.compare("eq", k.thread(), 0), () => {
    const buffer = k.sharedMemory("u32", 4);
    k.copyPiece(buffer, k.pointer("x", "u32"), k.constant("u32", bytes));
    k.commitCopies();
    if (missing !== "wait") k.waitCopies(0);
    if (missing !== "fence") k.fenceAsyncProxy();
    k.storeBulk(k.pointer("y", "u32"), buffer, 16);
    k.commitBulk();
    k.waitBulkReads(0);
  });
}

describe("copies that others read beside the threads", () => {
  const four = Float32Array.of(1, 2, 3, 4);
  const target = "sm_90" as const;

  test.each([16, 8, 0])("%i bytes, and zeros", async (bytes) => {
    const y = await runOn(four, (k) => forwarded(k, bytes), { target });
    expect([...y]).toEqual([...four].map((value, i) => (4 * i < bytes ? value : 0)));
  });

  test.each([
    ["wait", /whose copy is under way|unwritten byte/],
    ["fence", /without a fence for copies and products/],
  ] as const)("without the %s", async (missing, message) => {
    await expect(runOn(four, (k) => forwarded(k, 16, missing), { target })).rejects.toThrow(message);
  });
});

/** A step of {@link summed} that a test leaves out. */
type Count = "barrier before" | "count" | "barrier after";

/** Every thread of three blocks stores a number. The last block to end adds them all. */
function summed(k: PtxEmitter, missing?: Count): void {
  const [y, thread, block] = [k.pointer("y", "f32"), k.thread(), k.block()];
  const [found, counter] = [k.sharedMemory("u32", 1), k.counters(1)];
  k.st("f32", k.at("f32", y, k.mad(block, threads, thread)), k.ld("f32", k.at("f32", k.pointer("x", "f32"), thread)));
  if (missing !== "barrier before") k.sync();
  k.if(k.compare("eq", thread, 0), () => {
    k.st("u32", found, missing === "count" ? block : k.countUp(counter));
  });
  const add = (): void => {
    const sum = k.variable("f32", 0);
    k.for(0, 3 * threads, 1, (i) => sum.set(k.add(sum.get(), k.ld("f32", k.at("f32", y, i)))));
    k.st("f32", k.at("f32", y, k.add(thread, 3 * threads)), sum.get());
  };
  if (missing === "barrier after") k.if(k.both(k.compare("eq", thread, 33), k.compare("eq", block, 2)), add);
  else {
    k.sync();
    k.ifUniform(k.compare("eq", k.ld("u32", found), 2), add);
  }
}

describe("counters that blocks share", () => {
  const run = (missing?: Count): Promise<Float32Array> =>
    runOn(x.slice(0, threads), (k) => summed(k, missing), { threads, grid: [3, 1, 1], words: 4 * threads });

  test("show the last block what the others have stored", async () => {
    const sum = 3 * x.slice(0, threads).reduce((a, b) => a + b);
    expect([...(await run()).slice(3 * threads)]).toEqual(new Array(threads).fill(sum));
  });

  // Blocks run in any order: a block may read what another one has not stored yet.
  test.each<Count>(["barrier before", "count", "barrier after"])("without the %s", async (missing) => {
    await expect(run(missing)).rejects.toThrow(/race: byte \d+ of global memory was written by another thread|read of unwritten byte/);
  });
});

test("a vote that some lanes skip is a fault", async () => {
  const body = (k: PtxEmitter): void => k.if(k.compare("lt", k.thread(), 7), () => void k.anyLane(k.compare("eq", k.thread(), 3)));
  await expect(runOn(x, body)).rejects.toThrow("not all lanes");
});

test("a vote finds the one lane for which it holds", async () => {
  const body = (k: PtxEmitter): void => {
    const any = [40, 70].map((lane) => k.anyLane(k.compare("eq", k.thread(), lane)));
    const found = any.map((each, i) => k.select(each, k.constant("f32", i + 1), 0)).reduce((a, b) => k.add(a, b));
    k.st("f32", k.at("f32", k.pointer("y", "f32"), k.thread()), found);
  };
  const y = await runOn(x, body, { threads, words: threads });
  expect([y[0], y[31], y[32], y[63]]).toEqual([0, 0, 1, 1]);
});
