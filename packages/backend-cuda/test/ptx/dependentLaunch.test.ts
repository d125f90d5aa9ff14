import { describe, expect, test } from "vitest";

import { PtxEmitter } from "../../src/ptx/emitter.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

const threads = 32;
const bytes = 4 * threads;

/** A kernel of one block with parameters x and y. */
function kernelOf(body: (k: PtxEmitter) => void): string {
  const k = new PtxEmitter("k", { x: "f32", y: "f32" }, threads, { target: "sm_90" });
  k.launchDependents();
  body(k);
  return k.text();
}

/** Writes x + 1 to y. */
function step(k: PtxEmitter): void {
  const at = (name: string) => k.at("f32", k.pointer(name, "f32"), k.thread());
  k.st("f32", at("y"), k.add(k.ld("f32", at("x")), 1));
}

/** Runs a graph of two dependent launches, from a to b and from b to c, and returns c. */
async function chained(second: (k: PtxEmitter) => void): Promise<readonly number[]> {
  const driver = new InterpretedDriver();
  const texts = [
    kernelOf((k) => {
      k.waitForEarlierLaunches();
      step(k);
    }),
    kernelOf(second),
  ];
  const kernels = await Promise.all(texts.map(async (ptx) => driver.kernel(await driver.loadModule(ptx), "k")));
  const buffers = [driver.alloc(bytes), driver.alloc(bytes), driver.alloc(bytes)] as const;
  const pinned = driver.allocPinned(bytes);
  driver.writePinned(pinned, 0, new Uint8Array(Float32Array.from({ length: threads }, (_, i) => i).buffer));
  driver.beginCapture();
  driver.copyToDevice(buffers[0], pinned, bytes);
  kernels.forEach((kernel, i) => {
    const args = [buffers[i]!, buffers[i + 1]!];
    const spans = [
      { bytes, isWritten: false },
      { bytes, isWritten: true },
    ];
    driver.launch({ kernel, grid: [1, 1, 1], block: [threads, 1, 1], sharedBytes: 0, isDependent: true, args, spans });
  });
  driver.copyFromDevice(pinned, buffers[2], bytes);
  driver.launchGraph(driver.endCapture());
  await driver.finished();
  const result = new Uint8Array(bytes);
  driver.readPinned(pinned, 0, result);
  return [...new Float32Array(result.buffer)];
}

describe("a launch that may start early", () => {
  test("sees what earlier launches wrote after its wait", async () => {
    const c = await chained((k) => {
      k.waitForEarlierLaunches();
      step(k);
    });
    expect(c).toEqual(Array.from({ length: threads }, (_, i) => i + 2));
  });

  test("must not read it before", async () => {
    const early = chained((k) => {
      step(k);
      k.waitForEarlierLaunches();
    });
    await expect(early).rejects.toThrow("before the wait for the launch that writes it");
  });

  test("must not write before", async () => {
    const early = chained((k) => {
      k.st("f32", k.at("f32", k.pointer("y", "f32"), k.thread()), k.constant("f32", 1));
      k.waitForEarlierLaunches();
    });
    await expect(early).rejects.toThrow("write before the wait for earlier launches");
  });

  test("must wait, because later launches rely on it", async () => {
    await expect(chained(() => undefined)).rejects.toThrow("32 threads end without a wait for earlier launches");
  });

  test("needs sm_90", () => {
    expect(() => new PtxEmitter("k", {}, threads).launchDependents()).toThrow("dependentLaunch needs sm_90");
  });
});
