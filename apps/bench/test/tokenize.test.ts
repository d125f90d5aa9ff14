import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { ModelCompetitor } from "../src/models/competitor.ts";
import { tokenize } from "../src/suites/tokenize.ts";

const model = fileURLToPath(new URL("../../../packages/model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

test("texts are tokenized by a file's vocabulary, and who gives another number of ids is wrong", async () => {
  const one: ModelCompetitor = {
    ...{ name: "one", side: "peer", threads: 1 },
    open: () => Promise.reject(new Error("nothing is computed here")),
    openTokenizer: async () => ({ tokenize: () => [1], dispose: async () => undefined }),
  };
  const without: ModelCompetitor = { name: "without", side: "peer", threads: 1, open: one.open };
  const context = { backends: [], competitors: [], modelCompetitors: [one, without], models: [model], quick: true, memoryBytes: 0 };
  expect(tokenize.rows({ ...context, kind: "gpu" })).toEqual([]);
  const rows = tokenize.rows({ ...context, kind: "cpu" });
  expect(rows.map(({ id }) => id)).toEqual(["fable-tiny-q8_0 english", "fable-tiny-q8_0 mixed"]);
  for (const { contestants, verify, work } of rows) {
    expect(contestants.map(({ name }) => name)).toEqual(["llm", "one"]);
    const [ours, other] = await Promise.all(contestants.map((contestant) => contestant.prepare()));
    expect(await ours!.sample(1, 0)).toBeGreaterThan(0);
    const ids = (await ours!.result())!;
    // A token is a byte at least.
    expect(ids[0]).toBeLessThanOrEqual(work.bytes! + 100);
    expect(ids[0]).toBeGreaterThan(work.bytes! / 10);
    expect(verify(ids, "ours")).toBeUndefined();
    expect(verify((await other!.result())!, "peer")).toMatch(/^1 ids of a text, where ours are \d+$/);
  }
});
