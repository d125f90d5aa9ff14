import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

test("core names no backend but its own reference", () => {
  const source = join(import.meta.dirname, "..", "src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  expect(files.length).toBeGreaterThan(100);
  const mentions = files.flatMap((name) => {
    const lines = readFileSync(join(source, name), "utf8").split("\n");
    return lines.flatMap((line, i) => (/wasm|webassembly|webgpu|wgsl|cuda|ptx/i.test(line) ? [`${name}:${i + 1}: ${line.trim()}`] : []));
  });
  expect(mentions).toEqual([]);
});
