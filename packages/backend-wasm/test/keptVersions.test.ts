import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProgram } from "@centella/core";
import { expect, onTestFinished, test, vi } from "vitest";

const version = vi.hoisted(() => ({ codeVersion: "" }));
vi.mock("../src/linking/codeVersion.ts", () => version);

/** Computes with code of a version, as a new process would. */
async function compute(codeVersion: string): Promise<readonly number[]> {
  vi.resetModules();
  Object.assign(version, { codeVersion });
  const { wasm } = await import("../src/index.ts");
  const backend = await wasm({ threads: 1 }).open();
  const program = createProgram();
  program.output("y", program.softmax(program.input("x", "f32", [2, 8])));
  const plan = await backend.compile(program);
  const y = await plan.run({ x: Float32Array.from({ length: 16 }, (_, i) => Math.sin(i)) }).y!.data();
  await backend.dispose();
  return [...y];
}

test("by default, each version of the package keeps kernels in the user's cache folder, and sources keep none", async () => {
  const folder = await mkdtemp(join(tmpdir(), "kernels-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  vi.stubEnv("XDG_CACHE_HOME", folder);
  const expected = await compute("source");
  expect(await readdir(folder)).toEqual([]);
  for (const one of ["0123456789abcdef", "fedcba9876543210", "0123456789abcdef"]) expect(await compute(one)).toEqual(expected);
  const keys = await readdir(join(folder, "centella", "kernels"));
  expect(keys.map((key) => key.split("-")[0]).sort()).toEqual(["0123456789abcdef", "fedcba9876543210"]);
});
