import type { TensorMap } from "../../src/device/driver.ts";
import { PtxEmitter } from "../../src/ptx/emitter.ts";
import type { Target } from "../../src/ptx/text.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

/** A tensor map over the memory of a parameter (x). */
export type RunMap = Omit<TensorMap, "memory"> & { readonly of?: "x" | "y" };

const noMaps: Readonly<Record<string, RunMap>> = {};

/** Runs a kernel with parameters x and y, by default on one block; gives y, whose words are not written at first. Blocks and warps run in an order that `seed` gives. */
export async function runOn(
  x: Float32Array,
  body: (k: PtxEmitter) => void,
  {
    threads = 32,
    grid = [1, 1, 1] as readonly [number, number, number],
    words = x.length,
    target = "sm_80" as Target,
    maps = noMaps,
    seed = undefined as number | undefined,
  } = {},
): Promise<Float32Array> {
  const driver = new InterpretedDriver([9, 0], seed);
  const k = new PtxEmitter("k", { x: "f32", y: "f32" }, threads, { target, maps: Object.keys(maps) });
  body(k);
  const kernel = driver.kernel(await driver.loadModule(k.text()), "k");
  const [from, to, pinned] = [driver.alloc(x.byteLength), driver.alloc(words * 4), driver.allocPinned(Math.max(x.byteLength, words * 4))];
  driver.writePinned(pinned, 0, new Uint8Array(x.buffer));
  driver.copyToDevice(from, pinned, x.byteLength);
  const spans = [
    { bytes: x.byteLength, isWritten: false },
    { bytes: words * 4, isWritten: true },
  ];
  driver.launch({
    kernel,
    grid,
    block: [threads, 1, 1],
    sharedBytes: k.dynamicSharedBytes,
    isDependent: false,
    args: [from, to],
    spans,
    maps: Object.values(maps).map(({ of, ...map }) => ({ ...map, memory: of === "y" ? to : from })),
  });
  driver.copyFromDevice(pinned, to, words * 4);
  await driver.finished();
  const bytes = new Uint8Array(words * 4);
  driver.readPinned(pinned, 0, bytes);
  return new Float32Array(bytes.buffer);
}
