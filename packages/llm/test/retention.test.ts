import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Held } from "./workers/loadCycles.ts";

const script = fileURLToPath(new URL("workers/loadCycles.ts", import.meta.url));

/**
 * Resident memory grows where nothing is retained, too: glibc keeps what was freed for the thread that freed it, and WASM starts its threads
 * again with each model that goes. It levels off after some hundreds of cycles and up to 150 MiB.
 */
const mostResidentGrowth = 400 * 2 ** 20;
/** Of the handle of a disposed model: its vocabulary, above all. Its weights and cache would be 10 times as much. */
const mostHandleBytes = 2 ** 19;
const cycles = 50;

describe.each(["wasm", "reference"])("disposed models on %s", (backend) => {
  test("free all memory", () => {
    const { before, after } = heldAround(backend);
    expect(after.models).toBe(0);
    expect(after.bufferBytes - before.bufferBytes).toBeLessThan(2 ** 20);
    expect(after.heapBytes - before.heapBytes).toBeLessThan(8 * 2 ** 20);
    expect(after.residentBytes - before.residentBytes).toBeLessThan(mostResidentGrowth);
  });

  test("keep no weights and no cache while the app keeps their handles", () => {
    const { before, after } = heldAround(backend, "handles");
    expect(after.models - before.models).toBe(cycles);
    expect(after.bufferBytes - before.bufferBytes).toBeLessThan(cycles * mostHandleBytes);
  });
});

/** What a process holds before and after many cycles of loading and disposing. */
function heldAround(...args: readonly string[]): { readonly before: Held; readonly after: Held } {
  const [backend, ...rest] = args;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--expose-gc", "--conditions=@centella/source", "--no-warnings", script, backend!, String(cycles), ...rest],
    { encoding: "utf8" },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const held = JSON.parse(stdout) as { readonly before: Held; readonly after: Held };
  expect(held.after.memories).toBe(held.before.memories);
  expect(held.after.backendBytes).toBe(held.before.backendBytes);
  // Threads that are being ended may still have a few.
  expect(held.after.files - held.before.files).toBeLessThan(cycles / 2);
  return held;
}
