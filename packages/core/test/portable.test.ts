import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Files that pages load: excludes tests and code that only runs in Node. */
const packages = ["core", "quant", "gguf", "llm", "backend-wasm", "backend-webgpu"];

/** Safari and Firefox before 141 have no `Symbol.dispose`, without which `using` throws a TypeError. */
test("no code for pages has using declarations", () => {
  const found = packages.flatMap((name) => {
    const folder = join(import.meta.dirname, "../..", name, "src");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".ts") && !/^testing\b/.test(file),
    );
    return files
      .filter((file) => /^\s*(await )?using \w+ = /m.test(readFileSync(join(folder, file), "utf8")))
      .map((file) => `${name}/${file}`);
  });
  expect(found).toEqual([]);
});
