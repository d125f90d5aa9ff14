import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

/** A line of results. */
interface Ranked {
  readonly custom_id: string;
  readonly response: {
    readonly body: { readonly results: readonly { readonly index: number; readonly relevance_score: number }[] };
  };
}

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

test("a batch ranks documents as the command does", async () => {
  const [input, results] = [join(folder, "in.jsonl"), join(folder, "out.jsonl")];
  const lines = [
    { custom_id: "all", url: "/v1/rerank", body: { query, documents } },
    { custom_id: "best", url: "/v1/rerank", body: { query, documents, top_n: 1 } },
    { custom_id: "chat", url: "/v1/chat/completions", body: { messages: [{ role: "user", content: query }] } },
  ];
  writeFileSync(input, lines.map((line) => JSON.stringify(line)).join("\n"));
  expect((await centella(["batch", "-i", input, "-o", results, file, "--backend", "wasm"])).code).toBe(1);
  const answers = readFileSync(results, "utf8").trimEnd().split("\n");
  const bodies = new Map(answers.map((line) => JSON.parse(line) as Ranked).map(({ custom_id: id, response }) => [id, response.body]));
  const { results: ranked } = bodies.get("all")!;
  const best = scores.indexOf(Math.max(...scores));
  expect(ranked.map(({ index }) => index).sort()).toEqual(documents.map((_, i) => i));
  for (const { index, relevance_score: score } of ranked) expect(score).toBeCloseTo(scores[index]!, 4);
  expect(bodies.get("best")!.results).toEqual([ranked[0]]);
  expect(ranked[0]!.index).toBe(best);
  expect(bodies.get("chat")).toMatchObject({ error: { code: expect.any(String) } });
});

test("usage", async () => {
  expectOneLine(await centella(["rerank", file]), /rerank: expected a FILE and a QUERY/, 2);
  expectOneLine(await centella(["rerank", file, "x", "y", "--top-n", "0"]), /--top-n: expected/, 2);
  expectOneLine(await centella(["rerank", tiny, "x", "y"]), /no classification head/);
});
