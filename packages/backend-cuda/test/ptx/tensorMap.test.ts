import { describe, expect, test } from "vitest";
import type { PtxEmitter } from "../../src/ptx/emitter.ts";
import { PtxBuilder } from "../../src/ptx/index.ts";
import { assemble, assembler } from "../texts/assemble.ts";
import { type RunMap, runOn } from "./runKernel.ts";

const [columns, rows, boxRows] = [128, 20, 8];
// Pairs of halves as words: the row and the pair in it.
const word = (row: number, pair: number): number => (row << 16) + pair + 1;
const x = new Float32Array(Uint32Array.from({ length: (rows * columns) / 2 }, (_, i) => word(Math.floor(i / 64), i % 64)).buffer);

type Step = "wait" | "bytes" | "alignment";

/** Copies the box at a column and a row to shared memory, and writes it to y. */
function copied(k: PtxEmitter, column: number, row: number, wrong?: Step): void {
  const box = k.sharedMemory("u32", boxRows * 32 + 16, 1024);
  const barrier = k.sharedMemory("u64", 1);
  const isFirst = k.compare("eq", k.thread(), 0);
  k.if(isFirst, () => {
    k.initBarrier(barrier, 1);
    k.fenceBarriers();
    k.expectBytes(barrier, boxRows * 128 - (wrong === "bytes" ? 128 : 0));
    const to = wrong === "alignment" ? k.sharedAtBytes<"u32">(box, 64) : box;
    k.copyBox(to, k.tensorMap("boxes"), k.constant("u32", column), k.constant("u32", row), barrier);
  });
  k.syncWarp();
  if (wrong !== "wait") k.waitBarrier(barrier, k.constant("u32", 0));
  k.for(k.thread(), boxRows * 32, 32, (i) => {
    k.st("u32", k.at("u32", k.pointer("y", "u32"), i), k.ld("u32", k.sharedAt("u32", box, i)));
  });
}

const boxes: RunMap = { columns, rows, boxRows };
const options = { words: boxRows * 32, target: "sm_90", maps: { boxes } } as const;

describe("boxes of a matrix", () => {
  test.each([
    [0, 0],
    [64, 3],
    [64, 16],
    [0, 20],
    [128, 0],
  ])("at column %i and row %i are swizzled, with zeros beyond the matrix", async (column, row) => {
    const y = new Uint32Array((await runOn(x, (k) => copied(k, column, row), options)).buffer);
    const want = Array.from({ length: boxRows * 32 }, (_, i) => {
      const [down, place] = [Math.floor(i / 32), i % 32];
      const pair = column / 2 + (place ^ (4 * (down % 8)));
      return row + down < rows && pair < columns / 2 ? word(row + down, pair) : 0;
    });
    expect([...y]).toEqual(want);
  });

  test.each<readonly [Step, RegExp]>([
    ["wait", /while a copy writes there/],
    ["bytes", /a wait for copies that never end/],
    ["alignment", /expected a multiple of 128/],
  ])("without the right %s", async (wrong, message) => {
    await expect(runOn(x, (k) => copied(k, 0, 0, wrong), options)).rejects.toThrow(message);
  });

  test("may be prefetched before they are copied", async () => {
    const body = (k: PtxEmitter): void => {
      k.if(k.compare("eq", k.thread(), 0), () => k.prefetchBox(k.tensorMap("boxes"), k.constant("u32", 64), k.constant("u32", 16)));
      copied(k, 64, 16);
    };
    expect([...(await runOn(x, body, options))]).toEqual([...(await runOn(x, (k) => copied(k, 64, 16), options))]);
    await expect(runOn(x, body, { ...options, target: "sm_80" })).rejects.toThrow("needs sm_90");
  });

  test("need sm_90 and a map", async () => {
    await expect(runOn(x, (k) => copied(k, 0, 0), { ...options, target: "sm_80" })).rejects.toThrow("needs sm_90");
    await expect(runOn(x, (k) => copied(k, 0, 0), { ...options, maps: {} })).rejects.toThrow("no tensor map boxes");
  });
});

type StoreStep = "fence" | "wait for the reads" | "wait" | "alignment";

/** Writes `1000 row + pair` to each pair of a box, copies the box to `y` at a column and a row, and adds 1 to the word of `y` at `place`. */
function stored(k: PtxEmitter, column: number, row: number, place: number, wrong?: StoreStep): void {
  const box = k.sharedMemory("u32", boxRows * 32 + 16, 1024);
  const y = k.pointer("y", "u32");
  for (let down = 0; down < boxRows; down++) {
    const at = k.add(k.swizzledByte(k.constant("u32", down), k.mul(k.thread(), 4)), 128 * down);
    k.st("u32", k.sharedAtBytes<"u32">(box, at), k.add(k.thread(), 1000 * down));
  }
  if (wrong !== "fence") k.fenceAsyncProxy();
  k.syncWarp();
  k.if(k.compare("eq", k.thread(), 0), () => {
    const from = wrong === "alignment" ? k.sharedAtBytes<"u32">(box, 64) : box;
    k.storeBox(k.tensorMap("boxes"), k.constant("u32", column), k.constant("u32", row), from);
    k.commitBulk();
    if (wrong === "wait for the reads") k.st("u32", box, k.constant("u32", 0));
    if (wrong !== "wait") k.waitBulk(0);
    else k.waitBulkReads(0);
    k.st("u32", y, k.add(k.ld("u32", y, place), 1), place);
  });
}

describe("boxes that are copied to a matrix", () => {
  const maps = { boxes: { columns, rows, boxRows, of: "y" } } as const;
  const toY = { words: (rows * columns) / 2, target: "sm_90", maps } as const;
  test.each([
    [0, 0],
    [64, 3],
    [64, 16],
    [40, 11],
  ])("at column %i and row %i leave out what is beyond it", async (column, row) => {
    const first = 64 * row + column / 2;
    const y = new Uint32Array((await runOn(x, (k) => stored(k, column, row, first), toY)).buffer);
    const want = Array.from(y, (_, i) => {
      const [down, pair] = [Math.floor(i / 64) - row, (i % 64) - column / 2];
      return down < 0 || down >= boxRows || pair < 0 || pair >= 32 ? 0 : 1000 * down + pair;
    });
    want[first]!++;
    expect([...y]).toEqual(want);
  });

  test.each<readonly [StoreStep, RegExp]>([
    ["fence", /without a fence for copies/],
    ["wait for the reads", /while a copy of thread 0 reads there/],
    ["wait", /of global memory, whose copy is under way/],
    ["alignment", /expected a multiple of 128/],
  ])("without the right %s", async (wrong, message) => {
    await expect(runOn(x, (k) => stored(k, 0, 0, 0, wrong), toY)).rejects.toThrow(message);
  });

  test("need sm_90", async () => {
    await expect(runOn(x, (k) => stored(k, 0, 0, 0), { ...toY, target: "sm_80" })).rejects.toThrow("needs sm_90");
  });

  test.skipIf(assembler === undefined)("ptxas assembles them (needs ptxas)", async () => {
    const k = new PtxBuilder("boxes", ["y"], 32, "sm_90", ["boxes"]);
    const map = k.tensorMap("boxes");
    k.storeBox(map, k.block(), k.block("y"), k.sharedMemory("b16", 64 * 8, 1024));
    k.commitBulk();
    k.waitBulkReads(1);
    k.waitBulk(0);
    expect(await assemble({ ptx: k.text(), entry: k.entry, sharedBytes: 0 }, "sm_90")).toMatchObject({ said: undefined });
  });
});
