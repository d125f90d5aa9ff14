import type { U32 } from "@centella/gpu-kernels";
import { describe, expect, test } from "vitest";
import type { PtxEmitter } from "../../src/ptx/emitter.ts";
import type { Shared } from "../../src/ptx/types.ts";
import { runOn } from "./runKernel.ts";

const bytes = 128;

/** A step of {@link copied} that a test leaves out. */
type Step = "fence" | "bytes" | "wait" | "warp barrier" | "second phase";

/** Copies 32 numbers to shared memory twice, to the same place, and writes their sum to y. */
function copied(k: PtxEmitter, missing?: Step): void {
  const [buffer, barrier] = [k.sharedMemory("f32", 32, 128), k.sharedMemory("u64", 1)];
  const [x, lane] = [k.pointer("x", "f32"), k.thread()];
  const isFirst = k.compare("eq", lane, 0);
  k.if(isFirst, () => {
    k.initBarrier(barrier, 1);
    if (missing !== "fence") k.fenceBarriers();
  });
  k.syncWarp();
  const copy = (from: number): void =>
    k.if(isFirst, () => {
      k.expectBytes(barrier, missing === "bytes" ? bytes - 16 : bytes);
      k.copyBulk(buffer, k.at("f32", x, from), bytes, barrier);
    });
  const own: Shared<"f32"> = k.sharedAt("f32", buffer, lane);
  const wait = (parity: U32): void => {
    if (missing !== "wait") k.waitBarrier(barrier, parity);
  };
  copy(0);
  wait(k.constant("u32", 0));
  const first = k.ld("f32", own);
  if (missing !== "warp barrier") k.syncWarp();
  copy(32);
  wait(k.constant("u32", missing === "second phase" ? 0 : 1));
  k.st("f32", k.at("f32", k.pointer("y", "f32"), lane), k.add(first, k.ld("f32", own)));
}

const x = Float32Array.from({ length: 64 }, (_, i) => i * i);
const options = { words: 32, target: "sm_90" } as const;

describe("copies to shared memory", () => {
  test("land before a wait for them ends", async () => {
    const y = await runOn(x, copied, options);
    expect([...y]).toEqual(Array.from({ length: 32 }, (_, i) => i * i + (i + 32) ** 2));
  });

  const faults: readonly (readonly [Step, RegExp])[] = [
    ["fence", /before the fence/],
    ["bytes", /a wait for copies that never end/],
    ["wait", /while a copy writes there/],
    // Lanes that have not waited for the first copy meet a barrier that is two phases ahead.
    ["warp barrier", /a wait for copies that never end/],
    ["second phase", /while a copy writes there/],
  ];
  test.each(faults)("without the %s", async (missing, message) => {
    await expect(runOn(x, (k) => copied(k, missing), options)).rejects.toThrow(message);
  });

  test("that are never waited for", async () => {
    const body = (k: PtxEmitter): void => {
      const [buffer, barrier] = [k.sharedMemory("f32", 32, 128), k.sharedMemory("u64", 1)];
      k.if(k.compare("eq", k.thread(), 0), () => {
        k.initBarrier(barrier, 1);
        k.fenceBarriers();
        k.expectBytes(barrier, bytes);
        k.copyBulk(buffer, k.pointer("x", "f32"), bytes, barrier);
      });
    };
    await expect(runOn(x, body, options)).rejects.toThrow("1 copies that no thread waited for");
  });

  test("a thread that did not wait itself", async () => {
    const body = (k: PtxEmitter): void => {
      const [buffer, barrier] = [k.sharedMemory("f32", 32, 128), k.sharedMemory("u64", 1)];
      k.if(k.compare("eq", k.thread(), 0), () => {
        k.initBarrier(barrier, 1);
        k.fenceBarriers();
        k.expectBytes(barrier, bytes);
        k.copyBulk(buffer, k.pointer("x", "f32"), bytes, barrier);
        k.waitBarrier(barrier, k.constant("u32", 0));
      });
      k.syncWarp();
      k.ld("f32", buffer);
    };
    await expect(runOn(x, body, options)).rejects.toThrow("did not wait for");
  });

  test("are refused for sm_80", async () => {
    await expect(runOn(x, copied, { words: 32 })).rejects.toThrow("bulkCopy needs sm_90");
  });
});

test("prefetches stay within tensors", async () => {
  const body = (k: PtxEmitter, bytes: number): void => {
    k.prefetchBulk(k.pointer("x", "f32"), bytes);
    k.st("f32", k.pointer("y", "f32"), k.constant("f32", 1));
  };
  const one = { words: 1, threads: 32, target: "sm_90" } as const;
  const first = (bytes: number) => (k: PtxEmitter) => k.if(k.compare("eq", k.thread(), 0), () => body(k, bytes));
  expect([...(await runOn(x, first(256), one))]).toEqual([1]);
  await expect(runOn(x, first(272), one)).rejects.toThrow("outside of its tensors");
  await expect(runOn(x, first(8), one)).rejects.toThrow("expected multiples of 16");
});

test("launches ask for shared memory beyond 48 KiB", async () => {
  const body = (k: PtxEmitter): void => {
    const large = k.sharedMemory("f32", 20_000);
    k.if(k.compare("eq", k.thread(), 0), () => {
      k.st("f32", large, k.constant("f32", 7), 19_999);
      k.st("f32", k.pointer("y", "f32"), k.ld("f32", large, 19_999));
    });
    expect(k.dynamicSharedBytes).toBe(80_000);
  };
  expect([...(await runOn(x, body, { words: 1 }))]).toEqual([7]);
});
