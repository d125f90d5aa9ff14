import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { familyModel, readFamilyGolden } from "../../llm/test/familyFixture.ts";
import { centella, expectOneLine, tiny } from "./centella.ts";

const golden = readFamilyGolden("bert-rank");
const { query, documents, scores } = golden.ranked!;
const folder = mkdtempSync(join(tmpdir(), "centella-rerank-"));
const file = join(folder, "reranker.gguf");
writeFileSync(file, familyModel(golden));
afterAll(() => rmSync(folder, { recursive: true }));

test("documents of arguments or of stdin, the best first", async () => {
  const texts = documents.filter((text) => text !== "");
  const expected = texts.map((text) => ({ text, score: scores[documents.indexOf(text)]! })).toSorted((a, b) => b.score - a.score);
  const given = await centella(["rerank", file, query, ...texts, "--backend", "wasm"]);
  const lines = given.stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  expect(lines.map(([, index, text]) => [Number(index), text])).toEqual(expected.map(({ text }) => [texts.indexOf(text), text]));
  for (const [i, [score]] of lines.entries()) expect(Number(score)).toBeCloseTo(expected[i]!.score, 4);
  const piped = await centella(["rerank", file, query, "--backend", "wasm", "--json", "--top-n", "1"], { input: texts.join("\n") });
  expect(JSON.parse(piped.stdout)).toMatchObject({
    results: [{ index: texts.indexOf(expected[0]!.text), document: expected[0]!.text }],
    usage: { promptTokens: golden.ranked!.ids.flat().length - golden.ranked!.ids[documents.indexOf("")]!.length },
  });
});

test("usage", async () => {
  expectOneLine(await centella(["rerank", file]), /rerank: expected a FILE and a QUERY/, 2);
  expectOneLine(await centella(["rerank", file, "x", "y", "--top-n", "0"]), /--top-n: expected/, 2);
  expectOneLine(await centella(["rerank", tiny, "x", "y"]), /no classification head/);
});
