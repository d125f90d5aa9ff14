import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { afterEach, expect, test, vi } from "vitest";
import * as core from "../src/index.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const snippets = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!);

afterEach(() => {
  vi.restoreAllMocks();
});

/** Runs a snippet against the sources, and returns what it logged. */
async function logged(snippet: string): Promise<unknown[]> {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const body = snippet.replace(/import (\{[^}]*\}) from "@centella\/core";/, "const $1 = core;");
  expect(body).not.toContain("import ");
  const AsyncFunction = (async () => undefined).constructor as new (...args: string[]) => (exports: typeof core) => Promise<void>;
  await new AsyncFunction("core", stripTypeScriptTypes(`async () => {${body}}`).replace(/^async \(\) => \{|\}$/g, ""))(core);
  return log.mock.calls.map(([value]) => value);
}

test("the first snippet logs what it says", async () => {
  const [y, row, reason] = await logged(snippets[0]!);
  expect(y).toEqual(Float32Array.of(1, 0, 3, 4));
  expect((row as Float32Array)[0]).toBeCloseTo(0.987, 3);
  expect(reason).toBeTypeOf("string");
});

test("the batch snippet logs what it says", async () => {
  expect(await logged(snippets[1]!)).toEqual([Float32Array.of(2, 0, 6)]);
});

test("the snippet of the policy logs what it says", async () => {
  const [explanation, sum, report] = await logged(snippets[2]!.replaceAll(" as const", ""));
  expect(explanation).toMatch(/^matmul: 268,435,456 flops, 3,145,728 bytes\nbackend .*\nreference +chosen +first choice that can/);
  expect(sum).toEqual(Float32Array.of(6));
  expect(report).toMatch(/sum +reference +1 +0 /);
});

test("the snippet of an op of one's own logs what it says", async () => {
  // A type alone is nothing to import at run time.
  const snippet = snippets[3]!.replace("type CustomOp, ", "");
  expect(await logged(snippet)).toEqual([Float32Array.of(0.25, -0.25)]);
});

test("no snippet is left out", () => {
  expect(snippets.length).toBe(4);
});
