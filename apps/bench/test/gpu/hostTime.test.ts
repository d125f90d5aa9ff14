import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const script = fileURLToPath(new URL("../../scripts/hostTime.mjs", import.meta.url));

/** What the script prints for two tokens of a small model. */
async function hostTime(backend: string, shape: string): Promise<string> {
  const args = ["--backend", backend, "--shape", shape, "--tokens", "2", "--sequences", "1"];
  const node = promisify(execFile)(process.execPath, ["--conditions=@centella/source", "--no-warnings", script, ...args]);
  return (await node).stdout;
}

/** The median of nine texts, and each. */
const decoding = /\ndecoding: [\d.]+ µs of processor time per token \(first [\d.]+, then ([\d.]+, ){7}[\d.]+\)\n$/;

describe("hostTime.mjs measures without a GPU", () => {
  test("on CUDA: plans of variants, and decoding", async () => {
    const printed = await hostTime("cuda", "smollm2-135m");
    expect(printed).toMatch(/^smollm2-135m Q4_K_M\nvariant of 1 tokens in 1 texts: [\d.]+ ms\n/);
    expect(printed).toMatch(decoding);
  });

  test("on WebGPU: first runs, a run again, and decoding", async () => {
    const printed = await hostTime("webgpu", "llama-3.2-1b");
    expect(printed).toMatch(/^llama-3\.2-1b Q4_K_M\nvariant of 1 tokens: -?[\d.]+ ms\n/);
    expect(printed).toMatch(/\na run again: \d+ dispatches, /);
    expect(printed).toMatch(decoding);
  });
});
