import { expect, test } from "vitest";
import type { Handle } from "../../src/device/driver.ts";
import { PtxEmitter } from "../../src/ptx/emitter.ts";
import type { Global } from "../../src/ptx/types.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

const threads = 32;
const bytes = 4 * threads;

/** Launches a kernel of one block that reads page-locked memory `x` of 1, 2, ... and writes `y`, both of a number for each thread. */
async function start(
  body: (k: PtxEmitter, x: Global<"f32">, y: Global<"f32">) => void,
): Promise<{ driver: InterpretedDriver; y: Float32Array }> {
  const driver = new InterpretedDriver();
  const k = new PtxEmitter("k", { x: "f32", y: "f32" }, threads, { target: "sm_90" });
  const at = (name: string): Global<"f32"> => k.at("f32", k.pointer(name, "f32"), k.thread());
  body(k, at("x"), at("y"));
  const args: readonly Handle[] = [driver.allocPinned(bytes), driver.allocPinned(bytes)];
  driver.writePinned(args[0]!, 0, new Uint8Array(Float32Array.from({ length: threads }, (_, i) => i + 1).buffer));
  const y = new Float32Array(driver.viewPinned(args[1]!, bytes).buffer, 0, threads);
  const kernel = driver.kernel(await driver.loadModule(k.text()), "k");
  const spans = [false, true].map((isWritten) => ({ bytes, isWritten }));
  driver.launch({ kernel, grid: [1, 1, 1], block: [threads, 1, 1], sharedBytes: 0, isDependent: false, args, spans });
  return { driver, y };
}

test("kernels read and write page-locked memory, and the host sees it once they are over", async () => {
  const { driver, y } = await start((k, from, to) => k.st("f32", to, k.add(k.ld("f32", from), 1)));
  expect(y.every((value) => value === 0)).toBe(true);
  await driver.finished();
  expect([...y]).toEqual(Array.from({ length: threads }, (_, i) => i + 2));
});

test.each<[string, (k: PtxEmitter, from: Global<"f32">, to: Global<"f32">) => void]>([
  ["read", (k, _, to) => void k.ld("f32", to)],
  ["add to", (k, _, to) => void k.addGlobal(to, k.constant("f32", 1))],
])("kernels that %s page-locked memory which they write are found: an access takes microseconds", async (_, body) => {
  const { driver } = await start(body);
  await expect(driver.finished()).rejects.toThrow("read of 4 bytes outside of its tensors");
});
