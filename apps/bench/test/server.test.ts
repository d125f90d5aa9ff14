import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readGguf } from "@centella/gguf";
import { expect, test, vi } from "vitest";
import { main } from "../src/cli/main.ts";
import { writeLongModel } from "../src/server/longModel.ts";
import { centella, llamaServer } from "../src/server/servers.ts";

const tiny = fileURLToPath(new URL("../../../packages/model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

test("wrong options are refused by name, and --help lists them", async () => {
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const lines = vi.spyOn(console, "log").mockImplementation(() => undefined);
  expect(await main(["server", "--soak", "0"])).toBe(2);
  expect(errors.mock.lastCall).toEqual([expect.stringContaining("--soak: expected a whole number from 1 to 1440, got 0")]);
  expect(await main(["server", "--help"])).toBe(0);
  expect(lines.mock.lastCall![0]).toMatch(/--peer PATH.*--soak MINUTES/s);
  vi.restoreAllMocks();
});

test("a model gets a longer context, and keeps its tensors", async () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-long-"));
  const path = join(folder, "long.gguf");
  await writeLongModel(tiny, 8192, path);
  const [before, after] = [await readGguf(tiny), await readGguf(path)];
  expect(after.metadata.count("llama.context_length")).toBe(8192);
  expect(after.tensors.map(({ name, type, shape }) => [name, type, shape])).toEqual(
    before.tensors.map(({ name, type, shape }) => [name, type, shape]),
  );
  await Promise.all([before.close(), after.close()]);
  rmSync(folder, { recursive: true });
});

test("servers get the same sizes in their own words", () => {
  const options = { model: "a.gguf", context: 1024, sequences: 8, threads: 2 };
  expect(centella.command(options, 1).join(" ")).toMatch(/--threads 2 --ctx-size 1024 --sequences 8$/);
  // The context of all slots.
  expect(llamaServer("/bin/llama-server").command(options, 1).join(" ")).toMatch(/-t 2 -tb 2 -c 8192 -np 8 /);
});
