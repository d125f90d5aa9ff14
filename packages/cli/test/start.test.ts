import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { centella, type Result, tiny } from "./centella.ts";

test("run keeps its compiled code, uses it, and replaces code that is damaged", async () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const run = (env: Record<string, string>): Promise<Result> =>
    centella(["run", tiny, "-p", "x", "-n", "2", "--temp", "0", "--backend", "wasm"], { env });
  const cached = { NODE_COMPILE_CACHE: folder };
  const codes = (): string[] => readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.includes("centella-run-"));

  const first = await run({ NODE_DISABLE_COMPILE_CACHE: "1" });
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(await run(cached)).toEqual(first);
  expect(codes()).toHaveLength(1);
  const path = join(folder, codes()[0]!);
  const code = readFileSync(path);
  writeFileSync(path, code.with(code.length / 2, code[code.length / 2]! ^ 1));
  expect(await run(cached)).toEqual(first);
  const { mtimeMs } = statSync(path);
  expect(await run(cached)).toEqual(first);
  expect(statSync(path).mtimeMs).toBe(mtimeMs);
  expect(codes()).toHaveLength(1);
});
