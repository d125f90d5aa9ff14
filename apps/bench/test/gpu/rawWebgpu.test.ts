import { webgpu } from "@centella/backend-webgpu";
import { UnsupportedError } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { expect, test } from "vitest";
import { hostRows } from "../../src/gpu/host.ts";
import { measureRows } from "../../src/runner/measure.ts";

test("the smallest call is measured beside WebGPU's calls alone", async ({ skip }) => {
  useSwiftShader();
  const backend = await webgpu()
    .open()
    .catch((error: unknown) => {
      if (error instanceof UnsupportedError) return skip(`webgpu is not available: ${error.reason}`);
      throw error;
    });
  const rows = hostRows(backend, "tiny").filter(({ id }) => id.startsWith("relu of 16 elements"));
  const settings = { passes: 1, rounds: 1, sampleSeconds: 0, warmupSeconds: 0, warmupCalls: 1 };
  const [row] = await measureRows(rows, settings);
  expect(row!.outcomes.map(({ contestant, outcome }) => [contestant.name, outcome.status])).toEqual([
    ["webgpu", "measured"],
    ["Dawn alone", "measured"],
  ]);
  await backend.dispose();
});
