import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runExample, tiny } from "../../test/runExample.ts";

const snippets = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "centella-snippets-"));
beforeAll(() => copyFileSync(tiny, join(folder, "model.gguf")));
afterAll(() => rmSync(folder, { recursive: true }));

/** What each program prints. */
const printed: Readonly<Record<string, RegExp>> = {
  "backends.ts": /^(cuda|webgpu|wasm) \S.*\n$/,
  "chat.ts": /\S{3}[\s\S]*\nuser assistant user assistant\n$/,
  "errors.ts": /^\d{3} tokens do not fit into 64\n\S+: .*missing\.gguf.*\n$/,
  "memory.ts": /^f16: weights \d+ bytes, cache \d+ bytes\nq8_0: weights \d+ bytes, cache \d+ bytes\n$/,
  "openai.ts": /^length\n$/,
  "partial.ts": /^(\{.*\}\n|null\n|undefined\n)+\d\n$/,
  "sequences.ts": /^(20 tokens\n){4}$/,
};

test("no program is left out", () => {
  expect(readdirSync(snippets).filter((name) => name.endsWith(".ts"))).toEqual(Object.keys(printed));
});

test.each(Object.entries(printed))("%s prints what the guides say", async (name, text) => {
  expect(await runExample("snippets", ["node", join(snippets, name)], { cwd: folder })).toMatch(text);
});
