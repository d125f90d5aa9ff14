import { describe, expect, test } from "vitest";
import type { TensorMap } from "../src/device/driver.ts";
import type { PtxEmitter } from "../src/ptx/emitter.ts";
import { runOn } from "./runKernel.ts";

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

const boxes: Omit<TensorMap, "memory"> = { columns, rows, boxRows };
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

  test("need sm_90 and a map", async () => {
    await expect(runOn(x, (k) => copied(k, 0, 0), { ...options, target: "sm_80" })).rejects.toThrow("needs sm_90");
    await expect(runOn(x, (k) => copied(k, 0, 0), { ...options, maps: {} })).rejects.toThrow("no tensor map boxes");
  });
});
