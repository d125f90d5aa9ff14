import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { familyModel, readFamilyGolden } from "../../../packages/llm/test/familyFixture.ts";
import { runExample, tiny } from "../../test/runExample.ts";

const folder = mkdtempSync(join(tmpdir(), "centella-rag-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("paragraphs are found by a text that they contain, and the answer is streamed", async () => {
  const [found, answer] = (await runExample("rag", ["node", "main.ts", "Foxes hunt at night, alone.", "--chat", tiny])).split("\n\n");
  const paragraphs = found!.split("\n");
  expect(paragraphs).toHaveLength(2);
  expect(paragraphs[0]).toMatch(/^foxes\.txt: Foxes hunt at night/);
  expect(answer!.trim().length).toBeGreaterThan(20);
});

test("a reranker chooses from the candidates", async () => {
  const reranker = join(folder, "reranker.gguf");
  writeFileSync(reranker, familyModel(readFamilyGolden("bert-rank")));
  const printed = await runExample("rag", [
    "node",
    "main.ts",
    "When do foxes hunt?",
    "--chat",
    tiny,
    "--embed",
    tiny,
    "--rerank",
    reranker,
  ]);
  expect(printed.split("\n\n")[0]!.split("\n")).toHaveLength(2);
});
